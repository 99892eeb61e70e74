"""The program's process seen from outside: its channel, its output, its end, and the time it may take.

Nothing here knows what the program is asked.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import struct
import time
from dataclasses import dataclass
from typing import Any

from lic_pipeline.sandbox.python import plain
from lic_pipeline.sandbox.python.wire import FrameBuffer, WireError, frame

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
    cpu_start: float | None

    @classmethod
    def start(cls, seconds: float, pid: int) -> Timer:
        """A limit that begins now."""
        return cls(seconds, pid, time.monotonic(), _cpu_time(pid))

    def left(self) -> float:
        """Seconds until the limit can be reached at the earliest; 0 = it is reached."""
        wall = time.monotonic() - self.wall_start
        now = _cpu_time(self.pid)
        cpu = wall if now is None or self.cpu_start is None else now - self.cpu_start
        idle = wall >= self.seconds and cpu < self.seconds / _IDLE_SHARE
        if cpu >= self.seconds or idle or wall >= _PATIENCE * self.seconds:
            return 0.0
        if wall < self.seconds:
            return max(min(self.seconds - wall, self.seconds - cpu), 0.001)
        return max(self.seconds - cpu, 0.01)


def _cpu_time(pid: int) -> float | None:
    """Processor seconds of the program's process and of this one; None where the system cannot tell, or no longer."""
    own = time.process_time()
    try:
        return own + time.clock_gettime((~pid << 3) | 2)  # the clock id clock_getcpuclockid(3) makes
    except (OSError, AttributeError):
        return None


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
