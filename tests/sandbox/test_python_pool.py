"""The pool behind the Python sandbox: its modes, its zygote's life and death, threads, forks, and what it shows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from support.programs import LIMITS, call, check

from lic_pipeline.sandbox.python import pool as pool_module
from lic_pipeline.sandbox.python.api import Pool, ProgramJob, Stdin, run_program, sandbox_description, sandbox_mode


def test_mode_has_a_description() -> None:
    assert sandbox_mode() in ("strong", "weak")
    assert len(sandbox_description()) > 5


def test_the_pool_restarts_a_dead_zygote(pool: Pool) -> None:
    first = pool.pid()
    os.kill(first, signal.SIGKILL)
    assert call(pool, "def f(): return 1").value == 1
    assert pool.pid() != first


def test_a_zygote_that_dies_in_the_middle_costs_nothing(pool: Pool) -> None:
    killer = threading.Timer(0.3, lambda: os.kill(pool.pid(), signal.SIGKILL))
    killer.start()
    assert call(pool, "import time\ndef f():\n    time.sleep(0.6)\n    return 1").value == 1
    killer.join()


def test_many_threads_at_once(pool: Pool) -> None:
    values: dict[int, Any] = {}

    def run(number: int) -> None:
        values[number] = call(pool, "def f(x): return x * 2", number).value

    threads = [threading.Thread(target=run, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert values == {number: number * 2 for number in range(16)}


def test_a_forked_copy_uses_a_zygote_of_its_own(pool: Pool) -> None:
    call(pool, "def f(): return 1")
    pid = os.fork()
    if pid == 0:
        try:
            right = call(pool, "def f(): return 7").value == 7
            pool.close()
            os._exit(0 if right else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert call(pool, "def f(): return 3").value == 3


OWNER = """
import os, signal, sys, threading
from lic_pipeline.sandbox.python.api import *
pool = default_pool()
print(pool.pid(), flush=True)
loop = ProgramJob("def f():\\n    while True: pass", (Call(()),), Target("f"), limits=Limits(test_seconds=60))
threading.Thread(target=run_program, args=(loop,), daemon=True).start()
threading.Event().wait(0.5)
if sys.argv[1] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("how", ["exit", "kill"])
def test_nothing_outlives_its_owner(how: str) -> None:
    ended = subprocess.run([sys.executable, "-c", OWNER, how], capture_output=True, text=True, timeout=60, check=False)
    zygote = int(ended.stdout.split()[0])
    deadline = time.monotonic() + 5
    while _alive_in_session(zygote) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert _alive_in_session(zygote) == []


def _alive_in_session(session: int) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat") as file:
                    fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(name))
    return found


def test_weak_mode_gives_the_same_results() -> None:
    pool = Pool(weak=True)
    try:
        assert pool.mode() == ("weak", "asked for")
        assert call(pool, "def f(x): return x + 1", 1).value == 2
        assert check(pool, "def f(x): return x + 1", "assert candidate(1) == 2")[0] == "ok"
        assert check(pool, "def f(x):\n    while True: pass", "candidate(1)")[0] == "timeout"
        outcome = run_program(ProgramJob("print(input())", (Stdin("a"),), limits=LIMITS), pool).outcomes[0]
        assert outcome.value == "a\n"
        assert "PATH" in call(pool, "import os\ndef f(): return list(os.environ)").value
        assert "LIC_HOME" not in call(pool, "import os\ndef f(): return list(os.environ)").value
    finally:
        pool.close()


def test_nothing_of_a_virtual_environment_is_shown_but_numpy() -> None:
    """A checkout below /tmp must not put its own folder where every job's private /tmp goes."""
    shown = pool_module._configuration(False, "/stage")["libraries"]
    assert isinstance(shown, list)
    inside = [folder for folder in shown if Path(folder).is_relative_to(sys.prefix)]
    assert not inside or sys.prefix == sys.base_prefix
