"""The sandbox at work: values, scripts, checks, the pool, the weak mode."""

# ruff: noqa: E501 - a table reads best with one case a line

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lic_pipeline.sandbox.python import plain
from lic_pipeline.sandbox.python import pool as pool_module
from lic_pipeline.sandbox.python.api import (
    Call,
    Check,
    Limits,
    Opaque,
    Outcome,
    Pool,
    ProgramJob,
    Stdin,
    Target,
    run_program,
    sandbox_description,
    sandbox_mode,
)

LIMITS = Limits(test_seconds=2, wall_seconds=30)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    pool = Pool()
    yield pool
    pool.close()


def call(pool: Pool, source: str, *args: Any, tolerant: bool = False) -> Outcome:
    job = ProgramJob(textwrap.dedent(source), (Call(args),), Target("f"), tolerant=tolerant, limits=LIMITS)
    return run_program(job, pool).outcomes[0]


def check(pool: Pool, source: str, test: str, setup: str = "") -> tuple[str, str]:
    body = "def check(candidate):\n" + textwrap.indent(textwrap.dedent(test), "    ")
    job = ProgramJob(textwrap.dedent(source), (Check(body, setup, "f"),), Target("f"), limits=LIMITS)
    result = run_program(job, pool)
    return result.ending, result.detail


def test_mode_has_a_description() -> None:
    assert sandbox_mode() in ("strong", "weak")
    assert len(sandbox_description()) > 5


VALUES = [
    None, True, 0, -5, 2**53, -(10**40), 1.5, -0.0, math.inf, -math.inf, "", "a\x00b", "\ud800", "ß€😀", b"\x00\xff",
    bytearray(b"x"), 3 + 4j, [], [1, [2, (3, [4])]], (), (1,), {1, 2}, frozenset({"a"}), {"a": 1, 2: (3,), None: []},
    range(3, 9, 2), Fraction(1, 3), Decimal("1.10"),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_plain_values_go_in_and_come_back_unchanged(value: Any, pool: Pool) -> None:
    outcome = call(pool, "def f(x): return x", value)
    assert outcome.ending == "ok"
    assert outcome.value == value
    assert type(outcome.value) is type(value)
    assert repr(outcome.value) == repr(value)


def test_nan_survives(pool: Pool) -> None:
    assert math.isnan(call(pool, "def f(): return float('nan')").value)


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
        max_leaves=20,
    )
)
def test_encoding_is_reversible(value: Any) -> None:
    sent = plain.dumps(plain.encode(value, lambda thing: (0, type(thing).__name__)))
    assert plain.decode(plain.loads(sent), lambda number, kind: Opaque(kind)) == value


@settings(max_examples=100, deadline=None)
@given(st.recursive(st.none() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=4)))
def test_decoding_any_json_gives_a_value_or_plain_error(data: Any) -> None:
    try:
        plain.decode(data, lambda number, kind: Opaque(kind))
    except plain.PlainError:
        assert isinstance(data, list)


SUBCLASSES = {
    "namedtuple": ("from collections import namedtuple\nP = namedtuple('P', 'a b')\ndef f(): return P(1, 2)", (1, 2)),
    "Counter": ("from collections import Counter\ndef f(): return Counter('aab')", {"a": 2, "b": 1}),
    "defaultdict": ("from collections import defaultdict\ndef f():\n d = defaultdict(int)\n d[1] += 2\n return d", {1: 2}),
    "IntEnum": ("import enum\nclass E(enum.IntEnum):\n A = 4\ndef f(): return E.A", 4),
    "numpy scalar": ("import numpy as np\ndef f(): return np.float64(1.5)", 1.5),
}  # fmt: skip


@pytest.mark.parametrize("name", SUBCLASSES)
def test_subclasses_come_back_as_their_plain_base(name: str, pool: Pool) -> None:
    source, expected = SUBCLASSES[name]
    outcome = call(pool, source)
    assert outcome.value == expected
    assert type(outcome.value) is type(expected)


@pytest.mark.parametrize("expression", ["object()", "lambda: 1", "(n for n in [1])", "map(str, [1])", "print", "type"])
def test_other_objects_equal_nothing(expression: str, pool: Pool) -> None:
    assert isinstance(call(pool, f"def f(): return {expression}").value, Opaque)


CHECKS: dict[str, tuple[str, str, str]] = {
    "right": ("def f(x): return x + 1", "assert candidate(1) == 2", "ok"),
    "wrong": ("def f(x): return x", "assert candidate(1) == 2", "wrong"),
    "identity of singletons": (
        "def f(x): return x",
        "assert candidate(True) is True and candidate(None) is None",
        "ok",
    ),
    "expected exception": (
        "def f(x): raise ValueError('no')",
        "try:\n    candidate(1)\nexcept ValueError as e:\n    assert str(e) == 'no'\nelse:\n    assert False",
        "ok",
    ),
    "own exception class": (
        "class E(Exception): pass\ndef f(x): raise E('no')",
        "try:\n    candidate(1)\nexcept Exception:\n    pass",
        "ok",
    ),
    "unexpected exception": ("def f(x): return 1 / 0", "assert candidate(1) == 2", "runtime_error"),
    "assertion of the program": ("def f(x): assert False", "assert candidate(1) == 2", "runtime_error"),
    "exit cannot be swallowed": (
        "def f(x): raise SystemExit",
        "try:\n    candidate(1)\nexcept BaseException:\n    pass",
        "exited",
    ),
    "time limit cannot be swallowed": (
        "def f(x):\n    while True: pass",
        "try:\n    candidate(1)\nexcept BaseException:\n    pass",
        "timeout",
    ),
    "work in place": ("def f(x): x.sort()", "data = [3, 1]\ncandidate(data)\nassert data == [1, 3]", "ok"),
    "no rewriting of what is compared": (
        "def f(x):\n    x.clear()\n    return []",
        "data = [3, 1]\nassert candidate(data) == sorted(data)",
        "wrong",
    ),
    "function as argument": ("def f(g, n): return g(n) + 1", "assert candidate(lambda n: n * 10, 4) == 41", "ok"),
    "function as result": ("def f(n): return lambda m: n + m", "assert candidate(2)(3) == 5", "ok"),
    "generator": ("def f(n):\n    yield from range(n)", "assert list(candidate(3)) == [0, 1, 2]", "ok"),
    "class": (
        "class f:\n    def __init__(self, n): self.n = n\n    def add(self, m):\n        self.n += m\n        return self.n",
        "thing = candidate(2)\nassert thing.add(3) == 5\nassert thing.n == 5",
        "ok",
    ),
    "test uses the name": ("def f(x): return x + 1", "assert f(1) == 2", "ok"),
    "keyword arguments": ("def f(*, a, b=1): return a - b", "assert candidate(a=3) == 2", "ok"),
    "comparison of nonsense": ("def f(x): return None", "assert candidate(1) > 2", "wrong"),
    "nan passes no comparison": ("def f(x): return float('nan')", "assert abs(candidate(1) - 1) < 1e-6", "wrong"),
    "no entry point": ("def g(x): return x", "assert candidate(1) == 1", "no_entry_point"),
    "not Python": ("def f(x) return x", "assert candidate(1) == 1", "compile_error"),
    "return outside": ("return 1", "assert candidate(1) == 1", "compile_error"),
    "denied and swallowed": (
        "import os\ndef f(x):\n    try: os.fork()\n    except OSError: pass\n    return x",
        "assert candidate(1) == 1",
        "ok",
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_check_runs_with_plain_data(name: str, pool: Pool) -> None:
    source, test, ending = CHECKS[name]
    assert check(pool, source, test)[0] == ending


def test_helpers_of_the_prompt_are_the_prompts_own(pool: Pool) -> None:
    setup = "def helper(x): return x * 2\n\ndef f(x):\n    'half'\n"
    cheat = "def helper(x): return 0\ndef f(x): return 5"
    assert check(pool, "def f(x): return x // 2", "assert helper(candidate(6)) == 6", setup)[0] == "ok"
    assert check(pool, cheat, "assert helper(candidate(0)) == 0", setup)[0] == "wrong"


def test_details_name_line_and_error(pool: Pool) -> None:
    assert "line 3" in call(pool, "def f():\n    x = {}\n    return x['k']\n").detail
    assert "KeyError" in call(pool, "def f(): return {}['k']").detail
    assert "test line 2" in check(pool, "def f(x): return x", "assert candidate(1) == 2")[1]


@pytest.mark.parametrize(
    "usage",
    [
        "f(1, 2, 3)",
        "print(f())",
        "assert f(1) == 9",
        "n = int(input())",
        "for _ in range(2): f(1, 2)",
        "print(input())",
    ],
)
def test_a_tolerant_load_survives_usage(usage: str, pool: Pool) -> None:
    assert call(pool, f"def f(x): return x\n{usage}\n", 4, tolerant=True).value == 4


def test_a_tolerant_load_runs_what_tests_need(pool: Pool) -> None:
    source = "from __future__ import annotations\ntable = []\nfor n in range(5): table.append(n * n)\ndef f(x: Nope): return table[x]"
    assert call(pool, source, 3, tolerant=True).value == 9
    assert call(pool, "raise ValueError('no')\ndef f(x): return x", 3, tolerant=True).ending == "runtime_error"


SCRIPTS: dict[str, tuple[str, str, str, str]] = {
    "reads lines": ("a, b = map(int, input().split())\nprint(a + b)", "2 3\n", "ok", "5\n"),
    "reads all": ("import sys\nprint(len(sys.stdin.read()))", "abc", "ok", "3\n"),
    "buffer": ("import sys\nsys.stdout.buffer.write(sys.stdin.buffer.readline())", "x\ny\n", "ok", "x\n"),
    "open(0)": ("print(open(0).read().strip()[::-1])", "abc\n", "ok", "cba\n"),
    "main guard": ("def main(): print(input())\nif __name__ == '__main__': main()", "q\n", "ok", "q\n"),
    "leaves by sys.exit": ("import sys\nprint(1)\nsys.exit()", "", "ok", "1\n"),
    "leaves by exit": ("print(1)\nexit(0)", "", "ok", "1\n"),
    "leaves by os._exit": ("import os\nprint(1, flush=True)\nos._exit(0)", "", "ok", "1\n"),
    "fails by sys.exit": ("import sys\nprint(1)\nsys.exit(3)", "", "exited", "1\n"),
    "runs in a big thread": (
        "import sys, threading\nsys.setrecursionlimit(10**6)\nthreading.stack_size(2**26)\n"
        "def d(n): return 0 if n == 0 else 1 + d(n - 1)\nthreading.Thread(target=lambda: print(d(20000))).start()",
        "",
        "ok",
        "20000\n",
    ),
    "end of input": ("input()", "", "runtime_error", ""),
    "raises after printing": ("print(1)\n1 / 0", "", "runtime_error", "1\n"),
    "unicode": ("print(input() + 'ß')", "é\n", "ok", "éß\n"),
    "not Python": ("print(", "", "compile_error", ""),
    "asyncio": ("import asyncio\nasync def m(): print(input())\nasyncio.run(m())", "z\n", "ok", "z\n"),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_read_and_print(name: str, pool: Pool) -> None:
    source, text, ending, printed = SCRIPTS[name]
    outcome = run_program(ProgramJob(source, (Stdin(text),), limits=LIMITS), pool).outcomes[0]
    assert (outcome.ending, outcome.value) == (ending, printed), outcome


def test_dev_stdin_can_be_opened(pool: Pool) -> None:
    if pool.mode()[0] != "strong":
        pytest.skip("only the strong mode has a root folder of its own")
    job = ProgramJob("print(open('/dev/stdin').read())", (Stdin("abc"),), limits=LIMITS)
    assert run_program(job, pool).outcomes[0].value == "abc\n"


def test_each_script_run_starts_afresh_and_the_judge_stops_it(pool: Pool) -> None:
    seen: list[int] = []

    def judge(number: int, outcome: Outcome) -> bool:
        seen.append(number)
        return number < 2

    source = "import os\nprint(os.path.exists('mark'))\nopen('mark', 'w').close()"
    job = ProgramJob(source, tuple(Stdin(str(n)) for n in range(5)), judge=judge, limits=LIMITS)
    result = run_program(job, pool)
    assert [outcome.value for outcome in result.outcomes] == ["False\n"] * 3
    assert seen == [0, 1, 2]


def test_results_do_not_depend_on_chance(pool: Pool) -> None:
    source = "import random\ndef f(): return [random.random(), list({'a', 'b', 'c', 'd', 'e'}), hash('x')]"
    assert call(pool, source).value == call(pool, source).value


@pytest.mark.parametrize(
    "job",
    [
        ProgramJob("", (), Target("f")),
        ProgramJob("", (Call(()), Stdin("")), Target("f")),
        ProgramJob("", (Call(()),)),
        ProgramJob("def f(x): pass", (Call((object(),)),), Target("f")),
    ],
)
def test_senseless_jobs_are_refused(job: ProgramJob, pool: Pool) -> None:
    with pytest.raises(ValueError, match=r"steps|target|plain data"):
        run_program(job, pool)


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
        assert check(pool, *CHECKS["right"][:2])[0] == "ok"
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
