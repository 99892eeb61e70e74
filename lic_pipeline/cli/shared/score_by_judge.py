"""``lic score summary --judge MODEL``: which model judges, what it may spend, and the ledger it answers through.

Only typer and the standard library are imported at the top, as in every command.
"""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lic_pipeline.cli.shared.output import say

if TYPE_CHECKING:
    from lic_pipeline.models.budget import Budget
    from lic_pipeline.models.registry import ModelEntry
    from lic_pipeline.scoring.line_scorer import LineScorer, OutputLine
    from lic_pipeline.simulation.engine.outcome import Progress

SHOWN_EVERY_S = 10.0


@dataclass(frozen=True)
class JudgeOptions:
    """What the options allow a judge: questions at once, caps, spending without a cap, being asked once more."""

    connections: int | None = None
    usd: float | None = None
    tokens: int | None = None
    yes: bool = False
    again: bool = False

    @property
    def named(self) -> bool:
        """True when any of the options was given."""
        return self != JudgeOptions()


def require_model_judge(terms: JudgeOptions) -> None:
    """Raise ConfigError for options that say nothing where no model is asked."""
    from lic_pipeline.errors import ConfigError

    if terms.named:
        raise ConfigError(
            "--max-connections, --budget-usd, --budget-tokens, --yes and --ask-again are for a model that judges: name "
            "one with --judge, for the task summary"
        )


def scoring_by_model(
    judge: str, source: str, scorer: LineScorer, terms: JudgeOptions
) -> Callable[[Iterable[bytes], Callable[[OutputLine], None]], None]:
    """What scores lines with the registry's model of this name as judge.

    Raises UnknownNameError for a model that is not registered, ConfigError for one that cannot judge, whose cost nobody
    has opted in to, or whose price is unknown beside a cap in USD only.
    """
    from lic_pipeline.models.budget import require_countable
    from lic_pipeline.simulation.plan.call_parameters import role_entry

    entry = role_entry(judge)
    budget = _budget(entry, source, terms)
    require_countable(budget, [entry])

    def produce(lines: Iterable[bytes], write: Callable[[OutputLine], None]) -> None:
        from lic_pipeline.cli.shared.open_ledger import open_ledger
        from lic_pipeline.config import Home
        from lic_pipeline.simulation.engine.progress_listeners import listening
        from lic_pipeline.simulation.judge.score_lines import score_judged
        from lic_pipeline.simulation.plan import caps

        most = terms.connections or caps.connections()
        # The lines go to the stdout of before: what a judge of the user's own prints does not come between them.
        quiet = redirect_stdout(sys.stderr)
        with quiet, open_ledger(Home.locate().prepare()) as ledger, listening(_Shown()):
            done = score_judged(entry, ledger, budget, lines, scorer, write, connections=most, again=terms.again)
        say(f"{done.calls:,} calls made to {entry.alias}{_spend(done)}")

    return produce


def _budget(entry: ModelEntry, source: str, terms: JudgeOptions) -> Budget:
    """The caps of this file, over all runs of the command on it; standard input has those of one run."""
    from lic_pipeline.models.budget import Budget
    from lic_pipeline.simulation.plan import caps

    scope = f"score:{uuid.uuid4().hex[:12]}" if source == "-" else f"score:{Path(source).resolve()}"
    budget = caps.budget_in(scope, terms.usd, terms.tokens)
    caps.require_opt_in([entry.alias] if caps.costs(entry) else [], budget, terms.yes)
    return budget or Budget(scope)


class _Shown:
    """Says on stderr how far it is, now and then."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def __call__(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._last >= SHOWN_EVERY_S:
            self._last = now
            done = f"{progress.finished:,} lines, {progress.calls:,} calls{_spend(progress)}"
            say(f"  {progress.label}: {done}")


def _spend(progress: Progress) -> str:
    return f", ${progress.cost_usd:.4f}" if progress.cost_usd else ""
