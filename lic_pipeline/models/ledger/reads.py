"""Questions to the ledger: plain functions from a reader's connection to records. Nothing here writes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, func, select

from lic_pipeline.models.ledger.records import (
    CallKey,
    CallTotals,
    Decision,
    StoredCall,
    StoredConversation,
    Totals,
)
from lic_pipeline.models.ledger.schema import BLOBS, BUDGETS, CALLS, CONVERSATIONS, DECISIONS, TRIES, VERDICTS
from lic_pipeline.models.ledger.statements import chunks
from lic_pipeline.records import Json

_CHUNK = 1000
_LOADED = 250
"""Conversations per query when their replies are read: bounds what is held twice."""


def read_states(connection: Connection, ids: Sequence[str]) -> dict[str, str]:
    """State of each known conversation among ``ids``."""
    states: dict[str, str] = {}
    statement = select(CONVERSATIONS.c.conversation_id, CONVERSATIONS.c.state)
    for part in chunks(ids, _CHUNK):
        rows = connection.execute(statement.where(CONVERSATIONS.c.conversation_id.in_(part))).all()
        states.update((row[0], row[1]) for row in rows)
    return states


def read_ids(connection: Connection, state: str | None) -> list[str]:
    """Ids of all conversations, or of those in one state, in order."""
    statement = select(CONVERSATIONS.c.conversation_id).order_by(CONVERSATIONS.c.conversation_id)
    if state is not None:
        statement = statement.where(CONVERSATIONS.c.state == state)
    return list(connection.execute(statement).scalars())


def read_conversations(connection: Connection, ids: Sequence[str]) -> dict[str, StoredConversation]:
    """Known conversations among ``ids`` with their calls and decisions, of each key the latest epoch."""
    found: dict[str, StoredConversation] = {}
    for part in chunks(ids, _LOADED):
        table = CONVERSATIONS.c
        columns = (table.conversation_id, table.state, table.stop_reason, table.epoch)
        for row in connection.execute(select(*columns).where(table.conversation_id.in_(part))):
            found[row[0]] = StoredConversation(row[0], row[1], row[2], row[3])
        _add_calls(connection, part, found)
        _add_decisions(connection, part, found)
    return found


def _add_calls(connection: Connection, ids: Sequence[str], found: dict[str, StoredConversation]) -> None:
    table = CALLS.c
    columns = (table.conversation_id, table.role, table.turn, table.ask, table.request_hash, table.request_fields)
    statement = select(*columns, table.reply, table.latency_s, table.epoch).where(table.conversation_id.in_(ids))
    loads = json.loads
    # Ordered by the unique key: later epochs overwrite earlier ones, and dictionaries come out in the same order.
    order = (table.conversation_id, table.epoch, table.role, table.turn, table.ask)
    for cid, role, turn, ask, digest, fields, reply, latency, epoch in connection.execute(
        statement.order_by(*order)
    ).all():
        key = CallKey(role, turn, ask)
        if cid in found:
            found[cid].calls[key] = StoredCall(key, digest, loads(fields), loads(reply), latency, epoch)


def _add_decisions(connection: Connection, ids: Sequence[str], found: dict[str, StoredConversation]) -> None:
    table = DECISIONS.c
    columns = (table.conversation_id, table.kind, table.turn, table.value, table.version, table.epoch)
    order = (table.conversation_id, table.epoch, table.kind, table.turn)
    statement = select(*columns).where(table.conversation_id.in_(ids)).order_by(*order)
    for cid, kind, turn, value, version, epoch in connection.execute(statement):
        if cid in found:
            found[cid].decisions[kind, turn] = Decision(kind, turn, json.loads(value), version, epoch)


def read_totals(connection: Connection) -> Totals:
    """Sums over the whole ledger, all epochs: what was paid for, not what is used."""
    totals = Totals()
    table = CALLS.c
    kinds = (table.prompt_tokens, table.completion_tokens, table.reasoning_tokens, table.cached_tokens, table.cost_usd)
    sums = [func.coalesce(func.sum(column), 0) for column in kinds]
    counts = (func.count(), func.count(table.cost_usd))
    statement = select(table.model, table.role, *counts, *sums).group_by(table.model, table.role)
    for model, role, count, priced, *parts in connection.execute(statement.order_by(table.model, table.role)):
        prompt, completion, reasoning, cached = (int(part) for part in parts[:4])
        cost = float(parts[4])
        totals.calls[model, role] = CallTotals(count, prompt, completion, reasoning, cached, cost, count - priced)
    state = CONVERSATIONS.c.state
    rows = connection.execute(select(state, func.count()).group_by(state).order_by(state))
    totals.conversations = {row[0]: row[1] for row in rows}
    outcome = TRIES.c.outcome
    rows = connection.execute(select(outcome, func.count()).group_by(outcome).order_by(outcome))
    totals.tries = {row[0]: row[1] for row in rows}
    return totals


def read_spend(connection: Connection, ids: Sequence[str]) -> dict[str, CallTotals]:
    """Sums of the calls of these conversations by role, all epochs."""
    found: dict[str, CallTotals] = {}
    table = CALLS.c
    kinds = (table.prompt_tokens, table.completion_tokens, table.reasoning_tokens, table.cached_tokens, table.cost_usd)
    sums = [func.coalesce(func.sum(column), 0) for column in kinds]
    statement = select(table.role, func.count(), func.count(table.cost_usd), *sums).group_by(table.role)
    for part in chunks(ids, _CHUNK):
        rows = connection.execute(statement.where(table.conversation_id.in_(part)).order_by(table.role))
        for role, count, priced, *parts in rows:
            prompt, completion, reasoning, cached = (int(one) for one in parts[:4])
            sums_of = CallTotals(count, prompt, completion, reasoning, cached, float(parts[4]), count - priced)
            found.setdefault(role, CallTotals()).add(sums_of)
    return found


def read_calls(connection: Connection) -> Iterator[dict[str, Json]]:
    """Every call as plain JSON, ordered by conversation, epoch, role, turn and ask; rows stream."""
    table = CALLS.c
    order = (table.conversation_id, table.epoch, table.role, table.turn, table.ask)
    statement = select(CALLS).order_by(*order).execution_options(yield_per=_LOADED)
    for row in connection.execute(statement):
        fields = dict(row._mapping)
        yield {**fields, "request_fields": json.loads(row.request_fields), "reply": json.loads(row.reply)}


def read_verdict(connection: Connection, key: str) -> Json:
    """The cached verdict, None when unknown."""
    value = connection.execute(select(VERDICTS.c.value).where(VERDICTS.c.verdict_key == key)).scalar_one_or_none()
    return None if value is None else json.loads(value)


def read_verdicts(connection: Connection, keys: Sequence[str]) -> dict[str, dict[str, Json]]:
    """The cached verdicts among ``keys``."""
    found: dict[str, dict[str, Json]] = {}
    statement = select(VERDICTS.c.verdict_key, VERDICTS.c.value)
    for part in chunks(keys, _CHUNK):
        rows = connection.execute(statement.where(VERDICTS.c.verdict_key.in_(part))).all()
        found.update((row[0], json.loads(row[1])) for row in rows)
    return found


def read_blob(connection: Connection, digest: str) -> str | None:
    """The text of a blob, None when unknown."""
    content = connection.execute(select(BLOBS.c.content).where(BLOBS.c.hash == digest)).scalar_one_or_none()
    return None if content is None else bytes(content).decode("utf-8", "surrogatepass")


def read_budget(connection: Connection, scope: str) -> tuple[float, int]:
    """USD and tokens spent in a scope; (0, 0) when nothing was."""
    row = connection.execute(select(BUDGETS.c.usd, BUDGETS.c.tokens).where(BUDGETS.c.scope == scope)).one_or_none()
    return (0.0, 0) if row is None else (float(row[0]), int(row[1]))
