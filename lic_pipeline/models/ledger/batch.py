"""How a batch of operations becomes one transaction of the writer's own connection; ``rows.py`` stores single kinds.

Row operations (calls, decisions, tries, ...) are gathered by kind and inserted together; operations on conversations
(claim, release, reopen, epoch) run in their place between them. Every transaction can be repeated as a whole: a lost
server connection, a deadlock or one bad row never stores anything twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection, select, update

from lic_pipeline.errors import StorageError
from lic_pipeline.models.ledger.claims import CHUNK, Claims, Later
from lic_pipeline.models.ledger.database import Database
from lic_pipeline.models.ledger.faults import explain, is_storage_fault, is_transient
from lic_pipeline.models.ledger.records import ERROR_PREFIX, OPEN, ClaimLostError
from lic_pipeline.models.ledger.rows import RowExistsError, RowStore, Store
from lic_pipeline.models.ledger.schema import CONVERSATIONS
from lic_pipeline.models.ledger.statements import chunks
from lic_pipeline.models.ledger.writer import Operation

_PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds between repetitions of a transaction after a transient error."""


class Batches:
    """Runs batches (``BatchRunner``). Only the writer thread may call it."""

    def __init__(self, database: Database, claims: Claims) -> None:
        self._database = database
        self._claims = claims
        self._connection: Connection | None = None
        self.rows = RowStore(database.writer.dialect, claims)
        self._kinds: dict[str, Store] = {**self.rows.kinds, "finish": self._finish}
        self._single: dict[str, Callable[[Connection, Any, Later], Any]] = {
            "claim": claims.claim,
            "release": claims.release,
            "reopen": self._reopen,
            "bump": self._bump,
            "live": claims.join_live,
            "flush": lambda _connection, _payload, _later: None,
        }

    def run(self, operations: list[Operation]) -> None:
        """Commit all; answers stand on the operations afterwards. Raises StorageError when nothing can be stored."""
        careful = False
        pauses = iter(_PAUSES)
        while True:
            try:
                self._transact(operations, careful)
                return
            except RowExistsError:
                careful = True
            except Exception as error:
                pause = next(pauses, None) if is_transient(error) else None
                if pause is None:
                    self._give_up(operations, error)
                    return
                self._disconnect()
                time.sleep(pause)

    def tend(self) -> None:
        """Heartbeat, when due and nothing else is being written."""
        if self._claims.due:
            self.run([Operation("flush", "", None)])

    def close(self) -> None:
        """Release all claims and close the connection."""
        try:
            connection = self._connect()
            with connection.begin():
                self._claims.leave(connection)
        except Exception as error:
            raise explain(error, self._database.place) from error
        finally:
            self._disconnect()

    def _transact(self, operations: list[Operation], careful: bool) -> None:
        later: Later = []
        connection = self._connect()
        with connection.begin():
            if self._claims.due:
                self._claims.renew(connection, later)
            self._apply(connection, operations, later, careful)
        for action in later:
            action()

    def _give_up(self, operations: list[Operation], error: Exception) -> None:
        """A fault of the place fails everything; any other error is that of one operation, which is singled out."""
        if is_storage_fault(error):
            raise explain(error, self._database.place) from error
        if len(operations) > 1:
            for operation in operations:
                self.run([operation])
            return
        if operations[0].waiter is None:
            raise StorageError(f"the ledger could not store a {operations[0].kind}: {error}") from error
        operations[0].error = error

    def _apply(self, connection: Connection, operations: list[Operation], later: Later, careful: bool) -> None:
        lost = self._claims.lost
        gathered: dict[str, list[Operation]] = {kind: [] for kind in self._kinds}
        for operation in operations:
            rows = gathered.get(operation.kind)
            operation.result = operation.error = None
            if lost and operation.conversation_id in lost:
                if operation.waiter is not None:
                    operation.error = _claim_lost(operation.conversation_id)
            elif rows is not None:
                rows.append(operation)
            else:
                self._store_rows(connection, gathered, later, careful)
                operation.result = self._single[operation.kind](connection, operation.payload, later)
        self._store_rows(connection, gathered, later, careful)

    def _store_rows(
        self, connection: Connection, gathered: dict[str, list[Operation]], later: Later, careful: bool
    ) -> None:
        """Store what is gathered, kind by kind, and forget it."""
        for kind, store in self._kinds.items():
            if gathered[kind]:
                store(connection, gathered[kind], later, careful)
                gathered[kind] = []

    def _finish(self, connection: Connection, operations: list[Operation], later: Later, _: bool) -> None:
        final = {operation.conversation_id: operation.payload for operation in operations}
        self._claims.epochs_of(connection, final)
        for state, stop_reason in sorted(set(final.values()), key=repr):
            ids = sorted(key for key, value in final.items() if value == (state, stop_reason))
            for part in chunks(ids, CHUNK):
                ended = update(CONVERSATIONS).where(CONVERSATIONS.c.conversation_id.in_(part), self._claims.unowned())
                connection.execute(ended.values(state=state, stop_reason=stop_reason, owner=None))
        later.append(lambda: self._claims.forget(final))

    def _reopen(self, connection: Connection, payload: tuple[Sequence[str], bool], _later: Later) -> int:
        ids, error_only = payload
        state = CONVERSATIONS.c.state
        ended = state.like(f"{ERROR_PREFIX}%") if error_only else state != OPEN
        changed = 0
        for part in chunks(sorted(set(ids)), CHUNK):
            again = update(CONVERSATIONS).where(CONVERSATIONS.c.conversation_id.in_(part), ended)
            changed += connection.execute(again.values(state=OPEN, stop_reason=None, owner=None)).rowcount
        return changed

    def _bump(self, connection: Connection, ids: Sequence[str], _later: Later) -> None:
        columns = CONVERSATIONS.c
        for part in chunks(sorted(set(ids)), CHUNK):
            chosen = columns.conversation_id.in_(part)
            connection.execute(update(CONVERSATIONS).where(chosen).values(epoch=columns.epoch + 1))
            for row in connection.execute(select(columns.conversation_id, columns.epoch).where(chosen)):
                if row.conversation_id in self._claims.epochs:
                    self._claims.epochs[row.conversation_id] = row.epoch

    def _connect(self) -> Connection:
        if self._connection is None:
            self._connection = self._database.writer.connect()
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.invalidate()
            connection.close()


def _claim_lost(conversation_id: str) -> ClaimLostError:
    return ClaimLostError(
        f"conversation {conversation_id} was taken over by another process, because this one stood still for longer "
        "than its lease; it goes on there, nothing was stored here"
    )
