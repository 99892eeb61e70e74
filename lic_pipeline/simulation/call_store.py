"""The call store of one conversation: calls and decisions are read where they are stored, made and recorded where not.

A stored call with the same key and another request is drift: nothing is called, nothing overwritten. In a new epoch
what an older one holds is used as far as it still fits: calls while their request is the same, what the user said while
nothing was called anew, verdicts never (they are decided again by current code).
"""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from lic_pipeline.errors import DriftError
from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.ledger.records import CallKey, StoredConversation
from lic_pipeline.models.ledger.rows import encode
from lic_pipeline.models.redaction import redact, suspicious
from lic_pipeline.models.request import REQUEST_FIELDS, request_hash
from lic_pipeline.records import Json, Reply

Send = Callable[[], Awaitable[Reply]]

JUDGED = frozenset({"turn"})
"""Kinds of decisions that say what a reply is worth, not what was said."""


class CallStore:
    """Calls and decisions of one conversation.

    ``calls_made`` counts those really sent by this process, ``cost_usd`` what is known of their cost. What a call costs
    is added to ``budget_scope`` in the transaction that stores it.
    """

    def __init__(
        self,
        ledger: Ledger,
        conversation_id: str,
        stored: StoredConversation | None = None,
        budget_scope: str | None = None,
    ) -> None:
        self._ledger = ledger
        self.conversation_id = conversation_id
        self._calls = dict(stored.calls) if stored else {}
        self._decisions = dict(stored.decisions) if stored else {}
        self._epoch = stored.epoch if stored else 0
        self._budget_scope = budget_scope
        self._diverged = False
        self._used: set[CallKey | tuple[str, int]] = set()
        self.calls_made = 0
        self.cost_usd = 0.0

    async def call(self, key: CallKey, fields: dict[str, str], send: Send) -> Reply:
        """The stored reply of this key, or the one ``send`` brings, stored durably first. Raises DriftError."""
        wanted = request_hash(fields)
        self._used.add(key)
        stored = self._calls.get(key)
        if stored is not None and stored.request_hash == wanted:
            return Reply.model_validate(stored.reply)
        # A call of an older epoch is superseded, not drifted: --accept-drift asked for that.
        if stored is not None and stored.epoch >= self._epoch:
            differs = next((f for f in REQUEST_FIELDS if stored.request_fields.get(f) != fields[f]), "request")
            raise DriftError(self.conversation_id, str(key), differs)
        started = time.perf_counter()
        kept = redacted_reply(await send())
        latency = time.perf_counter() - started
        self._diverged = True
        self.calls_made += 1
        self.cost_usd += kept.reply.cost_usd or 0.0
        new = await self._ledger.record_call(
            self.conversation_id, key, wanted, fields, kept.document, latency,
            model=fields["model"], budget_scope=self._budget_scope, plain=kept.plain,
        )  # fmt: skip
        return kept.reply if new else self._first_answer(key)

    def _first_answer(self, key: CallKey) -> Reply:
        """What another process was answered to the same request: the ledger kept that, so it counts, not ours."""
        stored = self._ledger.load([self.conversation_id])[self.conversation_id].calls[key]
        return Reply.model_validate(stored.reply)

    def decision(self, kind: str, turn: int) -> Json | None:
        """The stored decision, None when there is none that still stands."""
        found = self._decisions.get((kind, turn))
        if found is None or (found.epoch < self._epoch and (kind in JUDGED or self._diverged)):
            return None
        return found.value

    def decide(self, kind: str, turn: int, value: Json, version: str) -> None:
        """Record a decision."""
        self._used.add((kind, turn))
        self._ledger.record_decision(self.conversation_id, kind, turn, value, version)

    def used(self, what: CallKey | tuple[str, int]) -> bool:
        """True when this conversation has asked for this call, or made the decision of this kind and turn, by now."""
        return what in self._used


class Redacted(NamedTuple):
    """A reply, its JSON as a document, and that as text without secrets."""

    reply: Reply
    document: dict[str, Json]
    plain: str


def redacted_reply(reply: Reply) -> Redacted:
    """The reply as the ledger will keep it: a conversation and its replay must read the same text."""
    document = reply.model_dump(mode="json")
    plain = encode(document)
    said = (reply.text, reply.reasoning, *(call.arguments for call in reply.tool_calls))
    if not any(suspicious(words) for words in (plain, *said)):
        return Redacted(reply, document, plain)
    # As the words stand first: a reply may be JSON itself, in which a secret is escaped as it is here once more.
    calls = [{**call, "arguments": redact(call["arguments"])} for call in document["tool_calls"]]
    clean = {"text": redact(reply.text), "reasoning": redact(reply.reasoning), "tool_calls": calls}
    redacted = redact(encode({**document, **clean}))
    if redacted == plain:
        return Redacted(reply, document, plain)
    document = json.loads(redacted)
    document["flags"].append("redacted")
    return Redacted(Reply.model_validate(document), document, encode(document))
