"""``lic score``: score replies of any model, a JSON line each, without the rest of the pipeline.

Only typer and the standard library are imported at the top, so that ``lic --help`` stays quick.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from lic_pipeline.cli.shared.options import LARGEST_BUDGET, Yes
from lic_pipeline.cli.shared.output import say

if TYPE_CHECKING:
    from lic_pipeline.cli.shared.score_by_judge import JudgeOptions
    from lic_pipeline.records import Policy
    from lic_pipeline.scoring.line_scorer import OutputLine

    Produce = Callable[[Iterable[bytes], Callable[[OutputLine], None]], None]
    """Scores lines and hands each output over, in order."""


class PolicyChoice(StrEnum):
    """The two scoring policies."""

    ROBUST = "robust"
    REFERENCE = "reference"


def score(
    task_or_file: Annotated[str, typer.Argument(metavar="[TASK] FILE", help="Task, then a JSON Lines file or -.")],
    file: Annotated[str | None, typer.Argument(hidden=True)] = None,
    task: Annotated[str | None, typer.Option("--task", "-t", help="Task, when it is not the first argument.")] = None,
    output: Annotated[str | None, typer.Option("--output", "-o", help="File to write, - or none: stdout.")] = None,
    policy: Annotated[PolicyChoice, typer.Option(help="Right by the task, or as the published scripts.")] = (
        PolicyChoice.ROBUST
    ),
    judge: Annotated[
        str | None, typer.Option(help="Summaries: who judges what has no verdict, lexical or a model of `lic models`.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Lines at once where scoring runs programs or SQL.")] = None,
    allow_weak_sandbox: Annotated[
        bool, typer.Option("--allow-weak-sandbox", help="Run model-written code without namespaces.")
    ] = False,
    max_connections: Annotated[
        int | None, typer.Option("--max-connections", "-C", min=1, max=4096, help="Questions to a judge at once.")
    ] = None,
    budget_usd: Annotated[
        float | None, typer.Option(min=0, max=LARGEST_BUDGET, help="Most the judge may cost for this file, in USD.")
    ] = None,
    budget_tokens: Annotated[
        int | None, typer.Option(min=0, max=10**15, help="Most tokens the judge may use for this file.")
    ] = None,
    yes: Yes = False,
    ask_again: Annotated[
        bool, typer.Option("--ask-again", help="Ask the judge again where its answers could not be used.")
    ] = False,
) -> None:
    """Score replies: one JSON line in, one out, in the same order. Exit 0 all scored, 1 some not, 2 usage.

    With a model as judge also 3 (budget reached) and 4 (the provider refuses every call); run again to go on.
    """
    from lic_pipeline.cli.shared.score_by_judge import JudgeOptions
    from lic_pipeline.errors import LicError

    try:
        name, source = _task_and_file(task_or_file, file, task)
        base = Path.cwd() if source == "-" else Path(source).resolve().parent
        terms = JudgeOptions(max_connections, budget_usd, budget_tokens, yes, ask_again)
        produce = _producer(name, policy, judge, base, allow_weak_sandbox, jobs, source, terms)
        lines, missing = _run(source, output, produce)
    except LicError as error:
        say(f"lic score: {error}")
        raise typer.Exit(error.exit_code) from error
    except BrokenPipeError as error:
        _silence_stdout()
        raise typer.Exit(1) from error
    except KeyboardInterrupt as error:
        say("lic score: interrupted; no output file was written")
        raise typer.Exit(130) from error
    if missing:
        say(f"lic score: {missing} of {lines} lines have no score; see their error field")
        raise typer.Exit(1)


def _task_and_file(first: str, second: str | None, option: str | None) -> tuple[str, str]:
    from lic_pipeline.errors import ConfigError
    from lic_pipeline.scoring.find_scorer import known_tasks

    if second is not None and option is not None and option != first:
        raise ConfigError(f"two tasks are named, {first!r} and {option!r}")
    name, source = (option, first) if second is None else (first, second)
    if name is None:
        raise ConfigError(f"no task is named; say lic score TASK {first}, TASK one of: {', '.join(known_tasks())}")
    return name, source


def _producer(
    name: str, policy: PolicyChoice, judge: str | None, base: Path, weak: bool, jobs: int | None, source: str,
    terms: JudgeOptions,
) -> Produce:  # fmt: skip
    """What turns lines into scores: the scorer by itself, or a model that judges."""
    from lic_pipeline.cli.shared.score_by_judge import require_model_judge, scoring_by_model
    from lic_pipeline.scoring.find_scorer import asks_model, find_task, sandbox_terms
    from lic_pipeline.scoring.line_scorer import LineScorer
    from lic_pipeline.scoring.score_stream import score_lines

    by_model = asks_model(name, judge)
    options, withheld = sandbox_terms(name, weak)
    chosen: Policy = "reference" if policy is PolicyChoice.REFERENCE else "robust"
    scorer = LineScorer(find_task(name, None if by_model else judge), chosen, base, options, withheld)
    if by_model:
        return scoring_by_model(judge or "", source, scorer, terms)
    require_model_judge(terms)

    def produce(lines: Iterable[bytes], write: Callable[[OutputLine], None]) -> None:
        for line in score_lines(lines, scorer, jobs or os.cpu_count() or 1):
            write(line)

    return produce


def _run(source: str, output: str | None, produce: Produce) -> tuple[int, int]:
    """Number of lines written, and of those without a score."""
    from lic_pipeline.scoring.output_file import open_output
    from lic_pipeline.scoring.score_stream import encode

    counts: Counter[str] = Counter()
    with _opened(source) as stream, open_output(output) as output_file:

        def write(line: OutputLine) -> None:
            output_file.write(encode(line))
            counts["lines"] += 1
            counts["missing"] += line["score"] is None

        produce(stream, write)
    return counts["lines"], counts["missing"]


@contextmanager
def _opened(source: str) -> Iterator[Iterable[bytes]]:
    from lic_pipeline.lake.inputs import input_lines, open_input, unpacked

    if source == "-":
        yield input_lines(unpacked(_standard_input(), "standard input"), "standard input")
        return
    with open_input(Path(source)) as stream:
        yield input_lines(stream, source)


def _standard_input() -> BinaryIO:
    """A reader of our own: a thread that waits in ``sys.stdin`` aborts an interpreter that wants to end."""
    from lic_pipeline.errors import InputError

    if sys.stdin is None:
        raise InputError("standard input is closed; open it, or name a file")
    try:
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except (AttributeError, OSError, ValueError):  # what stands in for it is no file
        return sys.stdin.buffer


def _silence_stdout() -> None:
    """The reader of standard output is gone: keep the interpreter from complaining when it flushes at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
