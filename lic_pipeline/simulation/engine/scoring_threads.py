"""Threads that run costly verdicts and never hold up the end of the process.

The standard library's pool joins its threads when the interpreter ends, so an interrupted run would wait for a program
that loops for all its tests. These threads are daemons: what nobody waits for any more dies with the process.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

Result = TypeVar("Result")
_Job = tuple["Future[Any]", Callable[[], Any]]


class ScoringThreads(Executor):
    """A fixed number of daemon threads; started with the first job."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._closed = False

    def submit(self, fn: Callable[..., Result], /, *args: Any, **kwargs: Any) -> Future[Result]:
        """Queue a job. Raises RuntimeError after ``shutdown``."""
        future: Future[Result] = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("these threads were shut down")
            while len(self._threads) < self._count:
                name = f"lic-scoring-{len(self._threads)}"
                self._threads.append(threading.Thread(target=self._work, name=name, daemon=True))
                self._threads[-1].start()
            self._jobs.put((future, lambda: fn(*args, **kwargs)))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more jobs; with ``cancel_futures`` those not begun are cancelled."""
        with self._lock:
            self._closed = True
            if cancel_futures:
                self._cancel_waiting()
            for _ in self._threads:
                self._jobs.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def _cancel_waiting(self) -> None:
        try:
            while True:
                job = self._jobs.get_nowait()
                if job is not None:
                    job[0].cancel()
        except Empty:
            return

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            future, action = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(action())
            except BaseException as error:
                future.set_exception(error)
