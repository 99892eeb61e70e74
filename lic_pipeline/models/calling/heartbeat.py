"""The heartbeat: when nothing has moved for a while, one log line says what is waited for. Never touches the run."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Protocol

SILENCE_SECONDS = 30.0
_LOOK_SECONDS = 1.0

logger = logging.getLogger("lic")


class HeartbeatSource(Protocol):
    """Something calls may be waiting for."""

    @property
    def moved_at(self) -> float:
        """When something last moved (monotonic seconds)."""

    def waits_for(self, now: float) -> str:
        """What is waited for, "" when nothing is."""


async def heartbeat(
    paths: Callable[[], Sequence[HeartbeatSource]],
    silence_s: float = SILENCE_SECONDS,
    look_s: float = _LOOK_SECONDS,
) -> None:
    """Run until cancelled; says something once per ``silence_s`` in which no path moved."""
    spoke_at = time.monotonic()
    while True:
        await asyncio.sleep(look_s)
        now = time.monotonic()
        known = paths()
        moved_at = max([spoke_at, *(path.moved_at for path in known)])
        if now - moved_at < silence_s:
            continue
        spoke_at = now
        waits = [text for path in known if (text := path.waits_for(now))]
        if waits:
            quiet = now - max(path.moved_at for path in known)
            logger.warning("nothing has come back for %.0f s; waiting for %s", quiet, "; ".join(waits))


class CallsUnderWay:
    """What the calls of one path are doing: in flight, pausing, or waiting for a slot.

    Only a call that ends moves anything: attempts that fail and are made again may go on for half an hour.
    """

    def __init__(self) -> None:
        self.calls = 0
        self.pausing = 0
        self.last_error = ""
        self.moved_at = time.monotonic()
        self._sent: dict[int, float] = {}
        self._number = 0

    def begin(self) -> None:
        """A call begins; the first one after none counts as a move."""
        if not self.calls:
            self.moved_at = time.monotonic()
        self.calls += 1

    def end(self) -> None:
        """A call has ended, in whatever way."""
        self.calls -= 1
        self.moved_at = time.monotonic()

    def sent(self) -> tuple[int, float]:
        """An attempt begins: its number, and when (monotonic seconds)."""
        self._number += 1
        self._sent[self._number] = started = time.monotonic()
        return self._number, started

    def ended(self, number: int) -> float:
        """An attempt has ended, in whatever way: the seconds it took."""
        return time.monotonic() - self._sent.pop(number)

    def described(self, now: float, alias: str, allowed: str) -> str:
        """What is waited for in words, "" when nothing is."""
        parts = []
        if self._sent:
            # Insertion order: the first one is the oldest.
            oldest = now - next(iter(self._sent.values()))
            parts.append(f"{len(self._sent)} replies of {alias}, the oldest for {oldest:.0f} s")
        if self.pausing:
            parts.append(f"{self.pausing} pauses of {alias} before another attempt (last: {self.last_error})")
        queued = self.calls - len(self._sent) - self.pausing
        if queued > 0:
            parts.append(f"a slot for {queued} calls of {alias} ({allowed} allowed now)")
        return ", ".join(parts)
