"""Standard streams that cannot break a command: messages nobody can read are dropped, closed ones lead nowhere."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO


class Messages:
    """Stderr for messages to a person: a write that fails (terminal gone, disk full) is dropped, never raised."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write what can be written; returns the length of the text in any case."""
        with suppress(OSError, ValueError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush as far as that is possible."""
        with suppress(OSError, ValueError):
            self._stream.flush()

    def isatty(self) -> bool:
        """True on a terminal that is still there."""
        with suppress(OSError, ValueError):
            return self._stream.isatty()
        return False

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def secure_streams() -> None:
    """Make the streams of this process safe to use, whatever the shell did to them.

    A descriptor 0, 1 or 2 the shell closed is opened on the null device: the next file opened would get its number,
    and what a library prints would go into it. What the encoding of a terminal lacks is written in ASCII.
    """
    from lic_pipeline.cli.shared.ascii_text import NAME

    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - lives as long as the process
        reconfigure = getattr(getattr(sys, name), "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=NAME)
    if not isinstance(sys.stderr, Messages):
        sys.stderr = Messages(sys.stderr)


@contextmanager
def stdout_kept() -> Iterator[None]:
    """While the block lasts, whatever is written to stdout goes to stderr: stdout is for what the command finds.

    For blocks that import or call systems of the user's own, which may print and start programs that do: the whole
    process is meant, since their calls are concurrent.
    """
    ours = sys.stdout
    ours.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    try:
        yield
    finally:
        sys.stdout = ours
        # What was written past sys.stdout waits in a buffer of the old one.
        for stream in (ours, sys.__stdout__):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()  # type: ignore[union-attr]
        os.dup2(kept, 1)
        os.close(kept)


def close_stdout() -> None:
    """Everything the command found is out: what exit handlers of others still print goes to stderr."""
    sys.stdout.flush()
    os.dup2(2, 1)


def live_terminal() -> bool:
    """True where stderr is a terminal that understands cursor codes."""
    return sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in {"dumb", "unknown"}


def terminal_width() -> int:
    """Columns of the terminal on stderr, 80 where it does not say."""
    with suppress(OSError, ValueError):
        return os.get_terminal_size(2).columns or 80
    return 80
