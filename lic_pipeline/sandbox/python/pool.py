"""Our end of the zygote: starts it, restarts it when it dies, hands it jobs. Safe to use from any number of threads.

A forked copy of this process starts a zygote of its own; at exit the zygote is closed. It also dies with this process,
however that ends.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import importlib.util
import os
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lic_pipeline.errors import LicError
from lic_pipeline.sandbox.python import plain
from lic_pipeline.sandbox.python.wire import JOB, WireError, receive_frame, send_frame

Mode = Literal["strong", "weak"]

_PACKAGE_ROOT = str(Path(__file__).resolve().parents[3])
_START = (
    "import os, sys; os.register_at_fork = lambda **_: None; sys.path.insert(0, sys.argv[2]); "
    "from lic_pipeline.sandbox.python import zygote; zygote.main()"
)
_START_SECONDS = 60.0
_SETTINGS = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "/tmp",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "LD_BIND_NOW": "1",  # bound now, or each job copies and binds anew
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}


class SandboxError(LicError):
    """The sandbox itself does not work (nothing is known about the program)."""


@dataclass(frozen=True)
class _Zygote:
    process: subprocess.Popen[bytes]
    control: socket.socket
    mode: Mode
    reason: str


class Pool:
    """One zygote and the number of jobs that may run at once (default: one a processor)."""

    def __init__(self, *, weak: bool = False, concurrency: int | None = None) -> None:
        self._weak = weak
        self._lock = threading.Lock()
        self._zygote: _Zygote | None = None
        self._owner = os.getpid()
        self.slots = threading.BoundedSemaphore(concurrency or max(2, os.cpu_count() or 2))

    def mode(self) -> tuple[Mode, str]:
        """The mode and what it consists of, or why it is not stronger. Raises SandboxError when nothing starts."""
        with self._lock:
            zygote = self._running()
            return zygote.mode, zygote.reason

    def connect(self, seconds: float) -> socket.socket:
        """A connection to a fresh supervisor that lives ``seconds`` at most. Raises SandboxError."""
        for _ in range(3):
            with self._lock:
                zygote = self._running()
                ours, theirs = socket.socketpair()
                head, fds = JOB.pack(int(seconds * 1000)), array.array("i", [theirs.fileno()])
                try:
                    zygote.control.sendmsg([head], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
                    return ours
                except OSError:
                    ours.close()
                    self._discard()
                finally:
                    theirs.close()
        raise SandboxError("the sandbox process dies again and again; `lic doctor` tells more")

    def close(self) -> None:
        """End the zygote and every job. A later job starts a new one."""
        with self._lock:
            self._discard()

    def pid(self) -> int:
        """Process id of the zygote; starts it when needed."""
        with self._lock:
            return self._running().process.pid

    def _running(self) -> _Zygote:
        if self._owner != os.getpid():  # a forked copy must not share its parent's zygote
            self._zygote, self._owner = None, os.getpid()
        if self._zygote is not None and self._zygote.process.poll() is not None:
            self._discard()
        if self._zygote is None:
            self._zygote = _start(self._weak)
        return self._zygote

    def _discard(self) -> None:
        zygote, self._zygote = self._zygote, None
        if zygote is None or self._owner != os.getpid():
            return
        zygote.control.close()
        try:
            zygote.process.wait(5)
        except subprocess.TimeoutExpired:
            zygote.process.kill()
            zygote.process.wait(5)


def _start(weak: bool) -> _Zygote:
    """Launch a zygote and wait for its word. Raises SandboxError."""
    ours, theirs = socket.socketpair()
    environment = dict(_SETTINGS)
    if "LD_LIBRARY_PATH" in os.environ:  # some interpreters do not start without
        environment["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
    command = [sys.executable, "-P", "-s", "-S", "-B", "-c", _START, str(theirs.fileno()), _PACKAGE_ROOT]
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
    except OSError as error:
        ours.close()
        raise SandboxError(f"the sandbox process cannot be started: {error}") from None
    finally:
        theirs.close()
    stage = tempfile.mkdtemp(prefix="lic-sandbox-root-")
    try:
        send_frame(ours.fileno(), plain.dumps(_configuration(weak, stage)))
        word = plain.loads(receive_frame(ours.fileno(), time.monotonic() + _START_SECONDS))
        return _Zygote(process, ours, word["mode"], word["reason"])
    except (WireError, plain.PlainError, OSError, KeyError) as error:
        process.kill()
        process.wait(5)
        ours.close()
        raise SandboxError(f"the sandbox process does not start: {error}") from None
    finally:
        os.rmdir(stage)  # what is mounted on it lives in the zygote's own mount namespace, as its root


def _configuration(weak: bool, stage: str) -> dict[str, object]:
    """What the zygote cannot find out by itself: folders to show inside, and numpy, which programs may import."""
    # Those of the interpreter itself: a virtual environment's own folder holds nothing a program may import, and may
    # lie below /tmp, which every job gets afresh.
    of_interpreter = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    folders = [sysconfig.get_path(name, vars=of_interpreter) for name in ("stdlib", "platstdlib")]
    base = Path(sys.base_prefix) / "lib"
    if base != Path("/usr/lib"):
        folders.insert(0, sysconfig.get_config_var("LIBDIR") or str(base))
    numpy = importlib.util.find_spec("numpy")
    extra: list[tuple[str, str]] = []
    weak_path: list[str] = []
    if numpy is not None and numpy.origin is not None:
        package = Path(numpy.origin).parent
        weak_path.append(str(package.parent))
        extra = [
            (str(folder), f"/extra/{folder.name}")
            for folder in (package, package.parent / "numpy.libs")
            if folder.is_dir()
        ]
    return {
        "owner": os.getpid(),
        "weak": weak,
        "package_root": _PACKAGE_ROOT,
        "libraries": [folder for folder in dict.fromkeys(folders) if folder and os.path.isdir(folder)],
        "extra": extra,
        "weak_path": weak_path,
        "stage": stage,
        "folders": tempfile.gettempdir(),
    }


_default: Pool | None = None
_default_lock = threading.Lock()


def default_pool() -> Pool:
    """The pool everything shares; made on first use, closed at exit."""
    global _default
    with _default_lock:
        if _default is None:
            _default = Pool()
            atexit.register(_close_default)
        return _default


def _close_default() -> None:
    if _default is not None:
        with contextlib.suppress(OSError):
            _default.close()


def _after_fork() -> None:
    """A lock another thread held at the moment of the fork would stay locked in the copy."""
    global _default, _default_lock
    _default, _default_lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
