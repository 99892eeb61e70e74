"""Requests and tokens a minute: buckets that fill steadily, so that no minute sees more than the limit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

_BURST_SECONDS = 0.1
_MARGIN = 0.998
"""Leaves room for the burst inside any window of a minute."""


class TokenBucket:
    """A limit per minute. ``take`` waits for its turn; ``share`` is the part this process may use."""

    def __init__(
        self,
        per_minute: int,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._full_rate = per_minute / 60 * _MARGIN
        self._rate = self._full_rate
        self._clock = clock
        self._sleep = sleep
        self._capacity = max(1.0, self._rate * _BURST_SECONDS)
        self._level = self._capacity
        self._filled_at = clock()
        self._turn = asyncio.Lock()

    def share(self, live_runs: int) -> None:
        """Divide the limit by the number of live runs."""
        self._fill()
        self._rate = self._full_rate / max(1, live_runs)

    async def take(self, amount: float = 1.0) -> None:
        """Wait until ``amount`` may be used. More than the bucket holds is lent: those after wait for it."""
        async with self._turn:
            needed = min(amount, self._capacity)
            while self._fill() < needed:
                await self._sleep((needed - self._level) / self._rate)
            self._level -= amount

    def correct(self, difference: float) -> None:
        """Take ``difference`` more (or less, when negative) than was estimated."""
        self._level -= difference

    def _fill(self) -> float:
        now = self._clock()
        self._level = min(self._capacity, self._level + (now - self._filled_at) * self._rate)
        self._filled_at = now
        # Tolerance: a sleep that ends a rounding error early must not cost another turn of the loop.
        return self._level + 1e-9
