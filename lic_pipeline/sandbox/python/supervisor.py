"""The trusted process of one job: starts the program's process, passes requests on, watches time and output.

It is the first process of its own pid namespace, above the program's, so that its end ends everything and the program
can neither see nor signal it. It holds no task knowledge; HumanEval-style tests run in ``checker``.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import socket
import tempfile
import time
from dataclasses import dataclass
from typing import Any, NoReturn

from lic_pipeline.sandbox.python import candidate, isolation, plain, seccomp
from lic_pipeline.sandbox.python.wire import (
    ClosedError,
    FrameBuffer,
    WireError,
    receive_frame,
    send_frame,
)

_DEATH_WAIT = 0.2
_IDLE_SHARE = 6
_PATIENCE = 3


class Stopped(BaseException):
    """The program was stopped or ended by itself; ``verdict`` and ``detail`` say how."""

    def __init__(self, verdict: str, detail: str) -> None:
        super().__init__(f"{verdict}: {detail}")
        self.verdict = verdict
        self.detail = detail


@dataclass
class Timer:
    """One time limit: ``seconds`` of processor time, or of wall clock spent idle; three times that when starved.

    Wall clock alone would make scores depend on what else the machine does.
    """

    seconds: float
    pid: int
    wall_start: float
    cpu_start: float

    @classmethod
    def start(cls, seconds: float, pid: int) -> Timer:
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
    """One job on one connection."""

    def __init__(self, connection: int, *, strong: bool) -> None:
        self.connection = connection
        self.strong = strong
        self.spec: dict[str, Any] = plain.loads(receive_frame(connection))
        self.folder = None if strong else tempfile.mkdtemp(prefix="lic-sandbox-")
        self.namespace = isolation.own_pid_namespace() if strong else -1
        self.child: Child | None = None

    def serve(self) -> None:
        """Answer the requests of the job until its owner hangs up."""
        try:
            if self.spec["kind"] == "module":
                self._serve_module()
            else:
                self._serve_script()
        except ClosedError:
            pass
        finally:
            if self.child is not None:
                self.child.kill()
            if self.folder is not None:
                shutil.rmtree(self.folder, ignore_errors=True)

    def reply(self, message: dict[str, Any]) -> None:
        send_frame(self.connection, plain.dumps(message))

    def request(self) -> dict[str, Any]:
        message: dict[str, Any] = plain.loads(receive_frame(self.connection))
        return message

    def _serve_module(self) -> None:
        from lic_pipeline.sandbox.python.checker import check

        self.child = child = self.start(b"")
        seconds = float(self.spec["test_seconds"])
        try:
            loaded = plain.loads(child.await_frame(Timer.start(seconds, child.pid)))
            self.reply(loaded)
            if "error" in loaded:
                return
            while True:
                request = self.request()
                if request["op"] == "check":
                    self.reply(check(request, child, seconds, self.give_up_privileges))
                    return
                send_frame(child.channel, plain.dumps(request))
                self.reply(plain.loads(child.await_frame(Timer.start(seconds, child.pid))))
        except (Stopped, plain.PlainError) as stop:
            self.reply(stopped(stop))

    def _serve_script(self) -> None:
        while True:
            request = self.request()
            self.child = child = self.start(request["stdin"].encode("utf-8", "surrogatepass"))
            try:
                ended = plain.loads(child.await_frame(Timer.start(float(self.spec["test_seconds"]), child.pid)))
                child.finish()
            except (Stopped, plain.PlainError) as stop:
                ended = stopped(stop)
            try:
                output = child.remaining_output()
            except Stopped as stop:
                output, ended = b"", stopped(stop)
            self.reply({**ended, "stdout": output.decode("utf-8", "replace")})

    def start(self, stdin: bytes) -> Child:
        """Fork the program's process, in namespaces of its own."""
        ours, theirs = socket.socketpair()
        output, output_end = os.pipe()
        if self.strong:
            isolation.unshare(isolation.NEWPID)
        pid = os.fork()
        if pid == 0:
            self._become_candidate(theirs.fileno(), output_end, stdin)
        if self.strong:
            isolation.children_stay_here(self.namespace)
        theirs.close()
        os.close(output_end)
        return Child(pid, ours.detach(), output, int(self.spec["output_bytes"]), keep=self.spec["kind"] != "module")

    def _become_candidate(self, channel: int, output: int, stdin: bytes) -> NoReturn:
        try:
            if self.strong:
                isolation.private_tmp(network=not seccomp.supported())
            elif self.folder is not None:
                os.chdir(self.folder)
            self._set_descriptors(channel, output, stdin)
            isolation.limit_resources(int(self.spec["memory_bytes"]), int(self.spec["cpu_seconds"]))
            if self.strong:
                isolation.drop_privileges()
            isolation.filter_calls()
            candidate.fresh_process()
            spec, kind = self.spec, self.spec["kind"]
            self.spec = {}
            if kind == "module":
                candidate.run_module(spec["source"], spec["target"])
            candidate.run_script(spec["source"])
        finally:
            os._exit(120)

    def _set_descriptors(self, channel: int, output: int, stdin: bytes) -> None:
        """0 = input, 1 = output pipe, 2 = nothing, 3 = channel; everything else is closed."""
        name = ".stdin" if not self.strong else "/tmp/.stdin"
        with open(name, "wb") as file:
            file.write(stdin)
        source = os.open(name, os.O_RDONLY)
        null = os.open("/dev/null", os.O_WRONLY)
        moved = [os.dup2(fd, number) for number, fd in enumerate((source, output, null, channel), 40)]
        for number, fd in enumerate(moved):
            os.dup2(fd, number)
        os.closerange(4, 4096)

    def give_up_privileges(self) -> None:
        """Before test code runs in this process: no way back, no system calls it has no need of."""
        isolation.limit_resources(int(self.spec["memory_bytes"]), int(self.spec["cpu_seconds"]))
        if self.strong:
            isolation.drop_privileges()
            isolation.filter_calls()


def stopped(stop: Stopped | plain.PlainError) -> dict[str, Any]:
    """How the program was stopped, as a message."""
    if isinstance(stop, Stopped):
        return {"stopped": stop.verdict, "detail": stop.detail}
    return {"stopped": "runtime_error", "detail": str(stop)}


class Child:
    """The program's process seen from outside: its channel and its output."""

    def __init__(self, pid: int, channel: int, output: int, output_bytes: int, *, keep: bool) -> None:
        self.pid = pid
        self.channel = channel
        self.output = output
        self.output_bytes = output_bytes
        self.keep = keep
        self.collected = bytearray()
        self.seen = 0
        self.alive = True
        self.status: int | None = None
        os.set_blocking(output, False)
        os.set_blocking(channel, True)
        self.poller = select.poll()
        self.poller.register(channel, select.POLLIN)
        self.poller.register(output, select.POLLIN)
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
                frame = self._read_channel()
                if frame is not None:
                    return frame

    def _read_channel(self) -> bytes | None:
        try:
            piece = os.read(self.channel, 1 << 16)
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
        os.close(self.output)
        os.close(self.channel)
        return bytes(self.collected)

    def finish(self) -> None:
        """Let the process end by itself for a moment, then kill it."""
        self._reap(_DEATH_WAIT)
        self.kill()

    def kill(self) -> None:
        """Kill the process; as the first of its pid namespace it takes all others along."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, signal.SIGKILL)
                self._reap(None)

    def _reap(self, patience: float | None) -> None:
        end = time.monotonic() + (patience or 0)
        while self.alive:
            pid, status = os.waitpid(self.pid, 0 if patience is None else os.WNOHANG)
            if pid:
                self.alive, self.status = False, status
            elif time.monotonic() >= end:
                return
            else:
                time.sleep(0.001)

    def _ended(self) -> Stopped:
        """Why the channel closed."""
        self._reap(_DEATH_WAIT)
        if self.status is None:
            self.kill()
            return Stopped("exited", "closed its channel")
        if os.WIFSIGNALED(self.status):
            number = os.WTERMSIG(self.status)
            name = signal.Signals(number).name
            if number in (signal.SIGXCPU,):
                return Stopped("timeout", f"ended by {name}")
            return Stopped("memory" if number == signal.SIGKILL else "runtime_error", f"ended by {name}")
        return Stopped("exited", f"exit status {os.WEXITSTATUS(self.status)}")
