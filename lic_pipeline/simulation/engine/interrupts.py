"""SIGINT and SIGTERM while a loop runs: cancel the work, let it store what it has, then say so.

asyncio's own handling was seen to be swallowed when an exception sat in a task; own handlers are not.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import TypeVar

from lic_pipeline.errors import InterruptedRunError

Result = TypeVar("Result")
SIGNALS = (signal.SIGINT, signal.SIGTERM)


async def interruptible(work: Coroutine[object, object, Result]) -> Result:
    """Run ``work``; a signal cancels it and raises InterruptedRunError once it has cleaned up.

    Whoever handled these signals before does so again afterwards.
    """
    loop = asyncio.get_running_loop()
    task = asyncio.ensure_future(work)
    received: list[int] = []

    def stop(number: int) -> None:
        received.append(number)
        task.cancel()

    before = {}
    for number in SIGNALS:
        handler = signal.getsignal(number)
        try:
            loop.add_signal_handler(number, stop, number)
            before[number] = handler
        except (RuntimeError, ValueError, NotImplementedError):
            break  # not the main thread, or no such signals here: whoever runs us handles them
    try:
        return await task
    except asyncio.CancelledError:
        if not received:
            raise
        name = signal.Signals(received[0]).name
        raise InterruptedRunError(f"interrupted by {name}; finished work is stored, run again to go on") from None
    finally:
        for number, handler in before.items():
            loop.remove_signal_handler(number)
            if handler is not None:  # None: it was not set from Python, and cannot be set again
                # The loop leaves the system's default, by which a SIGTERM from now on would kill without a word.
                signal.signal(number, handler)
