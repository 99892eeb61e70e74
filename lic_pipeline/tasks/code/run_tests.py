"""From a program and an instruction to a verdict: the job for the sandbox, the comparison, the name of the failure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from lic_pipeline.errors import RecordError
from lic_pipeline.records import Instruction, Json, Policy, Verdict
from lic_pipeline.sandbox.python.api import (
    Call,
    Check,
    Limits,
    Outcome,
    ProgramJob,
    SandboxError,
    Stdin,
    run_program,
)
from lic_pipeline.tasks.code.compare_output import arguments_of, expected_value, same_output, same_value
from lic_pipeline.tasks.code.extract_program import entry_point_of
from lic_pipeline.tasks.code.own_tests import without_own_tests
from lic_pipeline.tasks.code.program_syntax import (
    acts_when_loaded,
    argument_count,
    find_entry,
    header_of,
    parse,
    with_header,
)

LIMITS = Limits()
# Contest sites provide these names, and solutions written for them count on it; none of them hides a builtin.
CONTEST_HEADER = """\
from typing import *
from collections import *
from itertools import *
from functools import *
from heapq import *
from bisect import *
import bisect, collections, copy, functools, heapq, itertools, math, operator, random, re, string, sys, typing
from math import ceil, comb, floor, gcd, inf, isqrt, sqrt
"""
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


@dataclass(frozen=True, slots=True)
class _Plan:
    """A job, and the expected output of each of its steps."""

    job: ProgramJob
    expected: tuple[str, ...]
    renamed: bool


def run_tests(program: str, instruction: Instruction, policy: Policy) -> Verdict:
    """Run a program against the tests of its instruction. Infrastructure trouble gives score None and ``error``."""
    try:
        planned = _plan(program, instruction, policy)
    except RecordError as error:
        return Verdict(score=None, verdict="not_judged", answer=program, error=str(error))
    if isinstance(planned, Verdict):
        return planned
    wrong: list[int] = []
    stdin = isinstance(planned.job.steps[0], Stdin)

    def judge(number: int, outcome: Outcome) -> bool:
        if outcome.ending == "ok" and not _passes(outcome, planned.expected[number], stdin=stdin):
            wrong.append(number)
        return not wrong

    job = ProgramJob(
        planned.job.source,
        planned.job.steps,
        planned.job.target,
        judge if planned.expected else None,
        planned.job.tolerant,
        planned.job.limits,
    )
    try:
        result = run_program(job)
    except SandboxError as error:
        return Verdict(score=None, verdict="not_judged", answer=program, error=f"sandbox: {error}")
    ending = "wrong" if wrong else ("correct" if result.ending == "ok" else result.ending)
    detail: dict[str, Json] = {"renamed": planned.renamed}
    if job.target is not None:
        detail["entry_point"] = job.target.name
    if planned.expected:
        detail["tests"] = len(planned.expected)
        detail["passed"] = sum(outcome.ending == "ok" for outcome in result.outcomes) - len(wrong)
    if ending != "correct":
        detail["message"] = f"test {wrong[0] + 1}: other output" if wrong else _ADDRESS.sub("0x", result.detail)
    return Verdict(score=100.0 if ending == "correct" else 0.0, verdict=ending, answer=program, detail=detail)


def _passes(outcome: Outcome, expected: str, *, stdin: bool) -> bool:
    if stdin:
        return isinstance(outcome.value, str) and same_output(outcome.value, expected)
    return same_value(outcome.value, expected_value(expected))


def _plan(program: str, instruction: Instruction, policy: Policy) -> _Plan | Verdict:
    """What to run; a verdict when the program cannot be run at all. Raises RecordError for a garbled instruction."""
    if parse(program) is None:
        return _zero(program, "compile_error", "not a Python program")
    program = without_own_tests(program)
    reference = instruction.reference
    if reference.get("format") == "humaneval":
        prompt, test, entry = (_text(reference, key) for key in ("prompt", "test", "entry_point"))
        source = with_header(header_of(prompt, entry), program)
        setup = prompt if parse(prompt) is not None else header_of(prompt, entry)
        steps: tuple[Any, ...] = (Check(test, setup, entry),)
        return _with_entry(program, source, steps, (), entry, argument_count(prompt, entry))
    tests = reference.get("tests")
    if not isinstance(tests, list) or not tests:
        raise RecordError("no tests", field="tests")
    expected = tuple(test["output"] for test in tests)
    source = with_header(CONTEST_HEADER, program)
    name = entry_point_of(instruction)
    if name is None:
        stdin = tuple(Stdin(test["input"]) for test in tests)
        return _Plan(ProgramJob(source, stdin, limits=_limits(expected)), expected, renamed=False)
    calls = tuple(Call(arguments_of(test["input"])) for test in tests)
    for text in expected:
        expected_value(text)
    return _with_entry(program, source, calls, expected, name, len(calls[0].args))


def _with_entry(
    program: str, source: str, steps: tuple[Any, ...], expected: tuple[str, ...], name: str, count: int | None
) -> _Plan | Verdict:
    tree = parse(program)
    entry = None if tree is None else find_entry(tree, name, count)
    if tree is None or entry is None:
        return _zero(program, "no_entry_point", f"no {name!r} and no single function that could be it")
    job = ProgramJob(source, steps, entry.target, tolerant=acts_when_loaded(tree), limits=_limits(expected))
    return _Plan(job, expected, entry.renamed)


def _limits(expected: tuple[str, ...]) -> Limits:
    """Room for the longest expected output."""
    longest = max((len(text) for text in expected), default=0)
    return Limits(output_bytes=max(LIMITS.output_bytes, 4 * longest))


def _text(reference: Any, key: str) -> str:
    value = reference.get(key)
    if not isinstance(value, str) or not value.strip():
        raise RecordError("is missing", field=key)
    return value


def _zero(program: str, verdict: str, message: str) -> Verdict:
    detail: dict[str, Json] = {"renamed": False, "message": message}
    return Verdict(score=0.0, verdict=verdict, answer=program, detail=detail)
