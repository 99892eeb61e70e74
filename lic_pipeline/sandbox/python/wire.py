"""Frames on a stream socket: four bytes of length, then the body. No meaning is given to the body here."""

from __future__ import annotations

import os
import select
import struct
import time

MAX_FRAME = 64 * 1024 * 1024
JOB = struct.Struct("!Q")
_LENGTH = struct.Struct("!I")
_CHUNK = 1 << 16


class WireError(Exception):
    """The other end sent a frame that is too long."""


class ClosedError(WireError):
    """The other end is gone."""


class LateError(WireError):
    """Nothing complete came before the deadline."""


def frame(body: bytes) -> bytes:
    """A body with its length. Raises WireError when it is too long."""
    if len(body) > MAX_FRAME:
        raise WireError(f"a message of {len(body)} bytes is longer than {MAX_FRAME}")
    return _LENGTH.pack(len(body)) + body


def send_frame(fd: int, body: bytes) -> None:
    """Send one frame. Raises ClosedError when nobody reads, WireError when the body is too long."""
    left = memoryview(frame(body))
    while left:
        try:
            left = left[os.write(fd, left) :]
        except (BrokenPipeError, ConnectionResetError):
            raise ClosedError("the other end is gone") from None


def receive_frame(fd: int, deadline: float | None = None, limit: int = MAX_FRAME) -> bytes:
    """One whole frame. ``deadline`` is a time.monotonic() moment. Raises ClosedError, LateError or WireError.

    Never reads beyond its frame, so a process forked later finds nothing of the next one in memory.
    """
    (length,) = _LENGTH.unpack(_exactly(fd, _LENGTH.size, deadline))
    if length > limit:
        raise WireError(f"a message of {length} bytes is longer than {limit}")
    return _exactly(fd, length, deadline)


def _exactly(fd: int, size: int, deadline: float | None) -> bytes:
    parts: list[bytes] = []
    while size:
        if deadline is not None:
            wait_readable(fd, deadline)
        try:
            part = os.read(fd, min(size, _CHUNK))
        except ConnectionResetError:
            part = b""
        if not part:
            raise ClosedError("the other end is gone")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def wait_readable(fd: int, deadline: float) -> None:
    """Block until ``fd`` can be read. Raises LateError at the deadline."""
    poller = select.poll()
    poller.register(fd, select.POLLIN)
    left = deadline - time.monotonic()
    if left <= 0 or not poller.poll(left * 1000):
        raise LateError("no complete message before the deadline")


class FrameBuffer:
    """Puts a frame together from pieces, for a reader that also watches other descriptors."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._data = bytearray()

    def feed(self, piece: bytes) -> bytes | None:
        """Add a piece; the frame once it is whole. Raises WireError for a longer one than allowed."""
        self._data += piece
        if len(self._data) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._data)
        if length > self._limit:
            raise WireError(f"a message of {length} bytes is longer than {self._limit}")
        if len(self._data) < _LENGTH.size + length:
            return None
        body = bytes(self._data[_LENGTH.size : _LENGTH.size + length])
        del self._data[: _LENGTH.size + length]
        return body
