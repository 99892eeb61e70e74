"""Functions in the Python sandbox: how a check ends, what its detail says, what a tolerant load survives."""

# ruff: noqa: E501 - a table reads best with one case a line

from __future__ import annotations

import pytest
from support.programs import call, check

from lic_pipeline.sandbox.python.api import Call, Pool, ProgramJob, Stdin, Target, run_program

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
        "raise SystemExit(1)",
        "import sys; sys.exit(f(3))",
        "if f(1): exit()",
    ],
)
def test_a_tolerant_load_survives_usage(usage: str, pool: Pool) -> None:
    assert call(pool, f"def f(x): return x\n{usage}\n", 4, tolerant=True).value == 4


def test_a_tolerant_load_runs_what_tests_need(pool: Pool) -> None:
    source = "from __future__ import annotations\ntable = []\nfor n in range(5): table.append(n * n)\ndef f(x: Nope): return table[x]"
    assert call(pool, source, 3, tolerant=True).value == 9
    assert call(pool, "raise ValueError('no')\ndef f(x): return x", 3, tolerant=True).ending == "runtime_error"


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
