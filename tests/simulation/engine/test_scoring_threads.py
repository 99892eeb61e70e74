"""The threads that score beside the loop: they keep the contract of executors."""

from __future__ import annotations

import threading

import pytest

from lic_pipeline.simulation.engine.scoring_threads import ScoringThreads


def test_scoring_threads_keep_the_contract_of_executors() -> None:
    threads = ScoringThreads(2)
    assert list(threads.map(lambda number: number * 2, range(5))) == [0, 2, 4, 6, 8]
    with pytest.raises(ZeroDivisionError):
        threads.submit(lambda: 1 // 0).result(5)
    hold_on = threading.Event()
    begun = threading.Barrier(3)

    def work() -> bool:
        begun.wait(5)
        return hold_on.wait(5)

    busy = [threads.submit(work) for _ in range(2)]
    begun.wait(5)
    waiting = threads.submit(int)
    threads.shutdown(wait=False, cancel_futures=True)
    hold_on.set()
    assert waiting.cancelled()
    assert [one.result(5) for one in busy] == [True, True]
    with pytest.raises(RuntimeError):
        threads.submit(int)
    threads.shutdown()
