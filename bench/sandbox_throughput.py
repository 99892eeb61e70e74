"""Executions per second of the sandbox, beside the two usual kinds of harness, which contain nothing.

Usage: ``python bench/sandbox_throughput.py [HumanEval.jsonl.gz] [--count 1000] [--threads 2]``. Without a file it uses
the samples of this project. ``fork``: each program in a fork of the grader, its verdict through a manager process of
its own, as public harnesses do it. ``spawn``: a new interpreter for each program. Both run the same program and tests
with no limit but a timeout. Processor time covers this process and all it started: the figure to trust on a machine
that does other work.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from lic_pipeline.benchmarks import humaneval
from lic_pipeline.config import data_path
from lic_pipeline.records import Instruction
from lic_pipeline.sandbox.python.api import Check, ProgramJob, Target, default_pool, run_program

Run = Callable[[Instruction], bool]


def contained(item: Instruction) -> bool:
    """Our sandbox, all walls up."""
    reference = item.reference
    source = reference["prompt"] + reference["canonical_solution"]
    check = Check(reference["test"], reference["prompt"], reference["entry_point"])
    return run_program(ProgramJob(source, (check,), Target(reference["entry_point"]))).ending == "ok"


def whole(item: Instruction) -> str:
    """Program, tests and the call of the tests in one text."""
    reference = item.reference
    parts = [reference["prompt"] + reference["canonical_solution"], reference["test"]]
    return "\n".join([*parts, f"check({reference['entry_point']})"])


def spawned(item: Instruction) -> bool:
    """A new interpreter for each program, nothing contained."""
    command = [sys.executable, "-c", whole(item)]
    return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0


def forked(item: Instruction) -> bool:
    """A fork of this process for each program and a manager for its verdict, nothing contained."""
    context = multiprocessing.get_context("fork")
    with context.Manager() as manager:
        verdict = manager.list()
        process = context.Process(target=_judge_here, args=(whole(item), verdict))
        process.start()
        process.join(60)
        process.kill()
        return list(verdict) == [True]


def _judge_here(source: str, verdict: Any) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        exec(source, {})
    verdict.append(True)


def measure(run: Run, items: list[Instruction], threads: int) -> tuple[float, float, int]:
    """Wall seconds, processor seconds (with children), and how many passed."""
    before, started = sum(os.times()[:4]), time.perf_counter()
    with ThreadPoolExecutor(threads) as executor:
        passed = sum(executor.map(run, items))
    wall = time.perf_counter() - started
    default_pool().close()  # so that its processor time counts
    return wall, sum(os.times()[:4]) - before, passed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--harness-count", type=int, default=100)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 2)
    options = parser.parse_args()
    folder = options.file.parent if options.file else data_path() / "samples" / "humaneval"
    found = list(humaneval.read(folder).instructions)
    mode = default_pool().mode()[0]
    rates = {}
    harness = options.harness_count
    kinds = (("sandbox", contained, options.count), ("fork", forked, harness), ("spawn", spawned, harness))
    for name, run, count in kinds:
        items = list(islice(cycle(found), count))
        wall, cpu, passed = measure(run, items, options.threads)
        rates[name] = count / wall
        print(
            f"{name:8} {count:5} executions, {passed} passed: {wall:6.2f} s wall, {cpu:6.2f} s processor, "
            f"{count / wall:6.0f}/s, {1000 * cpu / count:5.2f} ms processor each"
        )
    ratios = ", ".join(f"{rates['sandbox'] / rates[name]:.1f} x {name}" for name in ("fork", "spawn"))
    print(f"mode {mode}, {options.threads} threads: {ratios}")


if __name__ == "__main__":
    main()
