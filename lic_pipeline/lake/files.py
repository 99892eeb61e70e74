"""Atomic file IO of the lake, and names that are safe as parts of paths and as partition keys.

Contract of every writer here: bytes go to a temporary name in the same folder, are flushed to disk, and replace the
target in one rename whose folder is flushed too. A reader sees the old file or the new one, never a part; an error of
any kind leaves the old file alone and no temporary file behind (a kill may leave one named ``.tmp-...``, which no
reader looks at). Concurrent writers of one path are safe; the last rename wins. Nothing here knows any table.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from lic_pipeline.errors import ConfigError, StorageError
from lic_pipeline.records import Json

LONGEST_PART = 200  # bytes; file systems allow 255, and callers add prefixes such as "model=" and endings
_ESCAPE = re.compile(r"_([0-9a-f]{2})")
_CAPITALS = re.compile(r"_u([0-9a-f]+)$")
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
_FULL_DISK = {errno.ENOSPC, errno.EDQUOT}


def write_parquet(path: Path, table: pa.Table) -> None:
    """Write ``table`` (zstd) to ``path`` atomically, creating folders. Raises StorageError naming the path."""
    _replace(path, lambda handle: pq.write_table(table, handle, compression="zstd"))


def read_parquet(path: Path, columns: list[str] | None = None) -> pa.Table:
    """The table (or these columns) in exactly this file; ``key=value`` folders add none. Raises StorageError."""
    try:
        with path.open("rb") as handle, pq.ParquetFile(handle) as parquet:
            return parquet.read(columns=columns)
    except (pa.ArrowException, OSError) as error:
        raise StorageError(f"{path} cannot be read as Parquet: {_said(error)}") from error


def write_bytes(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path`` atomically, creating folders. Raises StorageError naming the path."""

    def put(handle: BinaryIO) -> None:
        handle.write(content)

    _replace(path, put)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8, line ends as given, atomically. Raises StorageError naming the path."""
    write_bytes(path, text.encode("utf-8", "surrogatepass"))


def write_json(path: Path, value: Json) -> None:
    """Write one JSON document (keys in their order, no NaN) atomically. Raises ValueError on NaN or odd types."""
    write_text(path, json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n")


def file_sha256(path: Path) -> str:
    """SHA-256 of the file's bytes in hex. Raises StorageError naming the path."""
    try:
        with path.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {_said(error)}") from error


def safe_part(name: str) -> str:
    """``name`` as one part of a path and as a partition key: reversible, and distinct names stay distinct.

    Letters, digits, ``-`` and single inner dots stay; every other byte of the UTF-8 form becomes ``_xx`` (hex), so no
    ``/``, ``|``, ``,`` or ``..`` and no leading dot survives. The empty name is ``_``. Capitals stay readable and are
    listed in an ending ``_u<hex bit set of their places>``, so names differing only in case do not clash on file
    systems that ignore case: ``openai/gpt-4o`` is ``openai_2fgpt-4o``, ``Phi-4`` is ``Phi-4_u1``.
    Raises ConfigError for a name that is no valid Unicode or too long (over 200 bytes when encoded).
    """
    try:
        raw = name.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(f"name {name!r} holds a character that cannot be stored; rename it") from error
    if not raw:
        return "_"
    kept = "".join(chr(byte) if _keeps(raw, place) else f"_{byte:02x}" for place, byte in enumerate(raw))
    capitals = sum(1 << place for place, letter in enumerate(kept) if letter.isupper())
    part = f"{kept}_u{capitals:x}" if capitals else kept
    if len(part) > LONGEST_PART:
        raise ConfigError(f"name {name[:40]!r}... is too long to be part of a file name; use a shorter alias")
    return part


def unsafe_part(part: str) -> str:
    """The name that ``safe_part`` encoded. Raises ConfigError when ``part`` is not an encoding it produces."""
    kept = _CAPITALS.sub("", part)
    try:
        raw = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), kept).encode("latin-1")
        name = "" if part == "_" else raw.decode()
        if safe_part(name) == part:
            return name
    except (UnicodeError, ConfigError):
        pass
    raise ConfigError(f"{part!r} is not an encoded name; was the file or partition renamed by hand?")


def _keeps(raw: bytes, place: int) -> bool:
    if raw[place : place + 1] == b".":
        inner = 0 < place < len(raw) - 1
        return inner and raw[place - 1 : place] != b"."
    return raw[place] in _PLAIN


def _replace(path: Path, write: Callable[[BinaryIO], object]) -> None:
    temporary = path.parent / f".tmp-{uuid.uuid4().hex}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with temporary.open("xb") as handle:
                write(handle)
                handle.flush()
                os.fsync(handle.fileno())
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _flush_folder(path.parent)
    except OSError as error:
        way_on = "free some space" if error.errno in _FULL_DISK else "check that the folder is writable"
        raise StorageError(f"{path} cannot be written: {_said(error)}; {way_on}, nothing was changed") from error


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _said(error: BaseException) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
