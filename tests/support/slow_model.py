"""Systems under test for runs of the graph: quick to answer, or still thinking when a signal comes."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import Any


async def answer(messages: list[dict[str, Any]]) -> str:
    """Always the same number."""
    return "The answer is 7."


async def terminated(messages: list[dict[str, Any]]) -> str:
    """Send SIGTERM to the process that asks, then think for longer than any test waits."""
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.sleep(600)
    return "never said"


async def thinking(messages: list[dict[str, Any]]) -> str:
    """Say on disk that a call is under way, then think for longer than any test waits."""
    with open(os.environ["SLOW_MODEL_STARTED"], "w", encoding="utf-8") as handle:
        handle.write("started")
    await asyncio.sleep(600)
    return "never said"
