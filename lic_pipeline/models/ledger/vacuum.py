"""Giving space back: texts of superseded epochs go, what they cost stays.

A call is superseded when the same key was called again in a later epoch: nothing reads its reply any more. Its row
keeps tokens and cost, because totals are sums over everything that was ever paid for.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import Connection, and_, delete, exists, func, select, update

from lic_pipeline.errors import StorageError
from lic_pipeline.models.ledger.database import BUSY_SECONDS, Database
from lic_pipeline.models.ledger.owner import certainly_dead
from lic_pipeline.models.ledger.schema import CALLS, DECISIONS, OWNERS

GONE = "null"
"""What stands in place of the reply of a superseded call (JSON)."""


@dataclass(frozen=True, slots=True)
class Vacuumed:
    """What was removed: texts of calls, decisions, and bytes of the file (0 where the server keeps the files)."""

    calls: int
    decisions: int
    freed_bytes: int


def vacuum(database: Database, owner: str) -> Vacuumed:
    """Drop superseded texts and shrink the file. Raises StorageError while another process works on the ledger."""
    before = _size(database)
    with database.writer.connect() as connection, connection.begin():
        _refuse_while_busy(connection, owner, database.place)
        calls = _drop_replies(connection)
        decisions = _drop_decisions(connection)
    if database.file is not None:
        _shrink(database)
    return Vacuumed(calls, decisions, max(0, before - _size(database)))


def _refuse_while_busy(connection: Connection, owner: str, place: str) -> None:
    for row in connection.execute(select(OWNERS).where(OWNERS.c.owner != owner)):
        if row.lease_until >= time.time() and not certainly_dead(row.owner):
            raise StorageError(f"another process works on the ledger {place}; vacuum it when that has ended")


def _drop_replies(connection: Connection) -> int:
    later = CALLS.alias()
    key = ("conversation_id", "role", "turn", "ask")
    again = exists().where(and_(*(later.c[name] == CALLS.c[name] for name in key), later.c.epoch > CALLS.c.epoch))
    statement = update(CALLS).where(again, CALLS.c.reply != GONE).values(reply=GONE)
    return connection.execute(statement).rowcount


def _drop_decisions(connection: Connection) -> int:
    later = DECISIONS.alias()
    key = ("conversation_id", "kind", "turn")
    again = select(func.count()).where(
        and_(*(later.c[name] == DECISIONS.c[name] for name in key), later.c.epoch > DECISIONS.c.epoch)
    )
    return connection.execute(delete(DECISIONS).where(again.scalar_subquery() > 0)).rowcount


def _shrink(database: Database) -> None:
    """SQLite rewrites the file; outside a transaction, which only a bare connection is."""
    connection = database.writer.raw_connection()
    try:
        cursor = connection.cursor()
        cursor.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000:.0f}")
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        cursor.close()
    finally:
        connection.close()


def _size(database: Database) -> int:
    if database.file is None:
        return 0
    parts = (database.file, database.file.with_name(database.file.name + "-wal"))
    return sum(part.stat().st_size for part in parts if part.exists())
