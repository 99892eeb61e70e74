"""Where output lines go: standard output, or a file that appears whole or not at all.

A regular file is written under a temporary name in the same folder, flushed to disk and renamed over the target, so an
interrupted or failing run leaves the old file alone. Devices and pipes are written straight.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from lic_pipeline.errors import StorageError


@contextmanager
def open_output(target: str | None) -> Iterator[BinaryIO]:
    """A binary sink: standard output for None or ``-``, else the file. Raises StorageError naming the path."""
    if target is None or target == "-":
        # The command line puts the null device where the shell has closed it: a run goes on, a result would be lost.
        if sys.stdout is None or getattr(sys.stdout, "name", "") == os.devnull:
            raise StorageError("standard output is closed; open it, or name a file with -o")
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(target)
    try:
        # Before links are followed: /dev/stdout of a pipe is a link to a path that does not exist.
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open("wb") as device:
                yield device
            return
        path = path.resolve()
        with _replacing(path) as handle:
            yield handle
    except BrokenPipeError:
        raise
    except OSError as error:
        raise StorageError(f"{path} cannot be written ({error.strerror or error}); nothing was changed") from error


@contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    if path.is_dir():
        raise IsADirectoryError(None, "it is a folder")
    descriptor, name = tempfile.mkstemp(prefix=".tmp-", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        temporary.chmod(_mode(path))
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _mode(path: Path) -> int:
    """The mode of the file replaced, else that of a new file."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
