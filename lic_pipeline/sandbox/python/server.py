"""What the zygote does for a living: a fresh process for each program, a supervisor for each job, an end for both.

It never reads a job: a job is 8 bytes (its time in ms) and a descriptor that goes on to a supervisor.
"""

from __future__ import annotations

import array
import contextlib
import math
import os
import select
import signal
import socket
import time
from dataclasses import dataclass
from typing import NoReturn

from lic_pipeline.sandbox.python import candidate, isolation, plain, seccomp
from lic_pipeline.sandbox.python.child import STATUS
from lic_pipeline.sandbox.python.supervisor import IDLE, MORE, supervise
from lic_pipeline.sandbox.python.wire import JOB, receive_frame

MAX_IDLE = 8


class Server:
    """Gives each job that arrives a fresh process for the program and a supervisor, and ends what outlives its time."""

    def __init__(self, control: socket.socket, owner: int, *, strong: bool, folders: str) -> None:
        self.control = control
        self.owner = owner
        self.strong = strong
        self.folders = folders
        self.supervisors: dict[int, _Supervised] = {}
        self.programs: dict[int, _Program] = {}
        self.namespace = isolation.own_pid_namespace() if strong else -1
        self.wakeup, wakeup_end = os.pipe()
        os.set_blocking(self.wakeup, False)
        os.set_blocking(wakeup_end, False)
        signal.set_wakeup_fd(wakeup_end)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.poller = select.poll()
        for fd in (control.fileno(), self.wakeup, owner):
            if fd >= 0:
                self.poller.register(fd, select.POLLIN)

    def serve(self) -> None:
        """Until the owner is gone; its end is the end of all jobs."""
        try:
            while self._step():
                pass
        finally:
            for pid in [*self.programs, *self.supervisors]:
                self._kill(pid)
            for program in self.programs.values():
                program.forget()
            os._exit(0)

    def _step(self) -> bool:
        now = time.monotonic()
        soonest = min((one.deadline for one in self.supervisors.values()), default=now + 5)
        ready = {fd for fd, _ in self.poller.poll(min(max(soonest - now, 0), 5) * 1000 + 1)}
        if self.owner in ready:
            return False
        if self.wakeup in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(self.wakeup, 4096)
        self._reap()
        for pid, one in list(self.supervisors.items()):
            if one.link.fileno() in ready:
                self._listen(pid, one)
            elif one.deadline <= time.monotonic():
                self._kill(pid)
                one.deadline = time.monotonic() + 5
        return self._accept() if self.control.fileno() in ready else True

    def _listen(self, pid: int, one: _Supervised) -> None:
        """A supervisor wants another process for its program, or is idle again."""
        try:
            word = one.link.recv(1)
        except ConnectionResetError:
            word = b""
        if word == MORE:
            with contextlib.suppress(OSError):
                self._equip(pid, one, [])
        elif word == IDLE and self._idle() < MAX_IDLE:
            one.deadline = math.inf
        else:
            self.poller.unregister(one.link.fileno())
            one.link.close()
            self._kill(pid)

    def _idle(self) -> int:
        return sum(one.deadline == math.inf for one in self.supervisors.values())

    def _accept(self) -> bool:
        fds = array.array("i")
        try:
            head, ancillary, _, _ = self.control.recvmsg(JOB.size, socket.CMSG_SPACE(fds.itemsize))
        except ConnectionResetError:
            return False
        if len(head) < JOB.size:
            return False
        for _, _, data in ancillary:
            fds.frombytes(data[: fds.itemsize])
        if fds:
            with contextlib.suppress(OSError):  # no process to be had: the owner sees the connection close
                pid, one = self._supervisor()
                one.deadline = time.monotonic() + JOB.unpack(head)[0] / 1000
                self._equip(pid, one, [fds[0]])
            os.close(fds[0])
        return True

    def _supervisor(self) -> tuple[int, _Supervised]:
        for pid, one in self.supervisors.items():
            if one.deadline == math.inf and one.link.fileno() >= 0:
                return pid, one
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            self._become_supervisor(theirs)
        theirs.close()
        self.supervisors[pid] = one = _Supervised(ours)
        self.poller.register(ours.fileno(), select.POLLIN)
        return pid, one

    def _become_supervisor(self, link: socket.socket) -> None:
        try:
            os.dup2(link.fileno(), 3)
            os.closerange(4, 4096)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if self.strong:
                isolation.drop_privileges()
            supervise(3)
        finally:
            os._exit(0)

    def _equip(self, pid: int, one: _Supervised, fds: list[int]) -> None:
        """Fork a process for a program, in namespaces of its own, and hand it to a supervisor."""
        ours, theirs = socket.socketpair()
        output, output_end = os.pipe()
        ending, ending_end = os.pipe()
        folder = None
        if not self.strong:
            folder = os.path.join(self.folders, f"lic-sandbox-{os.getpid()}-{os.urandom(6).hex()}")
            os.mkdir(folder, 0o700)
        if self.strong:
            isolation.unshare(isolation.NEWPID)
        try:
            child = os.fork()
            if child == 0:
                self._become_program(theirs.fileno(), output_end, folder)
        finally:
            if self.strong:
                isolation.children_stay_here(self.namespace)
        self.programs[child] = _Program(pid, ending_end, folder)
        sent = array.array("i", [*fds, ours.fileno(), output, ending])
        with contextlib.suppress(OSError):  # a supervisor that died is found when it is reaped
            one.link.sendmsg([JOB.pack(child)], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, sent)])
        ours.close()
        theirs.close()
        for fd in (output, output_end, ending):
            os.close(fd)

    def _become_program(self, channel: int, output: int, folder: str | None) -> NoReturn:
        try:
            if self.strong:
                isolation.private_tmp(filtered=seccomp.supported())
            elif folder is not None:
                os.setsid()
                os.chdir(folder)
                if isolation.is_linux():
                    isolation.die_with_parent()
            os.dup2(output, 1)
            os.dup2(channel, candidate.CHANNEL)
            os.closerange(candidate.CHANNEL + 1, 4096)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if self.strong:
                isolation.drop_privileges()
            isolation.filter_calls()
            candidate.run(plain.loads(receive_frame(candidate.CHANNEL)), strong=self.strong)
        finally:
            os._exit(120)

    def _kill(self, pid: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
        if pid in self.programs and not self.strong:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)

    def _reap(self) -> None:
        while self.supervisors or self.programs:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            if pid in self.programs:
                self._kill(pid)
                self.programs.pop(pid).ended(status)
            elif pid in self.supervisors:
                one = self.supervisors.pop(pid)
                if one.link.fileno() >= 0:
                    self.poller.unregister(one.link.fileno())
                    one.link.close()
                for program in [child for child, of in self.programs.items() if of.supervisor == pid]:
                    self._kill(program)


@dataclass
class _Supervised:
    """A supervisor: our end of its link, and when its job must be over (never = it is idle)."""

    link: socket.socket
    deadline: float = math.inf


@dataclass
class _Program:
    """A program's process: whose it is, where to tell its end, its folder in weak mode."""

    supervisor: int
    ending: int
    folder: str | None

    def ended(self, status: int) -> None:
        """Tell the supervisor how it ended."""
        with contextlib.suppress(OSError):
            os.write(self.ending, STATUS.pack(status))
        os.close(self.ending)
        self.forget()

    def forget(self) -> None:
        """Remove its folder."""
        if self.folder is not None:
            from shutil import rmtree  # drags libraries along that strong mode need not copy for each job

            rmtree(self.folder, ignore_errors=True)
