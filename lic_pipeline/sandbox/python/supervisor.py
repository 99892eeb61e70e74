"""The trusted process beside a program's: passes requests on, watches time and output, runs the code of a check.

It gave up its privileges before its first job. It serves one job after the other while nothing unusual happens; the
program's process is a fresh one each time, forked by the zygote, which has never seen a test. A program lives in a pid
namespace below and can neither see nor signal this process. HumanEval-style tests run in ``checker``.
"""

from __future__ import annotations

import array
import builtins
import os
import socket
import sys
from collections.abc import Callable
from typing import Any

from lic_pipeline.sandbox.python import isolation, plain
from lic_pipeline.sandbox.python.child import Child, Exited, Stopped, Timer, stopped
from lic_pipeline.sandbox.python.wire import JOB, ClosedError, receive_frame, send_frame

MORE, IDLE = b"m", b"i"
MAX_JOBS = 200
MAX_MEMORY = 2 << 30


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


def supervise(link_fd: int) -> None:
    """Serve jobs that come over the link, until one was unusual or there have been enough."""
    link = socket.socket(fileno=link_fd)
    isolation.limit_memory(MAX_MEMORY)

    def receive() -> tuple[int, list[int]]:
        fds = array.array("i")
        head, ancillary, _, _ = link.recvmsg(JOB.size, socket.CMSG_SPACE(4 * fds.itemsize))
        if len(head) < JOB.size:
            os._exit(0)
        for _, _, data in ancillary:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
        return JOB.unpack(head)[0], list(fds)

    def more() -> Child:
        link.send(MORE)
        pid, fds = receive()
        return Child(pid, *fds)

    for _ in range(MAX_JOBS):
        pid, (connection, *fds) = receive()
        usual = Supervisor(connection, Child(pid, *fds), more).serve()
        os.close(connection)
        if not usual:
            return
        link.send(IDLE)
