"""What a query runs on: a database file opened read-only, or a memory database built from SQL text.

Only describes and checks sources; nothing is opened here. A missing file is the harness's trouble, never the
prediction's, so it is an error of its own.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

SUFFIXES = (".sqlite", ".sqlite3", ".db")


class SourceError(Exception):
    """A database cannot be used (missing, no file, unfinished write-ahead log); the message says which and why."""


@dataclass(frozen=True)
class Source:
    """A database by identity. ``key`` changes when the content may have changed; ``request`` is what a worker gets."""

    label: str
    key: str
    uri: str | None = None
    script: str | None = None

    @property
    def request(self) -> dict[str, Any]:
        """The fields of a worker's request that name this source."""
        named = {"uri": self.uri} if self.uri is not None else {"script": self.script}
        return {"key": self.key, **named}


def file_source(path: Path) -> Source:
    """The database file at ``path``. Raises SourceError when it is missing, no file, or not checkpointed.

    It is opened as immutable, so that a read-only folder works and no journal appears beside it; a write-ahead log or
    hot journal that still holds data would then be ignored silently, hence the refusal.
    """
    resolved = Path(os.path.abspath(path))
    try:
        state = resolved.stat()
    except OSError as error:
        raise SourceError(f"database {path} cannot be read ({error.strerror or error})") from error
    if not resolved.is_file():
        raise SourceError(f"database {path} is not a file")
    if state.st_size == 0:
        raise SourceError(f"database {path} is empty (0 bytes)")
    for suffix in ("-wal", "-journal"):
        beside = resolved.with_name(resolved.name + suffix)
        if beside.is_file() and beside.stat().st_size:
            raise SourceError(f"database {path} has unfinished changes in {beside.name}; close or checkpoint it first")
    identity = f"file:{resolved}:{state.st_mtime_ns}:{state.st_ctime_ns}:{state.st_size}:{state.st_ino}"
    uri = f"file:{quote(os.fsencode(resolved))}?mode=ro&immutable=1"
    return Source(label=resolved.name, key=identity, uri=uri)


@lru_cache(maxsize=256)
def script_source(script: str) -> Source:
    """A memory database built by running ``script`` (CREATE and INSERT statements), separately in each worker."""
    digest = hashlib.sha256(script.encode("utf-8", "surrogatepass")).hexdigest()
    return Source(label="schema", key=f"script:{digest}", script=script)


def find_databases(place: Path) -> tuple[Path, ...]:
    """``place`` itself when it is a file, else every SQLite file below the folder, sorted. Empty when there is none."""
    if place.is_file():
        return (place,)
    return tuple(sorted(p for p in place.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file()))
