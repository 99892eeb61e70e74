"""Calls in flight to one provider and key: adaptive, below a limit that live runs share.

Requests and tokens a minute are the business of ``limits_rate``.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

REREAD_SECONDS = 3.0
_DOWN = 0.7
_UP = 0.25
"""Added per success. A wave of calls in which many are limited shrinks the level, a wave without any grows it by a
fourth: a lone 429 costs little, and a real limit is met from below."""


class AdaptiveLimit:
    """How many calls may be in flight now; first come, first served.

    ``live_runs`` says how many processes share ``most``; it is asked every few seconds.
    """

    def __init__(
        self, most: int, live_runs: Callable[[], int] = lambda: 1, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.most = most
        self.in_flight = 0
        self._live_runs = live_runs
        self._clock = clock
        self._read_at = float("-inf")
        self.live = 1
        self.share = most
        self._level = float(most)
        self._lowered_at = float("-inf")
        self._waiters: deque[asyncio.Future[None]] = deque()

    @property
    def level(self) -> int:
        """Calls that may be in flight now; at least 1, at most this process's share."""
        return max(1, min(int(self._level), self.share))

    @property
    def waiting(self) -> int:
        """Calls that wait for a slot."""
        return len(self._waiters)

    def widen(self, most: int) -> None:
        """Let another entry of the same provider and key bring its larger limit."""
        if most > self.most:
            self.most = most
            self._level = float(most)
            self._read_at = float("-inf")

    async def acquire(self) -> None:
        """Wait for a slot."""
        self._reread()
        if not self._waiters and self.in_flight < self.level:
            self.in_flight += 1
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            # Cancelled after the slot was handed over: give it back, or it is lost for good.
            if waiter.done() and not waiter.cancelled():
                self.release()
            else:
                with suppress(ValueError):  # a slot handed out since the cancellation has passed it over
                    self._waiters.remove(waiter)
            raise

    def release(self) -> None:
        """Give a slot back."""
        self.in_flight -= 1
        self._hand_out()

    def succeeded(self) -> None:
        """A call was answered: room for a little more."""
        self._level = min(self._level + _UP, float(self.share))

    def limited(self, started_at: float) -> None:
        """A call begun at ``started_at`` was rate limited; calls sent before the last step down say nothing new."""
        if started_at >= self._lowered_at:
            self._level = max(1.0, min(self._level, float(self.share)) * _DOWN)
            self._lowered_at = self._clock()

    def _reread(self) -> None:
        now = self._clock()
        if now - self._read_at < REREAD_SECONDS:
            return
        self._read_at = now
        self.live = max(1, self._live_runs())
        share = max(1, self.most // self.live)
        if share > self.share:
            self._level += share - self.share
        self.share = share
        self._hand_out()

    def _hand_out(self) -> None:
        while self._waiters and self.in_flight < self.level:
            waiter = self._waiters.popleft()
            if not waiter.done():
                self.in_flight += 1
                waiter.set_result(None)
