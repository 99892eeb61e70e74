"""Insert statements compiled once and run as one multi-row statement, on SQLite and PostgreSQL alike.

One statement for many rows, because a driver gives the interpreter lock away at every statement: row by row, a busy
event loop would hold each row up for milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, TypeVar

from sqlalchemy import Connection, Dialect, Table, bindparam
from sqlalchemy.dialects import postgresql, sqlite

from lic_pipeline.models.ledger.database import execute

Insert = postgresql.Insert | sqlite.Insert
Item = TypeVar("Item")


def insert_into(dialect: Dialect, table: Table) -> Insert:
    """The dialect's own INSERT, which knows ON CONFLICT."""
    return postgresql.insert(table) if dialect.name == "postgresql" else sqlite.insert(table)


def keep_first(statement: Insert) -> Insert:
    """Rows whose key exists are left out."""
    return statement.on_conflict_do_nothing()


def chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Lists of at most ``size`` items, in order."""
    iterator = iter(items)
    while part := list(islice(iterator, size)):
        yield part


class RowInserter:
    """Inserts tuples in the order of the table's columns; ``conflict`` adds the ON CONFLICT clause."""

    _LARGE = 256
    _EXACT = 64
    """Up to this many rows there is a statement for every number, as many as calls are usually in flight."""

    def __init__(
        self, dialect: Dialect, table: Table, conflict: Callable[[Insert], Insert] | None = keep_first
    ) -> None:
        names = [column.name for column in table.columns]
        statement = insert_into(dialect, table).values({name: bindparam(name) for name in names})
        compiled = (conflict(statement) if conflict else statement).compile(dialect=dialect)
        if compiled.positiontup != names:
            raise AssertionError(f"columns of {table.name} are not bound in table order")
        mark = "%s" if dialect.name == "postgresql" else "?"
        self._one = compiled.string
        self._row = f"({', '.join([mark] * len(names))})"
        if self._one.count(self._row) != 1:
            raise AssertionError(f"the compiled insert of {table.name} has an unknown form")
        self._texts: dict[int, str] = {}

    def insert(self, connection: Connection, rows: Sequence[tuple[Any, ...]]) -> int:
        """Insert ``rows`` in order; returns how many were inserted or changed."""
        changed = start = 0
        while start < len(rows):
            left = len(rows) - start
            size = self._LARGE if left >= self._LARGE else min(left, self._EXACT)
            flat = tuple(chain.from_iterable(rows[start : start + size]))
            changed += execute(connection, self._text(size), flat).rowcount
            start += size
        return changed

    def _text(self, size: int) -> str:
        text = self._texts.get(size)
        if text is None:
            text = self._texts[size] = self._one.replace(self._row, ", ".join([self._row] * size))
        return text
