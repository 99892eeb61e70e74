"""One line for an error nobody planned: a full or read-only disk or an interrupt below a library, else a fault of ours.

Set LIC_DEBUG=1 to see the traceback instead.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from lic_pipeline.errors import INTERRUPTED, InterruptedRunError

FAULT_EXIT = 70
"""Exit code of a fault in lic_pipeline itself (EX_SOFTWARE), which no caller should take for a result."""

_NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})
_NO_FILES = frozenset({errno.EMFILE, errno.ENFILE})
_NO_WRITING = frozenset({errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTDIR})
_SPACE_WORDS = ("disk is full", "no space left", "disk quota")
_WRITING_WORDS = ("readonly database", "read-only file system", "unable to open database file", "permission denied")


def error_message(error: BaseException) -> tuple[str, int]:
    """The message and the exit code."""
    for one in _chain(error):
        number = one.errno if isinstance(one, OSError) else None
        text = str(one).lower()
        if _is_interrupt(one):
            return INTERRUPTED, InterruptedRunError.exit_code
        if number in _NO_FILES or "too many open files" in text:
            return f"the limit of open files is too low ({_open_files()}); raise it with `ulimit -n 1024` and go on", 2
        if number in _NO_SPACE or any(words in text for words in _SPACE_WORDS):
            said = _first_line(one)
            return f"the disk is full ({said}); free some space and run the command again, what is stored stays", 2
        if number in _NO_WRITING or any(words in text for words in _WRITING_WORDS):
            return f"a file cannot be written or read ({_first_line(one)}); choose a writable LIC_HOME", 2
        if isinstance(one, FileNotFoundError) and not _current_folder_exists():
            return "the current folder does not exist any more; change to another one", 2
    said = f"{type(error).__name__}: {_first_line(error)}"
    return f"a fault in lic itself ({said}); set LIC_DEBUG=1 for the traceback and report it", FAULT_EXIT


def _is_interrupt(error: BaseException) -> bool:
    """True for Ctrl-C as DuckDB tells it: while a query runs, it takes KeyboardInterrupt for an error of its own."""
    told = type(error) is RuntimeError and str(error) == "Query interrupted"
    return told or type(error).__name__ == "InterruptException" or isinstance(error, KeyboardInterrupt)


def _current_folder_exists() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def _open_files() -> int:
    import resource

    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return lines[0].strip() if lines else type(error).__name__
