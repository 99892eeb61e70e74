"""Scripts in the Python sandbox: they read standard input, print, and end in one way or another."""

from __future__ import annotations

import pytest
from support.programs import LIMITS

from lic_pipeline.sandbox.python.api import Outcome, Pool, ProgramJob, Stdin, run_program

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
