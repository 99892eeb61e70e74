"""The trusted process beside a program's: passes requests on, watches time and output, runs the code of a check.

It gave up its privileges before its first job. It serves one job after the other while nothing unusual happens; the
program's process is a fresh one each time, forked by the zygote, which has never seen a test. A program lives in a pid
namespace below and can neither see nor signal this process. HumanEval-style tests run in ``checker``.
"""

from __future__ import annotations

import builtins
import contextlib
import os
import select
import signal
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lic_pipeline.sandbox.python import plain
from lic_pipeline.sandbox.python.wire import (
    ClosedError,
    FrameBuffer,
    WireError,
    frame,
    receive_frame,
    send_frame,
)

STATUS = struct.Struct("!i")
_DEATH_WAIT = 0.2
_IDLE_SHARE = 6
_PATIENCE = 2


class Stopped(BaseException):
    """The program was stopped or ended by itself; ``verdict`` and ``detail`` say how."""

    def __init__(self, verdict: str, detail: str) -> None:
        super().__init__(f"{verdict}: {detail}")
        self.verdict = verdict
        self.detail = detail


class Exited(Stopped):
    """The process ended by itself without a word; what it printed still counts."""


@dataclass
class Timer:
    """One time limit: ``seconds`` of processor time, or of wall clock spent idle; twice that when starved.

    Wall clock alone would make scores depend on what else the machine does.
    """

    seconds: float
    pid: int
    wall_start: float
    cpu_start: float

    @classmethod
    def start(cls, seconds: float, pid: int) -> Timer:
        """A limit that begins now."""
        return cls(seconds, pid, time.monotonic(), _cpu_time(pid))

    def left(self) -> float:
        """Seconds until the limit can be reached at the earliest; 0 = it is reached."""
        wall = time.monotonic() - self.wall_start
        cpu = _cpu_time(self.pid) - self.cpu_start
        idle = wall >= self.seconds and cpu < self.seconds / _IDLE_SHARE
        if cpu >= self.seconds or idle or wall >= _PATIENCE * self.seconds:
            return 0.0
        if wall < self.seconds:
            return max(min(self.seconds - wall, self.seconds - cpu), 0.001)
        return max(self.seconds - cpu, 0.01)


def _cpu_time(pid: int) -> float:
    """Processor seconds of the program's process and of this one; wall clock where the system cannot tell."""
    own = time.process_time()
    try:
        return own + time.clock_gettime((~pid << 3) | 2)  # the clock id clock_getcpuclockid(3) makes
    except (OSError, AttributeError):
        return time.monotonic()


class Supervisor:
    """One job on one connection. ``more`` gives another process for the program."""

    def __init__(self, connection: int, child: Child, more: Callable[[], Child]) -> None:
        self.connection = connection
        self.child = child
        self.more = more
        self.spec: dict[str, Any] = {}
        self.usual = True

    def serve(self) -> bool:
        """Answer the requests of the job until its owner hangs up; True when nothing unusual happened."""
        try:
            self.spec = self._request()
            if self.spec["kind"] == "module":
                self._serve_module()
            else:
                self._serve_script()
        except ClosedError:
            pass
        finally:
            self.child.close()
        return self.usual

    def _reply(self, message: dict[str, Any]) -> None:
        send_frame(self.connection, plain.dumps(message))

    def _request(self) -> dict[str, Any]:
        message: dict[str, Any] = plain.loads(receive_frame(self.connection))
        return message

    def _timer(self) -> Timer:
        return Timer.start(float(self.spec["test_seconds"]), self.child.pid)

    def _serve_module(self) -> None:
        try:
            self._hand_over("")
            loaded = self.child.await_answer(self._timer())
            self._reply(loaded)
            if "error" in loaded:
                return
            while True:
                request = self._request()
                if request["op"] == "check":
                    self._reply(self._check(request))
                    return
                timer = self._timer()
                self.child.send(request, timer)
                self._reply(self.child.await_answer(timer))
        except (Stopped, plain.PlainError) as stop:
            self._reply(stopped(stop))

    def _check(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run test code; a process in which it left a trace in the builtins, or failed oddly, serves no more."""
        from lic_pipeline.sandbox.python.checker import check

        before = dict(vars(builtins)), sys.getrecursionlimit()
        ended = check(request, self.child, float(self.spec["test_seconds"]))
        self.usual = ended.get("stopped", "wrong") == "wrong" and before == (vars(builtins), sys.getrecursionlimit())
        return ended

    def _serve_script(self) -> None:
        while True:
            request = self._request()
            if not self.child.fresh:
                self.child = self.more()
            output = b""
            try:
                self._hand_over(request["stdin"])
                ended = self.child.await_answer(self._timer())
                self.child.finish()
                output = self.child.remaining_output()
            except Exited as stop:
                ended = stopped(stop)
                output = self.child.remaining_output()
            except (Stopped, plain.PlainError) as stop:
                ended = stopped(stop)
            self.child.close()
            self._reply({**ended, "stdout": output.decode("utf-8", "replace")})

    def _hand_over(self, stdin: str) -> None:
        """Send the program, and nothing else of the job, to the waiting process. Raises Stopped when it is gone."""
        self.child.accept(int(self.spec["output_bytes"]), keep=self.spec["kind"] != "module")
        names = ("kind", "source", "target", "tolerant", "memory_bytes", "cpu_seconds")
        self.child.send({**{name: self.spec[name] for name in names}, "stdin": stdin}, self._timer())


def stopped(stop: Stopped | plain.PlainError) -> dict[str, Any]:
    """How the program was stopped, as a message."""
    if isinstance(stop, Stopped):
        return {"stopped": stop.verdict, "detail": stop.detail}
    return {"stopped": "runtime_error", "detail": str(stop)}


class Child:
    """The program's process seen from outside: its channel and its output."""

    def __init__(self, pid: int, channel: int, output: int, ending: int) -> None:
        self.pid = pid
        self.ending = ending
        self.channel = channel
        self.output = output
        self.fresh = True
        self.alive = True
        self.status: int | None = None
        self.output_bytes = 0
        self.keep = False
        self.collected = bytearray()
        self.seen = 0

    def accept(self, output_bytes: int, *, keep: bool) -> None:
        """Get ready to listen; ``keep`` = what is printed is wanted."""
        self.fresh = False
        self.output_bytes, self.keep = output_bytes, keep
        os.set_blocking(self.output, False)
        os.set_blocking(self.channel, False)
        self.poller = select.poll()
        self.poller.register(self.channel, select.POLLIN)
        self.poller.register(self.output, select.POLLIN)
        self.frames = FrameBuffer(max(output_bytes * 2, 1 << 20))

    def await_frame(self, timer: Timer) -> bytes:
        """The next message of the program. Raises Stopped at a limit or when the process ends instead."""
        while True:
            left = timer.left()
            if left <= 0:
                self.kill()
                raise Stopped("timeout", f"more than {timer.seconds:g} s")
            for fd, _ in self.poller.poll(left * 1000 + 1):
                if fd == self.output:
                    self._read_output()
                    continue
                body = self._read_channel()
                if body is not None:
                    return body

    def await_answer(self, timer: Timer) -> dict[str, Any]:
        """The next message, cut down to what a program may say: a result, an error, or a wish to call back."""
        message = plain.loads(self.await_frame(timer))
        if not isinstance(message, dict):
            raise plain.PlainError("malformed message")
        for name in ("callback", "error", "ok"):
            if name in message:
                return {key: message[key] for key in (name, "args") if key in message}
        raise plain.PlainError("malformed message")

    def send(self, message: dict[str, Any], timer: Timer) -> None:
        """Send a message to a program that may not want to read it. Raises Stopped."""
        left = memoryview(frame(plain.dumps(message)))
        while left:
            try:
                left = left[os.write(self.channel, left) :]
            except BlockingIOError:
                self._wait_writable(timer)
            except (BrokenPipeError, ConnectionResetError):
                raise self._ended() from None

    def _wait_writable(self, timer: Timer) -> None:
        patience = timer.left()
        if patience <= 0:
            self.kill()
            raise Stopped("timeout", f"more than {timer.seconds:g} s")
        poller = select.poll()
        poller.register(self.channel, select.POLLOUT)
        poller.register(self.output, select.POLLIN)
        if any(fd == self.output for fd, _ in poller.poll(patience * 1000 + 1)):
            self._read_output()

    def _read_channel(self) -> bytes | None:
        try:
            piece = os.read(self.channel, 1 << 16)
        except BlockingIOError:
            return None
        except ConnectionResetError:
            piece = b""
        if not piece:
            raise self._ended()
        try:
            return self.frames.feed(piece)
        except WireError as error:
            self.kill()
            raise Stopped("output_limit", str(error)) from None

    def _read_output(self) -> None:
        try:
            piece = os.read(self.output, 1 << 16)
        except BlockingIOError:
            return
        if not piece:
            self.poller.unregister(self.output)
        self.seen += len(piece)
        if self.keep:
            self.collected += piece
        if self.seen > self.output_bytes:
            self.kill()
            raise Stopped("output_limit", f"printed more than {self.output_bytes} bytes")

    def remaining_output(self) -> bytes:
        """Everything printed; the process must have ended. Raises Stopped beyond the limit."""
        while self.keep:
            before = self.seen
            with contextlib.suppress(KeyError):
                self._read_output()
            if self.seen == before:
                break
        return bytes(self.collected)

    def close(self) -> None:
        """Kill what is left and give the descriptors back."""
        self.kill()
        for fd in (self.output, self.channel, self.ending):
            if fd >= 0:
                os.close(fd)
        self.output = self.channel = self.ending = -1

    def finish(self) -> None:
        """Let the process end by itself for a moment, then kill it."""
        self._reap(_DEATH_WAIT)
        self.kill()

    def kill(self) -> None:
        """Kill the process; as the first of its pid namespace it takes all others along."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, signal.SIGKILL)
            self._reap(1.0)
            self.alive = False

    def _reap(self, patience: float) -> None:
        """Learn from the zygote, whose child it is, that the process has ended."""
        poller = select.poll()
        poller.register(self.ending, select.POLLIN)
        if self.alive and poller.poll(patience * 1000):
            self.alive = False
            word = os.read(self.ending, STATUS.size)
            self.status = STATUS.unpack(word)[0] if len(word) == STATUS.size else None

    def _ended(self) -> Stopped:
        """Why the channel closed."""
        self._reap(_DEATH_WAIT)
        if self.status is None:
            self.kill()
            return Exited("exited", "closed its channel")
        if os.WIFSIGNALED(self.status):
            number = os.WTERMSIG(self.status)
            name = signal.Signals(number).name
            if number in (signal.SIGXCPU,):
                return Stopped("timeout", f"ended by {name}")
            return Stopped("memory" if number == signal.SIGKILL else "runtime_error", f"ended by {name}")
        return Exited("exited", f"exit status {os.WEXITSTATUS(self.status)}")
