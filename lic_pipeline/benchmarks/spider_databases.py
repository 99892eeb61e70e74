"""The databases of Spider: found below ``database/<db_id>/``, described by their own CREATE statements.

``*.sqlite`` files win (several = a test suite, all of them count); else ``schema.sql``, SQL text with inserts. Only the
catalogue of a file is read here, read-only and immutable; no statement of a data file is run, and no query either.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from lic_pipeline.errors import RecordError
from lic_pipeline.lake.inputs import other_kind
from lic_pipeline.records import Json

_DB_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_COMMENTS = re.compile(r"\A(?:\s+|--[^\n]*(?:\n|\Z)|/\*.*?\*/)+", re.DOTALL)
_CREATE = re.compile(r"CREATE\s+(?:TABLE|VIEW)\b", re.IGNORECASE)
_CATALOGUE = "SELECT sql FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'"


@dataclass(frozen=True)
class Database:
    """One database: CREATE statements without rows, and where scoring finds the rows (``databases`` | ``schema``)."""

    schema_sql: str
    reference: Mapping[str, Json]
    files: tuple[Path, ...] = ()


@dataclass
class Databases:
    """The databases below a Spider folder, each looked at once."""

    folder: Path | None
    _known: dict[str, Database | RecordError] = field(default_factory=dict)

    def get(self, db_id: str) -> Database:
        """The database of this id. Raises RecordError (field ``db_id``) when it is missing or cannot be read."""
        if db_id not in self._known:
            try:
                self._known[db_id] = self._find(db_id)
            except RecordError as error:
                self._known[db_id] = error
        found = self._known[db_id]
        if isinstance(found, RecordError):
            raise RecordError(found.reason, field=found.field)
        return found

    def files(self) -> list[Path]:
        """The files of every database that was asked for and found."""
        return [path for known in self._known.values() if isinstance(known, Database) for path in known.files]

    def _find(self, db_id: str) -> Database:
        if not _DB_ID.fullmatch(db_id):
            raise RecordError(f"{db_id!r} is no database name", field="db_id")
        place = self.folder / "database" / db_id if self.folder else None
        main = place / f"{db_id}.sqlite" if place else None
        files = sorted(place.glob("*.sqlite"), key=lambda path: (path != main, path.name)) if place else []
        if files:
            schema = _catalogue(files[0])
            return Database(schema, {"databases": [str(path.resolve()) for path in files]}, tuple(files))
        if place and (place / "schema.sql").is_file():
            text = _text(place / "schema.sql")
            return Database(_creates(text, "schema.sql"), {"schema": text}, (place / "schema.sql",))
        raise RecordError(f"no_database: {db_id}", field="db_id")


def statements(script: str) -> Iterator[str]:
    """The statements of an SQL script, each with its semicolon; quotes, comments and triggers are understood."""
    start = search = 0
    while (end := script.find(";", search)) >= 0:
        search = end + 1
        if sqlite3.complete_statement(script[start:search]):
            yield script[start:search]
            start = search
    if _COMMENTS.sub("", script[start:]).strip():
        yield script[start:]


def _creates(script: str, name: str) -> str:
    bare = (_COMMENTS.sub("", statement).strip() for statement in statements(script))
    creates = [statement.removesuffix(";") for statement in bare if _CREATE.match(statement)]
    if not creates:
        raise RecordError(f"{name} creates no table", field="db_id")
    return "".join(f"{statement};\n" for statement in creates).rstrip("\n")


def _catalogue(path: Path) -> str:
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1", uri=True)) as connection:
            creates = [str(sql).strip() for (sql,) in connection.execute(_CATALOGUE) if sql]
    except (sqlite3.Error, UnicodeError) as error:
        with path.open("rb") as handle:
            said = other_kind(handle.read(512)) or error
        raise RecordError(f"database/{path.parent.name}/{path.name} cannot be read: {said}", field="db_id") from error
    if not creates:
        raise RecordError(f"database/{path.parent.name}/{path.name} holds no table", field="db_id")
    return "\n".join(f"{sql};" for sql in creates)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError) as error:
        raise RecordError(f"database/{path.parent.name}/{path.name} cannot be read: {error}", field="db_id") from error
