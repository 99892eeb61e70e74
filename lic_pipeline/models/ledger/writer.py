"""The writer thread: takes everything queued, runs it as one transaction, then wakes all who wait for it.

Group commit without a timer: while one batch is being made durable the next one gathers, and as long as each pass of
the event loop brings more rows it is left to. What a batch does to the tables is not known here (``batch.py``). Rules:
rows become durable in the order they were queued; a waiter is always answered, with a result or an error; after a
storage fault every later operation gets that same error.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from lic_pipeline.errors import StorageError

_IDLE_SECONDS = 0.2
_GATHER_SECONDS = 0.005
"""Longest that a busy event loop keeps the writer waiting for more rows."""

_BATCH = 2048
_BACKLOG = 4096
_STOP = object()


class SyncWaiter:
    """Lets a thread wait for its operation."""

    __slots__ = ("_answered", "_error", "_result")

    def __init__(self) -> None:
        self._answered = threading.Event()
        self._result: Any = None
        self._error: BaseException | None = None

    def done(self) -> bool:
        """True when answered."""
        return self._answered.is_set()

    def set_result(self, result: Any) -> None:
        """Answer with a value."""
        self._result = result
        self._answered.set()

    def set_exception(self, exception: BaseException) -> None:
        """Answer with an error."""
        self._error = exception
        self._answered.set()

    def wait(self) -> Any:
        """The result; raises the error of the operation."""
        self._answered.wait()
        if self._error is not None:
            raise self._error
        return self._result


Waiter = asyncio.Future[Any] | SyncWaiter


class Operation:
    """One queued thing. ``kind`` and ``payload`` are the batch's business; ``result`` and ``error`` its answer."""

    __slots__ = ("conversation_id", "error", "kind", "payload", "result", "waiter")

    def __init__(self, kind: str, conversation_id: str, payload: Any, waiter: Waiter | None = None) -> None:
        self.kind = kind
        self.conversation_id = conversation_id
        self.payload = payload
        self.waiter = waiter
        self.result: Any = None
        self.error: BaseException | None = None


class BatchRunner(Protocol):
    """Makes a batch durable; called from the writer thread only."""

    def run(self, operations: list[Operation]) -> None:
        """Commit all, leaving results and errors of single operations on them. Raises StorageError when it cannot."""

    def tend(self) -> None:
        """Called between batches: heartbeats, when due."""

    def close(self) -> None:
        """Called once, last, in the writer thread."""


class Writer:
    """Queue and thread. ``put`` may be called from any thread; the answer to a future comes on its own loop."""

    def __init__(self, runner: BatchRunner) -> None:
        self._runner = runner
        self._queue: deque[Any] = deque()
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._kicking: asyncio.AbstractEventLoop | None = None
        self._unanswered = 0
        self._closed = False
        self._pid = os.getpid()
        self.failure: StorageError | None = None
        self.untold = False
        self._thread = threading.Thread(target=self._work, name="lic-ledger-writer", daemon=True)
        self._thread.start()

    def put(self, operation: Operation) -> None:
        """Queue an operation nobody waits for; durable with the next awaited one, at the latest after 0.2 s."""
        with self._lock:
            self._refuse()
            self._unanswered += 1
            self._queue.append(operation)
        if len(self._queue) > _BACKLOG:
            self._wake.set()

    def submit(self, kind: str, conversation_id: str, payload: Any) -> asyncio.Future[Any]:
        """Queue an operation and return the future of its answer. Cancelling the future does not cancel the row."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self.put(Operation(kind, conversation_id, payload, future))
        if self._kicking is not loop:
            self._kicking = loop
            loop.call_soon(self._kick, loop, 0, loop.time() + _GATHER_SECONDS)
        return future

    def call(self, kind: str, conversation_id: str, payload: Any) -> Any:
        """Queue an operation, wait for it in this thread, return its result."""
        waiter = SyncWaiter()
        self.put(Operation(kind, conversation_id, payload, waiter))
        self._wake.set()
        return waiter.wait()

    @property
    def idle(self) -> bool:
        """True when everything queued so far is durable."""
        return self._unanswered == 0

    def close(self) -> None:
        """Make everything queued durable and end the thread; later operations are refused."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._queue.append(_STOP)
        self._wake.set()
        if self._pid == os.getpid():
            self._thread.join()

    def _kick(self, loop: asyncio.AbstractEventLoop, seen: int, until: float) -> None:
        """Wake the writer as soon as a pass of the loop has brought no more rows: one commit for all, no timer."""
        queued = len(self._queue)
        if queued > seen and loop.time() < until:
            loop.call_soon(self._kick, loop, queued, until)
            return
        self._kicking = None
        self._wake.set()

    def _refuse(self) -> None:
        if self.failure is not None:
            self.untold = False
            raise StorageError(str(self.failure)) from self.failure
        if self._closed:
            raise StorageError("the ledger is closed; open it again")
        if self._pid != os.getpid():
            raise StorageError("a ledger belongs to the process that opened it; open one of its own in this process")

    def _work(self) -> None:
        running = True
        while running:
            self._wake.wait(_IDLE_SECONDS)
            self._wake.clear()
            while running and self._queue:
                running = self._step()
            if running and self.failure is None:
                self._guard(self._runner.tend)
        self._guard(self._runner.close)

    def _step(self) -> bool:
        """One batch; False when the ledger is being closed."""
        batch: list[Operation] = []
        running = True
        while self._queue and len(batch) < _BATCH:
            operation = self._queue.popleft()
            if operation is _STOP:
                running = False
                break
            batch.append(operation)
        if batch and self.failure is None:
            self._guard(lambda: self._runner.run(batch))
        self._answer(batch)
        if batch and self.failure is None:
            self._guard(self._runner.tend)
        return running

    def _guard(self, action: Callable[[], None]) -> None:
        """No error may end the thread: waiters would hang."""
        try:
            action()
        except StorageError as error:
            self._fail(error)
        except BaseException as error:
            failure = StorageError(f"the ledger failed unexpectedly ({type(error).__name__}: {error}); run again")
            failure.__cause__ = error
            self._fail(failure)

    def _fail(self, error: StorageError) -> None:
        with self._lock:
            if self.failure is None:
                self.failure = error

    def _answer(self, batch: list[Operation]) -> None:
        by_loop: dict[asyncio.AbstractEventLoop, list[Operation]] = {}
        for operation in batch:
            if self.failure is not None and operation.error is None:
                operation.error = StorageError(str(self.failure))
                operation.error.__cause__ = self.failure
            if operation.waiter is None:
                self.untold = self.untold or operation.error is not None
            elif isinstance(operation.waiter, SyncWaiter):
                _resolve([operation])
            else:
                by_loop.setdefault(operation.waiter.get_loop(), []).append(operation)
        with self._lock:
            self._unanswered -= len(batch)
        for loop, operations in by_loop.items():
            try:
                loop.call_soon_threadsafe(_resolve, operations)
            except RuntimeError:  # The loop was closed while the rows were written: they are durable, nobody waits.
                continue


def _resolve(operations: list[Operation]) -> None:
    """Answer waiters; runs on their own loop. A cancelled one is done already."""
    for operation in operations:
        waiter = operation.waiter
        if waiter is None or waiter.done():
            continue
        if operation.error is not None:
            waiter.set_exception(operation.error)
        else:
            waiter.set_result(operation.result)
