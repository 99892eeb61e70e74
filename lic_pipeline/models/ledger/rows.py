"""Row operations of a batch: calls, decisions, tries, texts, verdicts and spend, each kind inserted together.

Called inside the writer's transaction (``batch.py``). A call row and its spend belong together: a repeat adds neither.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Dialect, bindparam, select

from lic_pipeline.errors import DriftError
from lic_pipeline.models.ledger.claims import Claims, Later
from lic_pipeline.models.ledger.database import execute
from lic_pipeline.models.ledger.records import CallKey
from lic_pipeline.models.ledger.schema import BLOBS, BUDGETS, CALLS, DECISIONS, TRIES, VERDICTS
from lic_pipeline.models.ledger.statements import Insert, RowInserter, insert_into
from lic_pipeline.models.ledger.writer import Operation
from lic_pipeline.models.redaction import redact
from lic_pipeline.records import Json

encode = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode
"""Plain JSON as one line of ASCII. Raises ValueError for NaN, TypeError for what is no JSON."""

Store = Callable[[Connection, list[Operation], Later, bool], None]
"""Stores operations of one kind; the last argument asks for one by one, after a repeat was met."""


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


def new_call(
    key: CallKey,
    request_hash: str,
    request_fields: Mapping[str, str],
    reply: Mapping[str, Json],
    *,
    latency_s: float | None,
    model: str,
    cost_usd: float | None,
    tokens: int | None,
    budget_scope: str | None,
    plain: str | None = None,
) -> NewCall:
    """The payload of a call; usage, cost, model and the text to store are taken from the reply where not given."""
    usage = reply.get("usage") or {}
    cost = reply.get("cost_usd") if cost_usd is None else cost_usd
    returned = str(reply.get("model_returned") or "")
    prompt, completion = usage.get("prompt"), usage.get("completion")
    spend = None
    if budget_scope is not None:
        counted = (prompt or 0) + (completion or 0) if tokens is None else tokens
        spend = Spend(budget_scope, cost or 0.0, counted)
    fields = dict(request_fields)
    row = (
        *key,
        model or returned,
        request_hash,
        encode(fields),
        redact(encode(dict(reply))) if plain is None else plain,
        returned,
        str(reply.get("finish_reason") or ""),
        prompt,
        completion,
        usage.get("reasoning"),
        usage.get("cached"),
        cost,
        latency_s,
        time.time(),
    )
    return NewCall(key, row, request_hash, fields, spend)


class RowExistsError(Exception):
    """Some call of a batch is stored already: the batch is repeated call by call. Never leaves this package."""


class RowStore:
    """Stores gathered operations; ``spent`` are the budgets as of this process's last commits."""

    def __init__(self, dialect: Dialect, claims: Claims) -> None:
        self._claims = claims
        self._spending = _spending(dialect)
        self.spent: dict[str, tuple[float, int]] = {}
        self._calls = RowInserter(dialect, CALLS)
        self._plain = {
            "blob": RowInserter(dialect, BLOBS),
            "decision": RowInserter(dialect, DECISIONS),
            "try": RowInserter(dialect, TRIES, None),
            "verdict": RowInserter(dialect, VERDICTS, _replace_value),
        }
        self.kinds: dict[str, Store] = {
            "blob": self.plain,
            "call": self.calls,
            "decision": self.decisions,
            "try": self.plain,
            "verdict": self.verdicts,
            "spend": self.spend,
        }

    def calls(self, connection: Connection, operations: list[Operation], later: Later, careful: bool) -> None:
        """Insert calls and add their spend. Raises RowExistsError unless careful."""
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

    def decisions(self, connection: Connection, operations: list[Operation], _later: Later, _: bool) -> None:
        """Insert decisions; the first of an epoch stands."""
        epochs = self._claims.epochs_of(connection, [operation.conversation_id for operation in operations])
        rows = [(op.conversation_id, epochs[op.conversation_id], *op.payload) for op in operations]
        self._plain["decision"].insert(connection, rows)

    def plain(self, connection: Connection, operations: list[Operation], _later: Later, _: bool) -> None:
        """Insert rows as they are."""
        self._plain[operations[0].kind].insert(connection, [operation.payload for operation in operations])

    def verdicts(self, connection: Connection, operations: list[Operation], _later: Later, _: bool) -> None:
        """Insert or replace verdicts, of each key the latest."""
        latest = {operation.payload[0]: operation.payload for operation in operations}
        self._plain["verdict"].insert(connection, [latest[key] for key in sorted(latest)])

    def spend(self, connection: Connection, operations: list[Operation], later: Later, _: bool) -> None:
        """Add to budgets."""
        self._add_spend(connection, [operation.payload for operation in operations], later)

    def _add_spend(self, connection: Connection, spends: Sequence[Spend], later: Later) -> None:
        sums: dict[str, tuple[float, int]] = {}
        for scope, usd, tokens in spends:
            known = sums.get(scope, (0.0, 0))
            sums[scope] = known[0] + usd, known[1] + tokens
        for scope in sorted(sums):
            total = execute(connection, self._spending, (scope, *sums[scope])).fetchone()
            later.append(lambda scope=scope, total=total: self.spent.update({scope: tuple(total)}))  # type: ignore[misc]


def first_difference(stored: dict[str, str], asked: dict[str, str]) -> str:
    """The first named part whose hash differs, in the order of the new request; then parts that are gone."""
    for name in [*asked, *stored]:
        if stored.get(name) != asked.get(name):
            return name
    return "request"


def _spending(dialect: Dialect) -> str:
    """Adds USD and tokens to a scope; returns its sums. Compiled once: that costs more than running it."""
    insert = insert_into(dialect, BUDGETS).values({column.name: bindparam(column.name) for column in BUDGETS.c})
    columns, new = BUDGETS.c, insert.excluded
    sums = {"usd": columns.usd + new.usd, "tokens": columns.tokens + new.tokens}
    adding = insert.on_conflict_do_update(index_elements=[columns.scope], set_=sums)
    compiled = adding.returning(columns.usd, columns.tokens).compile(dialect=dialect)
    if compiled.positiontup != ["scope", "usd", "tokens"]:
        raise AssertionError("what is spent is not bound in table order")
    return compiled.string


def _replace_value(insert: Insert) -> Insert:
    return insert.on_conflict_do_update(index_elements=[VERDICTS.c.verdict_key], set_={"value": insert.excluded.value})
