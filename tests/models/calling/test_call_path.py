"""The call path against a misbehaving server: attempts, pauses, limits, circuit breaker, budget, records."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from fault_server import TRANSIENT, FaultServer

from lic_pipeline.errors import ConfigError
from lic_pipeline.models import errors
from lic_pipeline.models.budget import Budget, BudgetWatch, require_countable
from lic_pipeline.models.calling.call_path import CallPath
from lic_pipeline.models.calling.concurrency_limit import REREAD_SECONDS, AdaptiveLimit
from lic_pipeline.models.calling.heartbeat import heartbeat
from lic_pipeline.models.calling.model_access import ModelAccess
from lic_pipeline.models.calling.permanent_errors import REFUSALS_IN_A_ROW
from lic_pipeline.models.clients import open_client
from lic_pipeline.models.ledger import Ledger
from lic_pipeline.models.ledger.records import CallKey
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.models.request import ModelRequest
from lic_pipeline.records import Message, Reply, Usage

KEY = CallKey("assistant", 1)


def request(text: str = "What is 3 plus 4?") -> ModelRequest:
    return ModelRequest("local/fake", (Message(role="user", content=text),), {"max_tokens": 9})


class Records:
    """Stands for the ledger: keeps tries and spending."""

    def __init__(self) -> None:
        self.tries: list[tuple[str, str, int | None, str]] = []
        self.spent: dict[str, tuple[float, int]] = {}

    def record_try(
        self, conversation_id: str, key: CallKey, outcome: str, status: int | None, detail: str, latency: float | None
    ) -> None:
        assert latency is not None
        assert latency >= 0
        self.tries.append((conversation_id, outcome, status, detail))

    def add_spend(self, scope: str, usd: float, tokens: int) -> None:
        old = self.spent.get(scope, (0.0, 0))
        self.spent[scope] = (old[0] + usd, old[1] + tokens)

    def budget(self, scope: str) -> tuple[float, int]:
        return self.spent.get(scope, (0.0, 0))

    budget_seen = budget

    @property
    def outcomes(self) -> Counter[str]:
        return Counter(outcome for _, outcome, _, _ in self.tries)


def on_path(
    entry: ModelEntry, use: Callable[[CallPath], Awaitable[Any]], records: Records, budget: Budget | None = None
) -> Any:
    """What ``use`` makes of an open call path."""

    async def run() -> Any:
        watch = None if budget is None else BudgetWatch(budget, records)
        limit = AdaptiveLimit(entry.limits.concurrency)
        path = CallPath(entry, await open_client(entry, entry.limits.concurrency), limit, records, watch)
        try:
            return await use(path)
        finally:
            await path.close()

    return asyncio.run(run())


async def many(path: CallPath, count: int) -> list[Any]:
    """Replies and errors of so many different calls at once."""
    calls = (path.complete(request(f"call {number} of 9"), f"c{number}", KEY) for number in range(count))
    return await asyncio.gather(*calls, return_exceptions=True)


@pytest.mark.parametrize("kind", [*TRANSIENT, "error200", "429_date"])
def test_a_passing_fault_is_tried_again_and_every_attempt_recorded(serve: Any, entry_for: Any, kind: str) -> None:
    server = serve([kind, kind, "ok"], retry_after_s=0.0)
    records = Records()
    reply = on_path(entry_for(server), lambda path: path.complete(request(), "c", KEY), records)
    assert reply.text
    assert server.requests == 3
    assert [outcome for _, outcome, _, _ in records.tries][2:] == ["ok"]
    assert len(records.tries) == 3


@pytest.mark.parametrize(
    ("kind", "error", "outcome"),
    [
        ("400", errors.PermanentError, "permanent"),
        ("400_context", errors.ContextOverflowError, "context"),
        ("401", errors.AccessError, "access"),
        ("404", errors.AccessError, "access"),
        ("429_quota", errors.AccessError, "access"),
    ],
)
def test_a_lasting_fault_is_not_tried_again(
    serve: Any, entry_for: Any, kind: str, error: type[Exception], outcome: str
) -> None:
    server = serve([kind])
    records = Records()
    with pytest.raises(error):
        on_path(entry_for(server), lambda path: path.complete(request(), "c", KEY), records)
    assert server.requests == 1
    assert records.outcomes == {outcome: 1}


@pytest.mark.parametrize(("kind", "cap", "least", "most"), [
    ("429_after", 10.0, 0.6, 1.5),
    ("429_date", 10.0, 0.0, 2.5),
    ("429_after", 0.1, 0.1, 0.5),
])  # fmt: skip
def test_retry_after_is_honoured_up_to_the_cap(
    serve: Any, entry_for: Any, kind: str, cap: float, least: float, most: float
) -> None:
    server = serve([kind, "ok"], retry_after_s=2.0 if kind == "429_date" else 0.6)
    entry = entry_for(server, patience={"retry_after_cap_s": cap})
    on_path(entry, lambda path: path.complete(request(), "c", KEY), Records())
    assert least <= server.times[1] - server.times[0] <= most


@pytest.mark.parametrize("kind", ["hang", "drip"])
def test_an_attempt_that_takes_too_long_is_ended_and_tried_again(serve: Any, entry_for: Any, kind: str) -> None:
    server = serve([kind, "ok"], drip_s=0.1)
    records = Records()
    entry = entry_for(server, patience={"attempt_s": 0.3})
    started = time.monotonic()
    on_path(entry, lambda path: path.complete(request(), "c", KEY), records)
    assert time.monotonic() - started < 3
    assert records.outcomes == {"timeout": 1, "ok": 1}


def test_a_call_gives_up_after_its_attempts_and_says_so(serve: Any, entry_for: Any) -> None:
    server = serve(chance={"500": 1.0})
    with pytest.raises(errors.TransientError, match=r"HTTP 500.*gave up after 3 attempts"):
        on_path(entry_for(server, patience={"attempts": 3}), lambda path: path.complete(request(), "c", KEY), Records())
    assert server.requests == 3


def test_a_call_gives_up_after_its_total_time(serve: Any, entry_for: Any) -> None:
    server = serve(chance={"429_after": 1.0}, retry_after_s=0.2)
    entry = entry_for(server, patience={"total_s": 0.7})
    started = time.monotonic()
    with pytest.raises(errors.RateLimitError):
        on_path(entry, lambda path: path.complete(request(), "c", KEY), Records())
    assert time.monotonic() - started < 3
    assert 2 <= server.requests <= 4


def test_a_filtered_prompt_is_a_reply_that_costs_nothing(serve: Any, entry_for: Any) -> None:
    server = serve(["400_filter"])
    reply = on_path(entry_for(server), lambda path: path.complete(request(), "c", KEY), Records())
    assert (reply.text, reply.finish_reason, reply.cost_usd) == ("", "content_filter", 0.0)
    assert reply.flags == ("prompt_filtered",)


def test_no_access_stops_all_calls_at_once(serve: Any, entry_for: Any) -> None:
    server = serve(["401"], delay_s=0.02)
    results = on_path(entry_for(server, limits={"concurrency": 4}), lambda path: many(path, 40), Records())
    assert server.requests <= 2 * 4
    assert sum(isinstance(result, errors.AccessError) for result in results) >= 40 - 2 * 4


def test_requests_refused_from_the_start_stop_the_run(serve: Any, entry_for: Any) -> None:
    server = serve(chance={"400": 1.0})
    results = on_path(entry_for(server, limits={"concurrency": 1}), lambda path: many(path, 30), Records())
    assert server.requests == REFUSALS_IN_A_ROW
    assert type(results[-1]) is errors.AccessError
    assert "refused the first 8 requests" in str(results[-1])


def test_calls_that_pause_when_the_run_stops_say_why(serve: Any, entry_for: Any) -> None:
    server = serve(["429_after", "401"], retry_after_s=0.3)
    results = on_path(entry_for(server, limits={"concurrency": 2}), lambda path: many(path, 2), Records())
    assert [type(result) for result in results] == [errors.AccessError, errors.AccessError]
    assert server.requests == 2


def test_runs_on_one_ledger_share_a_limit(serve: Any, entry_for: Any, tmp_path: Path) -> None:
    server = serve(delay_s=0.02)
    entry = entry_for(server, limits={"concurrency": 8})

    async def run() -> None:
        with Ledger.open(tmp_path) as one, Ledger.open(tmp_path) as two:
            runs = [ModelAccess(one), ModelAccess(two)]
            paths = [await access.path(entry) for access in runs]
            for path in paths:
                await path.complete(request("first"), "c", KEY)
            # The first run reads the number of live runs again only after a while.
            await asyncio.sleep(REREAD_SECONDS + 0.1)
            server.most_in_flight = 0
            results = await asyncio.gather(*(many(path, 40) for path in paths))
            assert all(isinstance(reply, Reply) for replies in results for reply in replies)
            for access in runs:
                await access.close()

    asyncio.run(run())
    assert server.most_in_flight == 8


def test_one_bad_request_does_not_stop_the_others(serve: Any, entry_for: Any) -> None:
    server = serve(["400", *["ok"] * 30, *["400"] * 12, "ok"])
    results = on_path(entry_for(server, limits={"concurrency": 1}), lambda path: many(path, 44), Records())
    assert sum(isinstance(result, Reply) for result in results) == 31
    assert sum(type(result) is errors.PermanentError for result in results) == 13


def test_what_cannot_fit_is_not_sent(serve: Any, entry_for: Any) -> None:
    server = serve()
    entry = entry_for(server, context_window=100)
    with pytest.raises(errors.ContextOverflowError, match="do not fit the 100 of fake"):
        on_path(entry, lambda path: path.complete(request("x" * 400), "c", KEY), Records())
    assert server.requests == 0


def test_never_more_in_flight_than_the_entry_allows_and_one_connection_each(serve: Any, entry_for: Any) -> None:
    server = serve(delay_s=0.01)
    on_path(entry_for(server, limits={"concurrency": 7}), lambda path: many(path, 100), Records())
    assert server.most_in_flight == 7
    assert server.connections == 7


def test_concurrency_adapts_to_what_the_provider_bears(serve: Any, entry_for: Any) -> None:
    server = serve(delay_s=0.005, allowed=4)
    records = Records()
    results = on_path(entry_for(server, limits={"concurrency": 32}), lambda path: many(path, 400), records)
    assert all(isinstance(result, Reply) for result in results)
    late = records.tries[len(records.tries) // 2 :]
    limited = sum(outcome == "rate_limit" for _, outcome, _, _ in late)
    assert limited < 0.5 * len(late)


def test_requests_a_minute_are_paced(serve: Any, entry_for: Any) -> None:
    server = serve()
    entry = entry_for(server, limits={"concurrency": 16, "rpm": 1200})
    on_path(entry, lambda path: many(path, 30), Records())
    assert 1.2 <= server.times[-1] - server.times[0] <= 3


def test_a_cancelled_call_is_recorded_and_frees_its_slot(serve: Any, entry_for: Any) -> None:
    server = serve(["hang", "ok"])
    records = Records()

    async def use(path: CallPath) -> Reply:
        call = asyncio.ensure_future(path.complete(request(), "c", KEY))
        await asyncio.sleep(0.2)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return await path.complete(request(), "c", KEY)

    assert on_path(entry_for(server, limits={"concurrency": 1}), use, records).text
    assert records.outcomes == {"cancelled": 1, "ok": 1}


def test_whatever_a_client_raises_is_a_failed_call() -> None:
    class Broken:
        async def complete(self, request: ModelRequest) -> Reply:
            raise ZeroDivisionError("a bug of a library")

        async def close(self) -> None:
            return None

    async def run() -> None:
        entry = ModelEntry.model_validate(
            {"alias": "x", "id": "local/x", "patience": {"attempts": 2, "first_pause_s": 0.001}}
        )
        path = CallPath(entry, Broken(), AdaptiveLimit(2), Records())
        with pytest.raises(errors.TransientError, match="ZeroDivisionError"):
            await path.complete(request(), "c", KEY)

    asyncio.run(run())


# -- budget -----------------------------------------------------------------------------------------------------------

PRICE = {"prompt": 1_000_000, "completion": 0}


def test_the_overshoot_of_a_budget_is_at_most_the_calls_in_flight(serve: Any, entry_for: Any) -> None:
    server = serve(delay_s=0.01)
    entry = entry_for(server, limits={"concurrency": 4}, price=PRICE)
    results = on_path(entry, lambda path: many(path, 60), Records(), Budget("run", usd=40))
    paid = sum(result.cost_usd for result in results if isinstance(result, Reply))
    assert all(isinstance(result, Reply | errors.BudgetError) for result in results)
    assert 40 <= paid <= 40 + 4 * 4
    assert server.answered == sum(isinstance(result, Reply) for result in results)


def test_tokens_count_where_the_provider_reports_none(serve: Any, entry_for: Any) -> None:
    server = serve(chance={"no_usage": 1.0})
    records = Records()
    results = on_path(
        entry_for(server, limits={"concurrency": 1}), lambda path: many(path, 50), records, Budget("run", tokens=100)
    )
    assert 2 <= server.answered <= 12
    assert type(results[-1]) is errors.BudgetError
    assert "100 tokens" in str(results[-1])
    assert records.spent["run"][1] >= 100


def test_a_used_up_budget_sends_nothing(serve: Any, entry_for: Any) -> None:
    server = serve()
    records = Records()
    records.add_spend("run", 5.0, 10)
    with pytest.raises(errors.BudgetError, match=r"\$5.0000 of \$5.0000"):
        on_path(entry_for(server), lambda path: path.complete(request(), "c", KEY), records, Budget("run", usd=5))
    assert server.requests == 0
    assert records.tries == []


def test_an_unknown_price_needs_a_token_budget() -> None:
    unpriced = ModelEntry(alias="own", id="local/own", base_url="http://127.0.0.1:9/v1")
    priced = ModelEntry.model_validate({"alias": "p", "id": "local/p", "price": {"prompt": 1, "completion": 2}})
    with pytest.raises(ConfigError, match="price of own is unknown"):
        require_countable(Budget("run", usd=1), [priced, unpriced])
    require_countable(Budget("run", usd=1, tokens=10), [unpriced])
    require_countable(Budget("run", usd=1), [priced])
    require_countable(None, [unpriced])


@pytest.mark.parametrize("fields", [{"usd": -1.0}, {"tokens": -1}, {"usd": float("nan")}])
def test_a_budget_is_not_negative(fields: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        Budget("run", **fields)


# -- heartbeat --------------------------------------------------------------------------------------------------------


def test_silence_is_explained(serve: Any, entry_for: Any, caplog: pytest.LogCaptureFixture) -> None:
    server = serve(["hang", "hang"])
    entry = entry_for(server, limits={"concurrency": 2}, patience={"attempt_s": 0.7, "attempts": 1})

    async def use(path: CallPath) -> None:
        beat = asyncio.ensure_future(heartbeat(lambda: [path], silence_s=0.2, look_s=0.02))
        calls = [asyncio.ensure_future(path.complete(request(), "c", KEY)) for _ in range(3)]
        await asyncio.sleep(0.5)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        beat.cancel()

    with caplog.at_level(logging.WARNING, "lic"):
        on_path(entry, use, Records())
    said = [record.getMessage() for record in caplog.records if "nothing has come back" in record.getMessage()]
    assert 1 <= len(said) <= 3
    assert "2 replies of fake" in said[0]
    assert "a slot for 1 calls of fake" in said[0]


def test_attempts_that_fail_again_and_again_are_no_movement(
    serve: Any, entry_for: Any, caplog: pytest.LogCaptureFixture
) -> None:
    server = serve(chance={"500": 1.0})
    entry = entry_for(server, limits={"concurrency": 2}, patience={"attempts": 100, "total_s": 1.0})

    async def use(path: CallPath) -> None:
        beat = asyncio.ensure_future(heartbeat(lambda: [path], silence_s=0.3, look_s=0.02))
        with pytest.raises(errors.TransientError):
            await path.complete(request(), "c", KEY)
        beat.cancel()

    with caplog.at_level(logging.WARNING, "lic"):
        on_path(entry, use, Records())
    assert server.requests > 5
    said = [record.getMessage() for record in caplog.records if "nothing has come back" in record.getMessage()]
    assert any("try again later (500)" in line for line in said), said  # One may come while a reply is under way.


def test_a_run_that_moves_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    class Moving:
        moved_at = 0.0

        def waits_for(self, now: float) -> str:
            return "something"

    async def run() -> None:
        path = Moving()
        beat = asyncio.ensure_future(heartbeat(lambda: [path], silence_s=0.2, look_s=0.01))
        for _ in range(20):
            path.moved_at = time.monotonic()
            await asyncio.sleep(0.02)
        beat.cancel()

    with caplog.at_level(logging.WARNING, "lic"):
        asyncio.run(run())
    assert caplog.records == []


def test_usage_is_priced(serve: Any, entry_for: Any) -> None:
    server: FaultServer = serve(["details", "no_usage"], answer=lambda body: "a b c")
    entry = entry_for(server, price={"prompt": 2, "completion": 8, "cached": 1})

    async def use(path: CallPath) -> tuple[Reply, Reply]:
        return await path.complete(request(), "c", KEY), await path.complete(request(), "c", KEY)

    priced, unknown = on_path(entry, use, Records())
    assert priced.usage == Usage(prompt=5, completion=3, reasoning=3, cached=2)
    assert priced.cost_usd == pytest.approx((3 * 2 + 2 * 1 + 3 * 8) / 1e6)
    assert unknown.cost_usd is None
