"""The small process that forks the others, with the standard library already imported.

It starts with an empty environment, builds the walls once, tries them, says which mode holds, and then serves its
control socket: 8 bytes (deadline in ms) plus one descriptor a job. It ends when the socket closes or its owner dies.
"""

from __future__ import annotations

import array
import contextlib
import gc
import importlib
import math
import os
import select
import signal
import socket
import struct
import sys
import time
from dataclasses import dataclass
from typing import Any, NoReturn

from lic_pipeline.sandbox.python import candidate, checker, isolation, plain, seccomp
from lic_pipeline.sandbox.python.supervisor import STATUS, Child, Supervisor, Timer
from lic_pipeline.sandbox.python.wire import receive_frame, send_frame

JOB = struct.Struct("!Q")
MORE, IDLE = b"m", b"i"
MAX_JOBS = 200
MAX_IDLE = 8
MAX_MEMORY = 2 << 30
_PRELOAD = """abc array bisect calendar cmath collections collections.abc copy dataclasses datetime decimal enum
    fractions functools heapq io itertools json math numbers operator queue random re statistics string sys textwrap
    threading time types typing unicodedata""".split()  # noqa: SIM905
_WARM_UPS = 12


def main() -> None:
    """Entry of the zygote: ``argv[1]`` is the control descriptor; its first frame is the configuration."""
    control = socket.socket(fileno=int(sys.argv[1]))
    config = plain.loads(receive_frame(control.fileno()))
    sys.path = [entry for entry in sys.path if entry != config["package_root"]]
    for name in _PRELOAD:
        importlib.import_module(name)
    owner = _watch(config["owner"])
    candidate.standard_streams()
    _warm_up()
    gc.collect()
    gc.freeze()
    reason = "asked for" if config["weak"] else _serve_strong(control, owner, config)
    sys.path += config["weak_path"]
    send_frame(control.fileno(), plain.dumps({"mode": "weak", "reason": reason}))
    _Server(control, owner, strong=False, folders=config["folders"]).serve()


def _warm_up() -> None:
    """Run what every job runs, so that the interpreter has specialised and cached it before the first fork.

    Memory that a child writes to must be copied, and that is most of what a job costs.
    """
    with open(os.devnull, "wb") as nowhere:
        for _ in range(_WARM_UPS):
            request = {"op": "check", "setup": "", "test": _WARM_TEST, "entry": "f"}
            checker.check(request, _Warm(nowhere.fileno()), 5.0)
            host = candidate.Host(candidate.load(_WARM_PROGRAM, tolerant=False), {"name": "f", "owner": None})
            for value in (1, "a", [1.5, "b"], (1, 2), {"a": [None, True]}):
                call = {"op": "call", "handle": None, "args": [plain.encode(value, _no_handle)], "track": True}
                plain.decode(plain.loads(plain.dumps(host.answer(call)))["ok"], _no_object)
    sys.modules.pop("solution", None)
    seccomp.program(1)


_WARM_PROGRAM = "from typing import List\n\ndef f(x):\n    for _ in [x]:\n        pass\n    return x\n"
_WARM_TEST = "def check(candidate):\n    assert candidate([1, 'a']) == 3\n"


class _Warm(Child):
    """Stands for a program that always answers 3."""

    def __init__(self, channel: int) -> None:
        super().__init__(os.getpid(), channel, channel, channel)

    def send(self, message: dict[str, Any], timer: Timer) -> None:
        plain.dumps(message)

    def await_frame(self, timer: Timer) -> bytes:
        timer.left()
        return b'{"ok":3}'


def _no_handle(value: Any) -> tuple[int, str]:
    raise TypeError(type(value).__name__)


def _no_object(number: int, kind: str) -> Any:
    raise TypeError(kind)


def _watch(pid: int) -> int:
    """A descriptor that becomes readable when the owner dies, -1 where there is none."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):
        return -1


def _serve_strong(control: socket.socket, owner: int, config: dict[str, Any]) -> str:
    """Serve behind strong walls and exit, or return why they cannot be built."""
    if not isolation.is_linux():
        return f"{sys.platform} has no namespaces"
    answer, answer_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(answer)
        _first_child(control, owner, config, answer_end)
    os.close(answer_end)
    with os.fdopen(answer, "rb") as pipe:
        said = pipe.read().decode()
    if said != "ok":
        os.waitpid(pid, 0)
        return said or "the process that builds the walls died"
    control.close()
    os.waitpid(pid, 0)
    os._exit(0)


def _first_child(control: socket.socket, owner: int, config: dict[str, Any], answer: int) -> None:
    """Enter the namespaces; the next child is the first process of the new pid namespace."""
    stage = config["stage"]
    try:
        isolation.die_with_parent()
        isolation.enter_namespaces()
        pid = os.fork()
        if pid == 0:
            isolation.die_with_parent()
            isolation.build_root(stage, config["libraries"], config["extra"])
            isolation.forget_capabilities()
            sys.path += [target for _, target in config["extra"]][:1] and ["/extra"]
            _try_walls()
            os.write(answer, b"ok")
            os.close(answer)
            send_frame(control.fileno(), plain.dumps({"mode": "strong", "reason": _walls()}))
            _Server(control, owner, strong=True, folders="").serve()
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.write(answer, f"{type(error).__name__}: {error}"[:500].encode())
        os._exit(1)
    os.close(answer)
    control.close()
    os.waitpid(pid, 0)
    os._exit(0)


def _walls() -> str:
    names = ["namespaces (mount, pid, net, ipc, uts)", "empty root folder", "no capabilities", "resource limits"]
    return ", ".join(names + (["system call filter"] if seccomp.supported() else []))


def _try_walls() -> None:
    """Do once what every job does. Raises OSError when a job could not be walled in."""
    here = isolation.own_pid_namespace()
    isolation.unshare(isolation.NEWPID)
    pid = os.fork()
    if pid == 0:
        try:
            isolation.private_tmp(network=True)
            isolation.drop_privileges()
            isolation.filter_calls()
            os._exit(0 if not os.path.exists("/proc/self") and not os.access("/", os.W_OK) else 3)
        except BaseException:
            os._exit(4)
    isolation.children_stay_here(here)
    os.close(here)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status:
        raise OSError(status, "a trial job could not be walled in")


class _Server:
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
                isolation.private_tmp(network=not seccomp.supported())
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
