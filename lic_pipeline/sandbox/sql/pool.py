"""A small warm pool of SQL workers: started when needed, killed when they overrun, safe from many threads.

One worker serves one thread at a time. Workers get an empty environment and die with this process: they watch
their pipe and their parent's pid. What a worker does with a query stands in ``worker.py``.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import struct
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

from lic_pipeline.sandbox.sql.result import Limits, QueryResult, decode
from lic_pipeline.sandbox.sql.source import Source

_WORKER = Path(__file__).with_name("worker.py")
_EXIT_CPU = 75
_MAX_FRAME = 256 * 2**20
_SQL_BYTES = 200_000


class _WorkerLostError(Exception):
    """The worker ended without a reply; ``code`` is its exit code."""

    def __init__(self, code: int | None) -> None:
        super().__init__(str(code))
        self.code = code


class _Worker:
    """One child process and the framing of its pipes."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", str(_WORKER), str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={},
            bufsize=0,
            start_new_session=True,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in = self.process.stdin.fileno()
        self._out = self.process.stdout.fileno()

    def ask(self, body: bytes, deadline: float) -> bytes:
        """Send one frame and wait for the reply. Raises TimeoutError at the deadline, _WorkerLostError at its end."""
        data = memoryview(struct.pack(">I", len(body)) + body)
        try:
            while data:
                data = data[os.write(self._in, data) :]
        except OSError as error:
            raise _WorkerLostError(self.process.poll()) from error
        (size,) = struct.unpack(">I", self._read(4, deadline))
        if size > _MAX_FRAME:
            raise _WorkerLostError(None)
        return self._read(size, deadline)

    def _read(self, size: int, deadline: float) -> bytes:
        parts = bytearray()
        poller = select.poll()
        poller.register(self._out, select.POLLIN)
        while len(parts) < size:
            wait = deadline - time.monotonic()
            if wait <= 0 or not poller.poll(wait * 1000):
                raise TimeoutError
            chunk = os.read(self._out, min(size - len(parts), 1 << 20))
            if not chunk:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(5)
                raise _WorkerLostError(self.process.returncode)
            parts += chunk
        return bytes(parts)

    def close(self) -> None:
        """Kill the child, reap it, close the pipes."""
        with contextlib.suppress(OSError):
            self.process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        self.abandon()

    def abandon(self) -> None:
        """Close this process's ends of the pipes only (in a forked child, whose parent still uses the worker)."""
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


class SqlPool:
    """Up to ``size`` warm workers. ``query`` may be called from any number of threads."""

    def __init__(self, size: int | None = None) -> None:
        self._size = size or max(2, min(8, os.cpu_count() or 2))
        self._reset()
        _POOLS.add(self)

    def _reset(self) -> None:
        self._slots = threading.BoundedSemaphore(self._size)
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._all: set[_Worker] = set()

    def query(self, source: Source, sql: str, limits: Limits) -> QueryResult:
        """Run one statement on ``source``. Never raises; a worker that overran or died is replaced."""
        if len(sql) > _SQL_BYTES:
            return QueryResult("error", message=f"the statement is longer than {_SQL_BYTES} characters")
        try:
            body = json.dumps({**source.request, "sql": sql, **_plain(limits)}).encode()
            with self._slots:
                return self._ask(body, limits, attempts=2)
        except OSError as error:
            return QueryResult("unavailable", message=f"the SQL sandbox cannot start: {error}")

    def _ask(self, body: bytes, limits: Limits, attempts: int) -> QueryResult:
        """A worker that died for no known reason (killed from outside) is given one second try."""
        worker = self._take()
        kept = False
        try:
            result = decode(worker.ask(body, time.monotonic() + limits.wall_seconds + limits.build_seconds))
            kept = result.status != "crashed"
        except TimeoutError:
            result = QueryResult("timeout", message="the query ran out of time")
        except _WorkerLostError as lost:
            if lost.code == _EXIT_CPU:
                result = QueryResult("timeout", message="the query ran out of time")
            else:
                result = QueryResult("crashed", message=f"the sandbox process ended (exit code {lost.code})")
        finally:
            self._give_back(worker, kept)
        if result.status == "crashed" and attempts > 1:
            return self._ask(body, limits, attempts - 1)
        return result

    def _take(self) -> _Worker:
        with self._lock:
            while self._idle:
                worker = self._idle.pop()
                if worker.process.poll() is None:
                    return worker
                self._all.discard(worker)
                worker.abandon()
        worker = _Worker()
        with self._lock:
            self._all.add(worker)
        return worker

    def _give_back(self, worker: _Worker, kept: bool) -> None:
        with self._lock:
            if kept:
                self._idle.append(worker)
                return
            self._all.discard(worker)
        worker.close()

    def pids(self) -> tuple[int, ...]:
        """Process ids of the living workers."""
        with self._lock:
            return tuple(worker.process.pid for worker in self._all if worker.process.poll() is None)

    def close(self) -> None:
        """End all workers; the pool starts new ones when it is used again."""
        with self._lock:
            workers, self._all, self._idle = self._all, set(), []
        for worker in workers:
            worker.close()

    def _after_fork(self) -> None:
        for worker in self._all:
            worker.abandon()
        self._reset()


def _plain(limits: Limits) -> dict[str, float | int]:
    return {
        "seconds": limits.seconds,
        "build_seconds": limits.build_seconds,
        "max_rows": limits.max_rows,
        "max_bytes": limits.max_bytes,
    }


_POOLS: weakref.WeakSet[SqlPool] = weakref.WeakSet()


def _close_all() -> None:
    for pool in list(_POOLS):
        pool.close()


def _forked() -> None:
    for pool in list(_POOLS):
        pool._after_fork()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_forked)
