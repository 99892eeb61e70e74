"""People's own input files as bytes: gzip is unpacked wherever it is met, and what is no UTF-8 text is named.

Kinds of files are told by their first bytes, never by their names. What the bytes mean is read elsewhere.
"""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from lic_pipeline.errors import InputError

GZIP = b"\x1f\x8b"
BROKEN_GZIP = (EOFError, zlib.error, gzip.BadGzipFile)
READ_ERRORS = (OSError, *BROKEN_GZIP)
_HEAD = 512
_AS_UTF8 = "save it as UTF-8 (iconv -f {0} -t UTF-8)"
_FETCH = "the file itself was not fetched; run `{0}` in that repository"
_UNPACK = "unpack it first"
_KINDS: tuple[tuple[re.Pattern[bytes], str, str], ...] = tuple(
    (re.compile(pattern, re.DOTALL), kind, way_on)
    for pattern, kind, way_on in (
        (rb"version https://git-lfs\.github\.com/spec/", "a Git LFS pointer", _FETCH.format("git lfs pull")),
        (rb"(\.\./)*\.?/?(\.git/)?annex/objects/", "a git-annex pointer", _FETCH.format("git annex get")),
        (rb"\xff\xfe\0\0|\0\0\xfe\xff", "UTF-32 text", _AS_UTF8.format("UTF-32")),
        (rb"\xff\xfe|\xfe\xff", "UTF-16 text", _AS_UTF8.format("UTF-16")),
        (rb"(?:[\t\n\r -~]\0){2}", "UTF-16 text", _AS_UTF8.format("UTF-16LE")),
        (rb"(?:\0[\t\n\r -~]){2}", "UTF-16 text", _AS_UTF8.format("UTF-16BE")),
        (rb"PK\x03\x04", "a zip archive", _UNPACK),
        (rb"BZh[1-9]", "packed with bzip2", _UNPACK),
        (rb"\xfd7zXZ\0", "packed with xz", _UNPACK),
        (rb"\x28\xb5\x2f\xfd", "packed with zstd", _UNPACK),
        (rb"PAR1", "a Parquet file", "write it out as JSON Lines"),
        (rb"SQLite format 3\0", "a SQLite database", "name a file of JSON Lines"),
    )
)  # fmt: skip


@contextmanager
def open_input(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked where it is gzip. Raises InputError naming the file when it cannot be opened."""
    try:
        plain = path.open("rb")
    except OSError as error:
        raise _unreadable(str(path), error) from error
    with plain:
        yield unpacked(plain, str(path))


def unpacked(stream: BinaryIO, name: str) -> BinaryIO:
    """The stream from its first byte, or what it holds packed.

    Raises InputError that says what the file is, and what to do, when it is no UTF-8 text.
    """
    plain: Any = stream if hasattr(stream, "peek") else io.BufferedReader(stream)
    try:
        if _head(plain).startswith(GZIP):
            plain = io.BufferedReader(gzip.GzipFile(fileobj=plain), 1 << 16)
        head = _head(plain)
    except READ_ERRORS as error:
        raise _unreadable(name, error) from error
    if kind := other_kind(head):
        raise InputError(f"{name} is {kind}")
    found: BinaryIO = plain
    return found


def other_kind(head: bytes) -> str | None:
    """What a file that begins with these bytes is, if it is no UTF-8 text, and what to do."""
    return next((f"{kind}; {way}" for begins, kind, way in _KINDS if begins.match(head)), None)


def input_lines(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """Its lines. Raises InputError naming it when it cannot be read to its end."""
    try:
        yield from stream
    except READ_ERRORS as error:
        raise _unreadable(name, error) from error


def _unreadable(name: str, error: Exception) -> InputError:
    if isinstance(error, BROKEN_GZIP):
        return InputError(f"{name} cannot be read to its end: broken or truncated gzip ({error})")
    return InputError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}")


def _head(stream: Any) -> bytes:
    found: bytes = stream.peek(_HEAD)[:_HEAD]
    return found
