"""The small process that forks the others, with the standard library already imported.

It starts with an empty environment, builds the walls once, tries them, says which mode holds, and then serves
(``server``) until its control socket closes or its owner dies.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import socket
import sys
from typing import Any

from lic_pipeline.sandbox.python import candidate, checker, isolation, plain, seccomp
from lic_pipeline.sandbox.python.child import Child, Timer
from lic_pipeline.sandbox.python.server import Server
from lic_pipeline.sandbox.python.wire import receive_frame, send_frame

_PRELOAD = """abc array bisect calendar cmath collections collections.abc copy dataclasses datetime decimal enum
    fractions functools heapq io itertools json math numbers operator queue random re statistics string sys textwrap
    threading time types typing unicodedata""".split()  # noqa: SIM905
_WARM_UPS = 12
_ADVICE = (
    "the strong mode needs Linux 5.8 or later and either root with CAP_SYS_ADMIN or user namespaces for ordinary users "
    "(sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns; containers often forbid both)"
)


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
    Server(control, owner, strong=False, folders=config["folders"]).serve()


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
    seccomp.program_for(1)


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
        return f"the system refused ({said or 'the process that builds the walls died'}): {_ADVICE}"
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
            Server(control, owner, strong=True, folders="").serve()
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
            isolation.private_tmp(filtered=False)
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
