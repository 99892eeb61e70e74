"""What a batch of operations does to the tables, in one transaction of the writer's own connection.

Row operations (calls, decisions, tries, ...) are gathered by kind and inserted together; operations on conversations
(claim, release, reopen, epoch) run in their place between them. Every transaction can be repeated as a whole: a lost
server connection, a deadlock or one bad row never stores anything twice.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, select, update

from lic_pipeline.errors import DriftError, StorageError
from lic_pipeline.models.ledger.claims import CHUNK, Claims, Later
from lic_pipeline.models.ledger.database import Database, explain, is_storage_fault, is_transient
from lic_pipeline.models.ledger.records import ERROR_PREFIX, OPEN, CallKey, ClaimLostError
from lic_pipeline.models.ledger.schema import (
    BLOBS,
    BUDGETS,
    CALLS,
    CONVERSATIONS,
    DECISIONS,
    TRIES,
    VERDICTS,
)
from lic_pipeline.models.ledger.statements import Insert, RowInserter, chunks, insert_into
from lic_pipeline.models.ledger.writer import Operation

_PAUSES = (0.05, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds between repetitions of a transaction after a transient error."""


class Spend(NamedTuple):
    """What one call adds to a budget; a call of unknown price adds its tokens only."""

    scope: str
    usd: float
    tokens: int


class NewCall(NamedTuple):
    """Payload of a call: ``row`` are the columns of ``calls`` after the epoch."""

    key: CallKey
    row: tuple[Any, ...]
    request_hash: str
    request_fields: dict[str, str]
    spend: Spend | None


class RowExistsError(Exception):
    """Some call of a batch is stored already: the batch is repeated call by call. Never leaves this module."""


class Batches:
    """Runs batches (``BatchRunner``). Only the writer thread may call it."""

    def __init__(self, database: Database, claims: Claims) -> None:
        self._database = database
        self._claims = claims
        self._connection: Connection | None = None
        self.spent: dict[str, tuple[float, int]] = {}
        dialect = database.writer.dialect
        self._dialect = dialect
        self._calls = RowInserter(dialect, CALLS)
        self._plain = {
            "blob": RowInserter(dialect, BLOBS),
            "decision": RowInserter(dialect, DECISIONS),
            "try": RowInserter(dialect, TRIES, None),
            "verdict": RowInserter(dialect, VERDICTS, _replace_value),
        }
        self._rows: dict[str, Callable[[Connection, list[Operation], Later, bool], None]] = {
            "blob": self._store_plain,
            "call": self._store_calls,
            "decision": self._store_decisions,
            "try": self._store_plain,
            "verdict": self._store_verdicts,
            "spend": self._store_spend,
            "finish": self._finish,
        }
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
        for operation in operations:
            operation.result = operation.error = None
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
        gathered: dict[str, list[Operation]] = {}
        for operation in operations:
            if operation.conversation_id in self._claims.lost:
                if operation.waiter is not None:
                    operation.error = _claim_lost(operation.conversation_id)
            elif operation.kind in self._rows:
                gathered.setdefault(operation.kind, []).append(operation)
            else:
                self._store_rows(connection, gathered, later, careful)
                gathered = {}
                operation.result = self._single[operation.kind](connection, operation.payload, later)
        self._store_rows(connection, gathered, later, careful)

    def _store_rows(
        self, connection: Connection, gathered: dict[str, list[Operation]], later: Later, careful: bool
    ) -> None:
        for kind, store in self._rows.items():
            if kind in gathered:
                store(connection, gathered[kind], later, careful)

    def _store_calls(self, connection: Connection, operations: list[Operation], later: Later, careful: bool) -> None:
        epochs = self._claims.epochs_of(connection, [operation.conversation_id for operation in operations])
        rows = [(op.conversation_id, epochs[op.conversation_id], *op.payload.row) for op in operations]
        if careful:
            for operation, row in zip(operations, rows, strict=True):
                operation.result = self._calls.insert(connection, [row]) == 1
                if not operation.result:
                    operation.error = self._drift(connection, operation, row[1])
        else:
            if self._calls.insert(connection, rows) != len(rows):
                raise RowExistsError
            for operation in operations:
                operation.result = True
        self._add_spend(connection, [op.payload.spend for op in operations if op.result and op.payload.spend], later)

    def _drift(self, connection: Connection, operation: Operation, epoch: int) -> DriftError | None:
        """None when the stored call answers the same request."""
        call: NewCall = operation.payload
        columns = CALLS.c
        stored = connection.execute(
            select(columns.request_hash, columns.request_fields).where(
                columns.conversation_id == operation.conversation_id,
                columns.epoch == epoch,
                columns.role == call.key.role,
                columns.turn == call.key.turn,
                columns.ask == call.key.ask,
            )
        ).one()
        if stored.request_hash == call.request_hash:
            return None
        field = first_difference(json.loads(stored.request_fields), call.request_fields)
        return DriftError(operation.conversation_id, str(call.key), field)

    def _store_decisions(self, connection: Connection, operations: list[Operation], _later: Later, _: bool) -> None:
        epochs = self._claims.epochs_of(connection, [operation.conversation_id for operation in operations])
        rows = [(op.conversation_id, epochs[op.conversation_id], *op.payload) for op in operations]
        self._plain["decision"].insert(connection, rows)

    def _store_plain(self, connection: Connection, operations: list[Operation], _later: Later, _: bool) -> None:
        self._plain[operations[0].kind].insert(connection, [operation.payload for operation in operations])

    def _store_verdicts(self, connection: Connection, operations: list[Operation], _later: Later, _: bool) -> None:
        latest = {operation.payload[0]: operation.payload for operation in operations}
        self._plain["verdict"].insert(connection, [latest[key] for key in sorted(latest)])

    def _store_spend(self, connection: Connection, operations: list[Operation], later: Later, _: bool) -> None:
        self._add_spend(connection, [operation.payload for operation in operations], later)

    def _add_spend(self, connection: Connection, spends: Sequence[Spend], later: Later) -> None:
        for scope in sorted({spend.scope for spend in spends}):
            usd = sum(spend.usd for spend in spends if spend.scope == scope)
            tokens = sum(spend.tokens for spend in spends if spend.scope == scope)
            insert = insert_into(self._dialect, BUDGETS).values(scope=scope, usd=usd, tokens=tokens)
            added = insert.on_conflict_do_update(
                index_elements=[BUDGETS.c.scope],
                set_={"usd": BUDGETS.c.usd + insert.excluded.usd, "tokens": BUDGETS.c.tokens + insert.excluded.tokens},
            )
            total = connection.execute(added.returning(BUDGETS.c.usd, BUDGETS.c.tokens)).one()
            later.append(lambda scope=scope, total=total: self.spent.update({scope: (total.usd, total.tokens)}))  # type: ignore[misc]

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


def first_difference(stored: dict[str, str], asked: dict[str, str]) -> str:
    """The first named part whose hash differs, in the order of the new request; then parts that are gone."""
    for name in [*asked, *stored]:
        if stored.get(name) != asked.get(name):
            return name
    return "request"


def _claim_lost(conversation_id: str) -> ClaimLostError:
    return ClaimLostError(
        f"conversation {conversation_id} was taken over by another process, because this one stood still for longer "
        "than its lease; it goes on there, nothing was stored here"
    )


def _replace_value(insert: Insert) -> Insert:
    return insert.on_conflict_do_update(index_elements=[VERDICTS.c.verdict_key], set_={"value": insert.excluded.value})
