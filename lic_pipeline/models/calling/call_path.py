"""The one way to a real model: limits, budget, attempts, pauses, records. A client makes one attempt, this the call.

Every HTTP attempt becomes a row of ``tries``. The reply itself is stored by the conversation's call store.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Protocol

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception

from lic_pipeline.models.budget import BudgetWatch, SpendRecords
from lic_pipeline.models.calling.concurrency_limit import AdaptiveLimit
from lic_pipeline.models.calling.heartbeat import CallsUnderWay
from lic_pipeline.models.calling.permanent_errors import PermanentErrors
from lic_pipeline.models.calling.rate_limits import TokenBucket
from lic_pipeline.models.clients import ModelClient
from lic_pipeline.models.clients.error_classes import connection_error, describe
from lic_pipeline.models.errors import (
    CallError,
    CallTimeoutError,
    ContentFilteredError,
    ContextOverflowError,
    RateLimitError,
)
from lic_pipeline.models.ledger.records import CallKey
from lic_pipeline.models.prices import price_of
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.models.request import ModelRequest
from lic_pipeline.models.retries import RetryPauses
from lic_pipeline.models.tokens import estimate_request, usage_of_call
from lic_pipeline.records import Reply, Usage

_OVERLOADED = frozenset({429, 503, 529})


class CallRecords(SpendRecords, Protocol):
    """What a call path writes to the ledger."""

    def record_try(
        self,
        conversation_id: str,
        key: CallKey,
        outcome_class: str,
        status: int | None,
        detail_redacted: str,
        latency: float | None,
    ) -> None:
        """One attempt."""


class _Spent:
    """Seconds a call has spent in attempts and pauses; waiting for a slot is not the provider's fault."""

    seconds = 0.0


class CallPath:
    """Calls to one registry entry, from one event loop. ``slots``: calls in flight of the run, whatever the entry."""

    def __init__(
        self,
        entry: ModelEntry,
        client: ModelClient,
        limit: AdaptiveLimit,
        records: CallRecords,
        watch: BudgetWatch | None = None,
        slots: asyncio.Semaphore | None = None,
    ) -> None:
        self.entry = entry
        self.client = client
        self._limit = limit
        self._records = records
        self._watch = watch
        self._price = price_of(entry)
        self._own = asyncio.Semaphore(entry.limits.concurrency)
        self._slots: AbstractAsyncContextManager[None] = nullcontext() if slots is None else slots
        self._requests = TokenBucket(entry.limits.rpm) if entry.limits.rpm else None
        self._tokens = TokenBucket(entry.limits.tpm) if entry.limits.tpm else None
        self._pauses = RetryPauses(entry.patience)
        self._waiting = CallsUnderWay()
        self._refusals = PermanentErrors(entry)

    async def complete(self, request: ModelRequest, conversation_id: str, key: CallKey) -> Reply:
        """The reply to a request, after as many attempts as the entry's patience allows. Raises CallError."""
        self._require_fit(request)
        spent = _Spent()
        self._waiting.begin()
        try:
            return await self._attempt(request, conversation_id, key, spent)
        except ContentFilteredError:
            return _filtered()
        except CallError as error:
            if not error.retried:
                raise
            return await self._again(error, request, conversation_id, key, spent)
        finally:
            self._waiting.end()

    async def _again(
        self, first: CallError, request: ModelRequest, conversation_id: str, key: CallKey, spent: _Spent
    ) -> Reply:
        """Go on after a failed attempt. Apart, so that a call that succeeds at once pays for no machinery."""
        failed: list[CallError] = [first]

        async def attempt() -> Reply:
            if failed:
                raise failed.pop()
            return await self._attempt(request, conversation_id, key, spent)

        retrying = AsyncRetrying(
            retry=retry_if_exception(lambda error: isinstance(error, CallError) and error.retried),
            wait=self._pauses,
            stop=lambda state: self._gives_up(state, spent),
            sleep=lambda seconds: self._pause(seconds, spent),
            reraise=True,
        )
        try:
            return await retrying(attempt)
        except ContentFilteredError:
            return _filtered()
        except CallError as error:
            if not error.retried:
                raise
            # Another call has met the reason to stop: this conversation stays open, it did not fail by itself.
            self._refuse_if_over()
            tried = retrying.statistics.get("attempt_number", 1)
            message = f"{self.entry.alias}: {error} (gave up after {tried} attempts)"
            raise type(error)(message, status=error.status, retry_after=error.retry_after) from error

    async def close(self) -> None:
        """Close the client."""
        await self.client.close()

    @property
    def moved_at(self) -> float:
        """When something last moved (monotonic seconds)."""
        return self._waiting.moved_at

    def waits_for(self, now: float) -> str:
        """What calls of this path wait for, for the heartbeat."""
        return self._waiting.described(now, self.entry.alias, f"{self._limit.level} of {self._limit.most}")

    def _require_fit(self, request: ModelRequest) -> None:
        """What surely does not fit is not sent; what may fit is left to the provider, whose refusal costs nothing."""
        window = self.entry.context_window
        needed = estimate_request(request) if window is not None else 0
        if window is not None and needed > window:
            raise ContextOverflowError(f"about {needed} tokens do not fit the {window} of {self.entry.alias}")

    async def _attempt(self, request: ModelRequest, conversation_id: str, key: CallKey, spent: _Spent) -> Reply:
        estimate = estimate_request(request) if self._tokens is not None else 0
        async with self._own, self._slots:
            await self._limit.acquire()
            try:
                await self._take_turn(estimate)
                self._refuse_if_over()
                return await self._send(request, conversation_id, key, spent, estimate)
            finally:
                self._limit.release()

    async def _take_turn(self, estimate: int) -> None:
        for bucket, amount in ((self._requests, 1), (self._tokens, estimate)):
            if bucket is not None:
                bucket.share(self._limit.live)
                await bucket.take(amount)

    def _refuse_if_over(self) -> None:
        self._refusals.require_none()
        if self._watch is not None:
            self._watch.check()

    async def _send(
        self, request: ModelRequest, conversation_id: str, key: CallKey, spent: _Spent, estimate: int
    ) -> Reply:
        patience = self.entry.patience
        seconds = min(patience.attempt_s, max(0.001, patience.total_s - spent.seconds))
        number, started = self._waiting.sent()
        outcome, status, detail = "cancelled", None, ""
        try:
            reply = await self._once(request, seconds)
            outcome, status = "ok", 200
        except CallError as error:
            outcome, status, detail = error.outcome, error.status, str(error)
            raise self._failed(error, started) from error.__cause__
        finally:
            latency = self._waiting.ended(number)
            spent.seconds += latency
            self._records.record_try(conversation_id, key, outcome, status, describe(detail) if detail else "", latency)
        self._succeeded(request, reply, estimate)
        return reply

    async def _once(self, request: ModelRequest, seconds: float) -> Reply:
        """The client's reply within ``seconds``; whatever a client library raises becomes a CallError."""
        try:
            async with asyncio.timeout(seconds):
                return await self.client.complete(request)
        except CallError:
            raise
        except TimeoutError:
            raise CallTimeoutError(f"no complete reply within {seconds:g} s") from None
        except Exception as cause:
            raise connection_error(cause) from cause

    def _succeeded(self, request: ModelRequest, reply: Reply, estimate: int) -> None:
        self._refusals.answered()
        self._limit.succeeded()
        usage = usage_of_call(request, reply)
        tokens = (usage.prompt or 0) + (usage.completion or 0)
        if self._tokens is not None:
            self._tokens.correct(tokens - estimate)
        if self._watch is not None:
            price = self._price.cost(usage) if self._price else None
            self._watch.answered(reply, tokens, price or 0.0, self._records)

    def _failed(self, error: CallError, started: float) -> CallError:
        """Learn from a failure; returns the error to raise."""
        self._waiting.last_error = describe(f"{error.outcome}: {error}")
        if isinstance(error, RateLimitError) or error.status in _OVERLOADED:
            self._limit.limited(started)
        return self._refusals.met(error)

    def _gives_up(self, state: RetryCallState, spent: _Spent) -> bool:
        patience = self.entry.patience
        if self._refusals.ending is not None or state.attempt_number >= patience.attempts:
            return True
        return spent.seconds + state.upcoming_sleep >= patience.total_s

    async def _pause(self, seconds: float, spent: _Spent) -> None:
        self._waiting.pausing += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self._waiting.pausing -= 1
            spent.seconds += seconds


def _filtered() -> Reply:
    """A refused request as a reply: empty, free of charge, marked."""
    return Reply(
        text="",
        finish_reason="content_filter",
        usage=Usage(prompt=0, completion=0),
        cost_usd=0.0,
        flags=("prompt_filtered",),
    )
