"""Claims and leases inside the writer's transaction: who may pay for which conversation.

A claim is the owner's name on a conversation; it is live while the owner's row stands in ``owners`` with a lease in the
future. Taking over from an owner that is dead or late deletes that row, which is also how a process that stood still
for too long learns, at its next transaction and before anything is written, that it must look at its claims again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, Dialect, and_, delete, func, or_, select, update

from lic_pipeline.models.ledger.owner import certainly_dead
from lic_pipeline.models.ledger.records import OPEN
from lic_pipeline.models.ledger.schema import CONVERSATIONS, LIVE_RUNS, OWNERS
from lic_pipeline.models.ledger.statements import RowInserter, chunks, insert_into

CHUNK = 256
"""Conversations claimed or changed per statement."""

_SWEEP_S = 86_400.0
_CLOCK_ID = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # Counts on while the machine sleeps.

Later = list[Callable[[], object]]
"""What to do in memory once the transaction is committed."""


class Won(NamedTuple):
    """Claimed conversations; the ``new`` ones among them were unknown before, so nothing of them is stored."""

    ids: frozenset[str]
    new: frozenset[str]


class Claims:
    """The claims of one owner; ``epochs`` holds the claimed conversations, ``lost`` those taken over by others."""

    def __init__(self, dialect: Dialect, owner: str, lease_s: float, heartbeat_s: float, clock_offset: float) -> None:
        self.owner = owner
        self.epochs: dict[str, int] = {}
        self.lost: set[str] = set()
        self._providers: set[str] = set()
        self._lease_s = lease_s
        self._heartbeat_s = heartbeat_s
        self._offset = clock_offset
        self._registered = False
        self._renewed = 0.0
        self._dialect = dialect
        self._new = RowInserter(dialect, CONVERSATIONS)

    @property
    def due(self) -> bool:
        """True when the lease should be renewed."""
        return self._registered and _clock() - self._renewed >= self._heartbeat_s

    def now(self) -> float:
        """The database server's time in seconds since 1970, so that hosts with wrong clocks agree."""
        return time.time() + self._offset

    def register(self, connection: Connection, later: Later) -> None:
        """Write this owner's row when there is none, and sweep out rows nobody has looked at for a day."""
        if not self._registered:
            self._write_lease(connection, later)
            connection.execute(delete(OWNERS).where(OWNERS.c.lease_until < self.now() - _SWEEP_S))
            connection.execute(delete(LIVE_RUNS).where(LIVE_RUNS.c.owner.not_in(select(OWNERS.c.owner))))

    def renew(self, connection: Connection, later: Later) -> None:
        """Heartbeat. When the row is gone, this owner was too late: find out which claims are lost."""
        changed = connection.execute(
            update(OWNERS).where(OWNERS.c.owner == self.owner).values(lease_until=self.now() + self._lease_s)
        ).rowcount
        if changed:
            later.append(self._mark_renewed)
            return
        self._write_lease(connection, later)
        for provider_key in sorted(self._providers):
            self.join_live(connection, provider_key, later)
        kept: set[str] = set()
        for part in chunks(sorted(self.epochs), CHUNK):
            found = select(CONVERSATIONS.c.conversation_id).where(
                CONVERSATIONS.c.conversation_id.in_(part), CONVERSATIONS.c.owner == self.owner
            )
            kept.update(connection.execute(found).scalars())
        for conversation_id in set(self.epochs) - kept:
            self.lost.add(conversation_id)
            del self.epochs[conversation_id]

    def claim(self, connection: Connection, ids: Collection[str], later: Later) -> Won:
        """Claim what is open and free. New ids are inserted as open."""
        self.register(connection, later)
        won: dict[str, int] = {}
        new: set[str] = set()
        # One order everywhere, so that two processes never wait for each other's rows.
        for part in chunks(sorted(set(ids)), CHUNK):
            rows_of_part = [(conversation_id, OPEN, None, 0, None) for conversation_id in part]
            if self._new.insert(connection, rows_of_part) == len(part):
                new.update(part)
            columns = CONVERSATIONS.c
            known = select(columns.conversation_id, columns.epoch, columns.owner)
            known = known.where(columns.conversation_id.in_(part), columns.state == OPEN)
            rows = connection.execute(known.order_by(columns.conversation_id).with_for_update()).all()
            live = self._live_owners(connection, {row.owner for row in rows if row.owner not in (None, self.owner)})
            mine = {row.conversation_id: row.epoch for row in rows if row.owner not in live}
            self._set_owner(connection, list(mine), self.owner)
            won.update(mine)
        later.append(lambda: self._remember(won))
        return Won(frozenset(won), frozenset(new))

    def release(self, connection: Connection, ids: Collection[str], later: Later) -> None:
        """Give claims back; those of others are left alone."""
        for part in chunks(sorted(set(ids)), CHUNK):
            self._set_owner(connection, part, None)
        later.append(lambda: self.forget(ids))

    def forget(self, ids: Collection[str]) -> None:
        """Drop ids from memory once they are released or finished."""
        for conversation_id in ids:
            self.epochs.pop(conversation_id, None)
            self.lost.discard(conversation_id)

    def epochs_of(self, connection: Connection, ids: Collection[str]) -> dict[str, int]:
        """Epoch of each conversation. Unclaimed ones (imports) are read, and inserted as open when new."""
        unknown = sorted({conversation_id for conversation_id in ids if conversation_id not in self.epochs})
        if not unknown:
            return self.epochs
        found = dict(self.epochs)
        for part in chunks(unknown, CHUNK):
            self._new.insert(connection, [(conversation_id, OPEN, None, 0, None) for conversation_id in part])
            stored = select(CONVERSATIONS.c.conversation_id, CONVERSATIONS.c.epoch)
            rows = connection.execute(stored.where(CONVERSATIONS.c.conversation_id.in_(part))).all()
            found.update({row.conversation_id: row.epoch for row in rows})
        return found

    def join_live(self, connection: Connection, provider_key: str, later: Later) -> None:
        """Count this process among the live runs of a provider."""
        self.register(connection, later)
        statement = insert_into(self._dialect, LIVE_RUNS).values(provider_key=provider_key, owner=self.owner)
        connection.execute(statement.on_conflict_do_nothing())
        later.append(lambda: self._providers.add(provider_key))

    def count_live(self, connection: Connection, provider_key: str) -> int:
        """Live processes on a provider, by lease and pid; reads only."""
        rows = connection.execute(
            select(OWNERS.c.owner)
            .join(LIVE_RUNS, LIVE_RUNS.c.owner == OWNERS.c.owner)
            .where(LIVE_RUNS.c.provider_key == provider_key, OWNERS.c.lease_until >= self.now())
        ).scalars()
        return sum(not certainly_dead(owner) for owner in rows)

    def leave(self, connection: Connection) -> None:
        """Give everything back when the ledger is closed."""
        if not self._registered:
            return
        for part in chunks(sorted(self.epochs), CHUNK):
            self._set_owner(connection, part, None)
        connection.execute(delete(LIVE_RUNS).where(LIVE_RUNS.c.owner == self.owner))
        connection.execute(delete(OWNERS).where(OWNERS.c.owner == self.owner))

    def _write_lease(self, connection: Connection, later: Later) -> None:
        statement = insert_into(self._dialect, OWNERS).values(owner=self.owner, lease_until=self.now() + self._lease_s)
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=[OWNERS.c.owner], set_={"lease_until": statement.excluded.lease_until}
            )
        )
        later.append(self._mark_renewed)

    def _remember(self, won: dict[str, int]) -> None:
        self.epochs.update(won)
        self.lost.difference_update(won)

    def _mark_renewed(self) -> None:
        self._registered = True
        self._renewed = _clock()

    def _live_owners(self, connection: Connection, owners: set[str]) -> set[str]:
        """Those of ``owners`` whose claims stand; the rows of dead and late ones are deleted."""
        live: set[str] = set()
        rows = connection.execute(select(OWNERS).where(OWNERS.c.owner.in_(owners))).all() if owners else []
        for row in rows:
            if row.lease_until >= self.now() and not certainly_dead(row.owner):
                live.add(row.owner)
                continue
            # Compared with the lease just read: an owner that renewed it in the meantime is alive after all.
            same = and_(OWNERS.c.owner == row.owner, OWNERS.c.lease_until == row.lease_until)
            if not connection.execute(delete(OWNERS).where(same)).rowcount:
                live.add(row.owner)
                continue
            connection.execute(delete(LIVE_RUNS).where(LIVE_RUNS.c.owner == row.owner))
        return live

    def _set_owner(self, connection: Connection, ids: Sequence[str], owner: str | None) -> None:
        statement = update(CONVERSATIONS).where(CONVERSATIONS.c.conversation_id.in_(ids)).values(owner=owner)
        if owner is None:
            statement = statement.where(CONVERSATIONS.c.owner == self.owner)
        if ids:
            connection.execute(statement)

    def unowned(self) -> ColumnElement[bool]:
        """SQL condition: the conversation is nobody's or this owner's."""
        return or_(CONVERSATIONS.c.owner.is_(None), CONVERSATIONS.c.owner == self.owner)


def server_clock_offset(connection: Connection) -> float:
    """Seconds the database server's clock is ahead of this host's; 0 for SQLite, which has no other clock."""
    if connection.dialect.name != "postgresql":
        return 0.0
    server = connection.execute(select(func.extract("epoch", func.clock_timestamp()))).scalar_one()
    return float(server) - time.time()


def _clock() -> float:
    return time.clock_gettime(_CLOCK_ID)
