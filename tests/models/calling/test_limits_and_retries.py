"""Adaptive concurrency, rates, pauses: each on a clock of the test's own."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from tenacity import RetryCallState

from lic_pipeline.models.calling.concurrency_limit import REREAD_SECONDS, AdaptiveLimit
from lic_pipeline.models.calling.rate_limits import TokenBucket
from lic_pipeline.models.errors import RateLimitError, TransientError
from lic_pipeline.models.registry import Patience
from lic_pipeline.models.retries import RetryPauses, retry_after


class Clock:
    """Time that passes only when slept."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_the_level_falls_on_a_rate_limit_and_rises_again() -> None:
    clock = Clock()
    limit = AdaptiveLimit(20, clock=clock)
    assert limit.level == 20
    clock.now = 1.0
    limit.limited(started_at=0.5)
    assert limit.level == 14
    limit.limited(started_at=0.6)
    assert limit.level == 14, "a call sent before the step down says nothing new"
    clock.now = 2.0
    limit.limited(started_at=1.5)
    assert limit.level == 9
    for _ in range(100):
        limit.succeeded()
    assert limit.level == 20


def test_the_level_never_falls_below_one() -> None:
    clock = Clock()
    limit = AdaptiveLimit(4, clock=clock)
    for second in range(1, 30):
        clock.now = float(second)
        limit.limited(started_at=clock.now)
    assert limit.level == 1


def test_live_runs_share_the_limit_and_are_reread() -> None:
    clock, live = Clock(), [1]

    async def run() -> list[int]:
        limit = AdaptiveLimit(12, lambda: live[0], clock)
        shares = []
        for count in (1, 3, 24, 1):
            live[0] = count
            clock.now += REREAD_SECONDS + 1
            await limit.acquire()
            limit.release()
            shares.append(limit.level)
        return shares

    assert asyncio.run(run()) == [12, 4, 1, 12]


def test_a_waiter_cancelled_while_slots_are_handed_out_is_cancelled_and_nothing_else() -> None:
    async def run() -> list[BaseException | None]:
        limit = AdaptiveLimit(1)
        await limit.acquire()
        tasks = [asyncio.ensure_future(limit.acquire()) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        limit.release()  # before the cancelled task runs: its place in the queue is passed over
        done = await asyncio.gather(*tasks[:2], return_exceptions=True)
        limit.release()
        await tasks[2]
        assert (limit.in_flight, limit.waiting) == (1, 0)
        return done

    cancelled, served = asyncio.run(run())
    assert isinstance(cancelled, asyncio.CancelledError)
    assert served is None


def test_slots_go_to_who_waited_longest_and_none_is_lost_to_a_cancelled_one() -> None:
    async def run() -> list[str]:
        limit = AdaptiveLimit(1)
        order: list[str] = []

        async def take(name: str) -> None:
            await limit.acquire()
            order.append(name)
            await asyncio.sleep(0)
            limit.release()

        await limit.acquire()
        tasks = {name: asyncio.ensure_future(take(name)) for name in "abcd"}
        await asyncio.sleep(0)
        assert limit.waiting == 4
        tasks["b"].cancel()
        limit.release()
        tasks["a"].cancel()  # It was handed the slot in this very moment and must give it back.
        await asyncio.wait_for(asyncio.gather(tasks["c"], tasks["d"]), 5)
        assert limit.in_flight == 0
        return order

    assert asyncio.run(run()) == ["c", "d"]


@pytest.mark.parametrize("per_minute", [1, 7, 60, 1200, 60_000])
def test_no_minute_sees_more_than_the_limit(per_minute: int) -> None:
    async def run() -> list[float]:
        clock = Clock()
        bucket = TokenBucket(per_minute, clock, clock.sleep)
        times = []
        for _ in range(min(3 * per_minute, 20_000)):
            await bucket.take()
            times.append(clock.now)
        return times

    times = asyncio.run(run())
    first = 0
    for last, moment in enumerate(times):
        while moment - times[first] >= 60.001:
            first += 1
        assert last - first + 1 <= per_minute + 1
    assert times[-1] <= 60 * len(times) / per_minute * 1.05


def test_what_was_underestimated_is_made_up_for() -> None:
    async def run() -> float:
        clock = Clock()
        bucket = TokenBucket(6000, clock, clock.sleep)
        await bucket.take(100)
        bucket.correct(900)
        await bucket.take(100)
        return clock.now

    assert asyncio.run(run()) == pytest.approx(11, rel=0.1)


def test_a_shared_rate_is_divided() -> None:
    async def run() -> float:
        clock = Clock()
        bucket = TokenBucket(600, clock, clock.sleep)
        bucket.share(3)
        for _ in range(21):
            await bucket.take()
        return clock.now

    assert asyncio.run(run()) == pytest.approx(6, rel=0.05)


NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": ""}, None),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "inf"}, None),
        ({"Retry-After": "Sun, 01 Mar 2026 12:00:30 GMT"}, 30.0),
        ({"Retry-After": "Sun, 01 Mar 2026 11:00:00 GMT"}, 0.0),
        ({"Retry-After": "Sun, 01 Mar 2026 12:00:30 GMT", "Date": "Sun, 01 Mar 2026 12:00:10 GMT"}, 20.0),
        ({"Retry-After": "Sun, 99 Mar 2026 12:00:30 GMT"}, None),
        ({"Retry-After-Ms": "250", "Retry-After": "9"}, 0.25),
    ],
)
def test_retry_after(headers: Mapping[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


def pause(error: Exception, attempt: int, draw: float, **patience: Any) -> float:
    state = RetryCallState(None, None, (), {})  # type: ignore[arg-type]
    state.attempt_number = attempt
    state.set_exception((type(error), error, None))
    return RetryPauses(Patience.model_validate(patience), lambda: draw)(state)


def test_pauses_double_with_jitter_up_to_the_longest() -> None:
    fault = TransientError("x")
    assert [pause(fault, n, 1.0, first_pause_s=1, longest_pause_s=10) for n in (1, 2, 3, 4, 5, 99)] == [
        1, 2, 4, 8, 10, 10,
    ]  # fmt: skip
    assert pause(fault, 3, 0.0, first_pause_s=1) == 2


def test_a_header_wins_over_the_pause_and_is_capped() -> None:
    limited = RateLimitError("x", retry_after=50)
    assert pause(limited, 1, 0.0) == 50
    assert pause(limited, 1, 1.0) == 51
    assert pause(limited, 1, 0.0, retry_after_cap_s=20) == 20
