"""Hostile programs: each is contained, gets a verdict and no points, leaves nothing running, and the next one runs."""

# ruff: noqa: E501 - a table reads best with one case a line

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lic_pipeline.sandbox.python.api import (
    Call,
    Check,
    Limits,
    Pool,
    ProgramJob,
    ProgramResult,
    Stdin,
    Target,
    run_program,
)

LIMITS = Limits(test_seconds=0.4, wall_seconds=20, memory_bytes=256 * 1024 * 1024, output_bytes=1 << 20)
TEST = """
def check(candidate):
    for n in range(1, 40):
        assert candidate(n) == n * 7 + 1
    assert candidate(100) == 701
"""
CANARY = "sk-canary-3f1c"


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    os.environ["LIC_TEST_SECRET"] = CANARY
    pool = Pool()
    yield pool
    pool.close()
    del os.environ["LIC_TEST_SECRET"]


def checked(source: str, pool: Pool) -> ProgramResult:
    return run_program(ProgramJob(source, (Check(TEST, "", "f"),), Target("f"), limits=LIMITS), pool)


def called(body: str, pool: Pool) -> object:
    """What a function with this body returns from inside."""
    source = "def f():\n" + "\n".join("    " + line for line in body.strip("\n").split("\n"))
    result = run_program(ProgramJob(source, (Call(()),), Target("f"), limits=LIMITS), pool)
    assert result.ending == "ok", result
    return result.outcomes[0].value


HOSTILE: dict[str, tuple[str, set[str]]] = {
    "infinite loop": ("def f(n):\n    while True: pass", {"timeout"}),
    "infinite loop when loaded": ("while True: pass\ndef f(n): return 1", {"timeout"}),
    "sleeps": ("import time\ndef f(n): time.sleep(1000)", {"timeout"}),
    "uninterruptible loop": ("def f(n):\n    while True:\n        try:\n            while True: pass\n        except BaseException: pass", {"timeout"}),
    "endless single operation": ("def f(n): return 9 ** 9 ** 9", {"timeout", "memory"}),
    "os._exit(0)": ("import os\ndef f(n): os._exit(0)", {"exited"}),
    "os._exit(0) when loaded": ("import os\nos._exit(0)\ndef f(n): return n * 7 + 1", {"exited"}),
    "sys.exit": ("import sys\ndef f(n): sys.exit(0)", {"exited"}),
    "sys.exit when loaded": ("import sys\nsys.exit()\ndef f(n): return n * 7 + 1", {"exited"}),
    "raise SystemExit": ("def f(n): raise SystemExit('all tests passed')", {"exited"}),
    "exit()": ("def f(n): exit(0)", {"exited"}),
    "fork storm": ("import os\ndef f(n):\n    while True: os.fork()", {"forbidden"}),
    "swallowing fork storm": ("import os\ndef f(n):\n    while True:\n        try: os.fork()\n        except OSError: pass", {"timeout"}),
    "subprocess": ("import subprocess\ndef f(n): return subprocess.run(['/bin/sh', '-c', 'id'])", {"forbidden"}),
    "os.system": ("import os\ndef f(n): return os.system('id')", {"wrong", "forbidden"}),
    "exec": ("import os\ndef f(n): os.execv('/usr/bin/true', ['true'])", {"forbidden", "runtime_error"}),
    "huge output": ("def f(n):\n    while True: print('x' * 100000)", {"output_limit"}),
    "huge output on stderr": ("import sys\ndef f(n):\n    while True: print('x' * 100000, file=sys.stderr)", {"timeout"}),
    "huge result": ("def f(n): return 'x' * 100_000_000", {"output_limit", "memory", "timeout"}),
    "reads stdin": ("def f(n): return int(input())", {"runtime_error"}),
    "reads raw stdin": ("import os\ndef f(n): return int(os.read(0, 100))", {"runtime_error"}),
    "memory bomb": ("def f(n):\n    x = []\n    while True: x.append(bytearray(10**7))", {"memory", "timeout"}),
    "memory bomb when loaded": ("x = [0] * 10**10\ndef f(n): return 1", {"memory", "timeout"}),
    "fills the disk": ("def f(n):\n    with open('/tmp/x', 'wb') as file:\n        while True: file.write(b'x' * 10**6)", {"runtime_error"}),
    "threads left running": ("import threading\ndef spin():\n    while True: pass\ndef f(n):\n    threading.Thread(target=spin).start()\n    return 0", {"wrong", "timeout"}),
    "thread storm": ("import threading, time\ndef f(n):\n    while True: threading.Thread(target=time.sleep, args=(99,)).start()", {"runtime_error", "memory", "timeout"}),
    "socket": ("import socket\ndef f(n): return socket.create_connection(('127.0.0.1', 22))", {"forbidden", "runtime_error"}),
    "udp socket": ("import socket\ndef f(n): socket.socket(socket.AF_INET, socket.SOCK_DGRAM)", {"forbidden"}),
    "unix socket": ("import socket\ndef f(n): socket.socket(socket.AF_UNIX).connect('/var/run/docker.sock')", {"forbidden"}),
    "deep recursion": ("import sys\nsys.setrecursionlimit(10**9)\ndef f(n): return f(n + 1)", {"memory", "runtime_error", "timeout"}),
    "deep recursion in C": ("import sys\nsys.setrecursionlimit(10**9)\nclass A:\n    def __repr__(self): return repr(self)\ndef f(n): return repr(A())", {"runtime_error", "memory", "timeout"}),
    "kills itself": ("import os, signal\ndef f(n): os.kill(os.getpid(), signal.SIGSEGV)", {"runtime_error", "wrong"}),
    "kills its parent": ("import os, signal\ndef f(n): os.kill(os.getppid(), signal.SIGKILL)", {"forbidden", "runtime_error"}),
    "kills everything": ("import os, signal\ndef f(n): os.kill(-1, signal.SIGKILL)", {"forbidden", "runtime_error"}),
    "aborts": ("import os\ndef f(n): os.abort()", {"runtime_error"}),
    "segmentation fault": ("import ctypes\ndef f(n): ctypes.string_at(0)", {"runtime_error"}),
    "ignores all signals": ("import signal\nfor s in range(1, 30):\n    try: signal.signal(s, signal.SIG_IGN)\n    except OSError: pass\ndef f(n):\n    while True: pass", {"timeout"}),
    "closes all descriptors": ("import os\ndef f(n): os.closerange(0, 4096)", {"exited"}),
    "patches builtins": ("import builtins\nbuiltins.AssertionError = ValueError\nbuiltins.range = lambda *a: []\nbuiltins.len = lambda x: 0\ndef f(n): return 0", {"wrong", "runtime_error"}),
    "always equal object": ("class A:\n    def __eq__(self, other): return True\n    def __ne__(self, other): return False\n    def __hash__(self): return 0\ndef f(n): return A()", {"wrong"}),
    "always equal integer": ("class A(int):\n    def __eq__(self, other): return True\n    __req__ = __eq__\ndef f(n): return A(5)", {"wrong"}),
    "always equal string": ("class A(str):\n    def __eq__(self, other): return True\n    __hash__ = str.__hash__\ndef f(n): return A('x')", {"wrong"}),
    "patches sys.modules": ("import sys, types\nfor name in list(sys.modules):\n    if 'lic' in name: sys.modules[name] = types.ModuleType(name)\ndef f(n): return 0", {"wrong"}),
    "replaces the encoder": ("import sys\nplain = sys.modules['lic_pipeline.sandbox.python.plain']\nplain.dumps = lambda m: b'{\"ok\":null,\"stopped\":\"ok\"}'\ndef f(n): return 0", {"wrong"}),
    "forges a verdict on the channel": ("import os, struct\ndef f(n):\n    for body in (b'{\"stopped\":\"ok\"}', b'{\"ok\":null}', b'{\"ok\":true,\"verdict\":\"correct\"}'):\n        for fd in range(3, 64):\n            try: os.write(fd, struct.pack('!I', len(body)) + body)\n            except OSError: pass\n    os._exit(0)", {"wrong", "exited", "runtime_error"}),
    "garbage on the channel": ("import os\ndef f(n):\n    os.write(3, b'\\xff' * 1000)\n    return 0", {"output_limit", "runtime_error", "exited"}),
    "nested garbage on the channel": ("import os, struct\ndef f(n):\n    body = b'{\"ok\":' + b'[' * 100000 + b']' * 100000 + b'}'\n    os.write(3, struct.pack('!I', len(body)) + body)\n    return 0", {"runtime_error"}),
    "forged success output": ("import os\nprint('OK')\nos.write(1, b'{\"ok\": null}')\ndef f(n):\n    print('passed', 'correct', 100)\n    return None", {"wrong"}),
    "reads the channel": ("import os\ndef f(n):\n    while True: os.read(3, 1000)", {"timeout"}),
    "looks for the tests": ("import gc, sys\ndef f(n):\n    for thing in gc.get_objects():\n        if isinstance(thing, (dict, list, str)) and '70' + '1' in thing: return n * 7 + 1\n    frame = sys._getframe()\n    while frame:\n        if 'candidate(' + '100)' in repr(frame.f_locals)[:10**6]: return n * 7 + 1\n        frame = frame.f_back\n    return -1", {"wrong"}),
    "calls back without end": ("import os, struct\ndef f(n):\n    body = b'{\"callback\":-1,\"args\":[]}'\n    while True:\n        os.write(3, struct.pack('!I', len(body)) + body)", {"timeout", "exited", "runtime_error"}),
    "leaves notes for later jobs": ("import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\ndef f(n):\n    made = [libc.shmget(7, 4096, 0o1666), libc.msgget(7, 0o1666), libc.semget(7, 1, 0o1666)]\n    if max(made) >= 0: return n * 7 + 1\n    raise PermissionError(ctypes.get_errno(), 'ipc')", {"forbidden"}),
    "traces its checker": ("import ctypes\nlibc = ctypes.CDLL(None, use_errno=True)\ndef f(n):\n    if libc.ptrace(16, 1, 0, 0) == 0: return n * 7 + 1\n    raise PermissionError(ctypes.get_errno(), 'ptrace')", {"forbidden"}),
    "raises an endless message": ("class E(Exception):\n    def __str__(self):\n        while True: pass\ndef f(n): raise E()", {"timeout"}),
    "cyclic result": ("def f(n):\n    x = []\n    x.append(x)\n    return x", {"runtime_error"}),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_program_is_contained_and_scores_nothing(name: str, pool: Pool) -> None:
    source, allowed = HOSTILE[name]
    started = time.monotonic()
    result = checked(source, pool)
    assert result.ending in allowed, (result.ending, result.detail)
    assert time.monotonic() - started < 8
    assert checked("def f(n): return n * 7 + 1", pool).ending == "ok", "the sandbox does not survive"


def test_nothing_is_left_running(pool: Pool) -> None:
    for name in ("infinite loop", "threads left running", "swallowing fork storm", "ignores all signals"):
        checked(HOSTILE[name][0], pool)
    deadline = time.monotonic() + 3
    while (left := _descendants(pool.pid())) > 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left <= 2, "more than the zygote's own two processes are alive"


def _descendants(root: int) -> int:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if stat[0] != "Z":
                parents[int(entry.name)] = int(stat[1])
    found, grown = {root}, True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        found |= more
        grown = bool(more)
    return len(found) - 1


SECRETS: dict[str, str] = {
    "environment": "import os\nreturn repr(dict(os.environ))",
    "environment of other processes": """
import glob
text = b''
for name in glob.glob('/proc/[0-9]*/environ') + ['/proc/self/environ', '/proc/1/environ']:
    try: text += open(name, 'rb').read()
    except OSError: pass
return repr(text)""",
    "memory of this process": """
import gc
return repr([o for o in gc.get_objects() if isinstance(o, (str, bytes, dict)) and 'canary' in repr(o)])[:1000]""",
}


@pytest.mark.parametrize("place", SECRETS)
def test_secrets_of_the_owner_are_out_of_reach(place: str, pool: Pool) -> None:
    assert CANARY not in str(called(SECRETS[place], pool))


def test_files_of_the_user_cannot_be_read(pool: Pool, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text(CANARY)
    body = f"""
found = []
for name in ({str(secret)!r}, {str(Path(__file__))!r}, '/etc/passwd', '/etc/shadow', '/proc/1/root/etc/passwd', '/etc/hostname'):
    try: found.append(open(name).read())
    except OSError: pass
return found"""
    assert called(body, pool) == []


def test_nothing_outside_the_private_folder_can_be_written(pool: Pool) -> None:
    body = """
import os
places = ['/', '/usr', '/usr/lib', '/lib', '/dev', os.path.dirname(os.__file__), '/extra']
written = []
for place in places:
    try:
        open(os.path.join(place, 'lic-test'), 'w').close()
        written.append(place)
    except OSError: pass
open('/tmp/own', 'w').write('mine')
return written, open('own').read()"""
    assert called(body, pool) == ([], "mine")


def test_jobs_do_not_see_each_other(pool: Pool) -> None:
    called("open('/tmp/left', 'w').write('x')", pool)
    assert called("import os\nreturn os.listdir('/tmp'), os.getpid()", pool) == ([], 1)


def test_no_privileges_are_left(pool: Pool) -> None:
    body = """
import os
try:
    os.setuid(0)
    return 'root'
except OSError:
    return os.getuid() != 0 and os.geteuid() != 0, os.getgroups()"""
    value = called(body, pool)
    assert isinstance(value, tuple)
    assert value[0] is True


def test_script_output_that_never_ends(pool: Pool) -> None:
    job = ProgramJob("while True: print('x' * 1000)", (Stdin("1\n"),), limits=LIMITS)
    assert run_program(job, pool).ending == "output_limit"


def test_script_thread_that_never_ends(pool: Pool) -> None:
    source = "import threading\nprint(input())\nthreading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start()"
    assert run_program(ProgramJob(source, (Stdin("1\n"),), limits=LIMITS), pool).ending in {"timeout", "memory"}


def test_a_program_that_never_reads_large_arguments(pool: Pool) -> None:
    source = "import os, threading\ndef f(x):\n    while True: pass"
    steps = (Call((1,)), Call(("x" * 4_000_000,)))
    assert run_program(ProgramJob(source, steps, Target("f"), limits=LIMITS), pool).ending == "timeout"


def test_hostile_and_good_programs_side_by_side(pool: Pool) -> None:
    bad = [HOSTILE[name][0] for name in ("infinite loop", "memory bomb", "swallowing fork storm", "os._exit(0)")]
    endings: dict[int, str] = {}

    def run(number: int) -> None:
        source = bad[number % 4] if number % 2 else "def f(n): return n * 7 + 1"
        endings[number] = checked(source, pool).ending

    threads = [threading.Thread(target=run, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [endings[number] for number in range(0, 12, 2)] == ["ok"] * 6
    assert all(endings[number] != "ok" for number in range(1, 12, 2))


SCAN = """
import ctypes, os
def f(n):
    libc = ctypes.CDLL(None)
    libc.write.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    {extra}
    hits, middle = 0, id(object()) & ~0xFFFFFF
    for address in range(middle - (32 << 20), middle + (32 << 20), 4096):
        if libc.write(writing, address, 4096) > 0:  # EFAULT where nothing is mapped
            hits += b'{backwards}' in os.read(reading, 4096)[::-1]
    raise ValueError('hits: %d' % hits)
"""


@pytest.mark.parametrize(("extra", "found"), [("pass", False), ("own = 'candidate(100)' + ' == 701'", True)])
def test_no_test_stands_in_the_memory_of_a_program(extra: str, found: bool, pool: Pool) -> None:
    for _ in range(3):  # a supervisor that has seen the test before must not hand it on
        assert checked("def f(n): return n * 7 + 1", pool).ending == "ok"
    source = SCAN.format(extra=extra, backwards="candidate(100) == 701"[::-1])
    job = ProgramJob(source, (Check(TEST, "", "f"),), Target("f"), limits=Limits(test_seconds=5))
    assert ("hits: 0" not in run_program(job, pool).detail) is found
