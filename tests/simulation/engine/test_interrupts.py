"""Signals while work runs on a loop, and who handles them afterwards."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from lic_pipeline.errors import InterruptedRunError
from lic_pipeline.simulation.engine.interrupts import SIGNALS, interruptible


class CallersError(Exception):
    """What the caller's own handler raises."""


def _of_the_caller(number: int, _frame: object) -> None:
    raise CallersError(number)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    before = {number: signal.signal(number, _of_the_caller) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_lets_the_work_clean_up_first(number: signal.Signals) -> None:
    stored: list[str] = []

    async def work() -> None:
        try:
            os.kill(os.getpid(), number)
            await asyncio.sleep(60)
        finally:
            stored.append("what there was")

    with pytest.raises(InterruptedRunError, match=f"interrupted by {number.name}"):
        asyncio.run(interruptible(work()))
    assert stored == ["what there was"]


@pytest.mark.parametrize("number", SIGNALS)
def test_afterwards_the_caller_hears_signals_again(number: signal.Signals) -> None:
    async def work() -> str:
        return "done"

    assert asyncio.run(interruptible(work())) == "done"
    with pytest.raises(CallersError):
        os.kill(os.getpid(), number)
