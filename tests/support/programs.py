"""Small programs for the Python sandbox: one function called or checked, with short limits. Not a test module."""

from __future__ import annotations

import textwrap
from typing import Any

from lic_pipeline.sandbox.python.api import Call, Check, Limits, Outcome, Pool, ProgramJob, Target, run_program

LIMITS = Limits(test_seconds=2, wall_seconds=30)


def call(pool: Pool, source: str, *args: Any, tolerant: bool = False) -> Outcome:
    """What the function ``f`` of this source returns for these values."""
    job = ProgramJob(textwrap.dedent(source), (Call(args),), Target("f"), tolerant=tolerant, limits=LIMITS)
    return run_program(job, pool).outcomes[0]


def check(pool: Pool, source: str, test: str, setup: str = "") -> tuple[str, str]:
    """Ending and detail of a test of ``f``; ``setup`` is what a prompt would define before it."""
    body = "def check(candidate):\n" + textwrap.indent(textwrap.dedent(test), "    ")
    job = ProgramJob(textwrap.dedent(source), (Check(body, setup, "f"),), Target("f"), limits=LIMITS)
    result = run_program(job, pool)
    return result.ending, result.detail
