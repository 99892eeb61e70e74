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


class Waited(Protocol):
    """Something calls may be waiting for."""

    moved_at: float

    def waits_for(self, now: float) -> str:
        """What is waited for, "" when nothing is."""


async def heartbeat(
    paths: Callable[[], Sequence[Waited]],
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
