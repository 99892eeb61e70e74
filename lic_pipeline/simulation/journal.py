"""The journal of one conversation: calls and decisions are read where they are stored, made and recorded where not.

A stored call with the same key and another request is drift: nothing is called, nothing overwritten.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from lic_pipeline.errors import DriftError
from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.ledger.records import CallKey, StoredConversation
from lic_pipeline.models.redaction import redact
from lic_pipeline.models.request import REQUEST_FIELDS, request_hash
from lic_pipeline.records import Json, Reply

Send = Callable[[], Awaitable[Reply]]


class Journal:
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
        self.calls_made = 0
        self.cost_usd = 0.0

    async def call(self, key: CallKey, fields: dict[str, str], send: Send) -> Reply:
        """The stored reply of this key, or the one ``send`` brings, stored durably first. Raises DriftError."""
        wanted = request_hash(fields)
        stored = self._calls.get(key)
        if stored is not None and stored.request_hash == wanted:
            return Reply.model_validate(stored.reply)
        # A call of an older epoch is superseded, not drifted: --accept-drift asked for that.
        if stored is not None and stored.epoch >= self._epoch:
            differs = next((f for f in REQUEST_FIELDS if stored.request_fields.get(f) != fields[f]), "request")
            raise DriftError(self.conversation_id, str(key), differs)
        started = time.perf_counter()
        reply = without_secrets(await send())
        self.calls_made += 1
        self.cost_usd += reply.cost_usd or 0.0
        latency = time.perf_counter() - started
        await self._ledger.record_call(
            self.conversation_id, key, wanted, fields, reply.model_dump(mode="json"), latency,
            model=fields["model"], budget_scope=self._budget_scope,
        )  # fmt: skip
        return reply

    def decision(self, kind: str, turn: int) -> Json | None:
        """The stored decision, None when there is none."""
        found = self._decisions.get((kind, turn))
        return None if found is None else found.value

    def decide(self, kind: str, turn: int, value: Json, version: str) -> None:
        """Record a decision."""
        self._ledger.record_decision(self.conversation_id, kind, turn, value, version)


def without_secrets(reply: Reply) -> Reply:
    """The reply as the ledger will keep it, so that a conversation and its replay read the same text."""
    text, reasoning = redact(reply.text), redact(reply.reasoning)
    if text == reply.text and reasoning == reply.reasoning:
        return reply
    return reply.model_copy(update={"text": text, "reasoning": reasoning, "flags": (*reply.flags, "redacted")})
