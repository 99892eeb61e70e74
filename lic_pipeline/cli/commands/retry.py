"""``lic retry --errors``: what ended in an error is opened again and its experiments go on.

Only what a manifest wants is retried. Calls of conversations that were answered stay answered: a retry pays for the
missing ones only. A judge whose answers could not be used is asked anew, which is the only way to ask it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lic_pipeline.cli.shared.options import AsJson, BudgetTokens, BudgetUsd, Connections, Models, Processes, Tasks, Yes
from lic_pipeline.cli.shared.output import say

if TYPE_CHECKING:
    from lic_pipeline.cli.shared.options import RunChoice
    from lic_pipeline.config import Home
    from lic_pipeline.verification.bookkeeping.status import Partition

OneExperiment = Annotated[str | None, typer.Option("--experiment", "-e", help="Only this experiment. Default: all.")]


def retry(
    errors: Annotated[bool, typer.Option("--errors", help="Retry what ended in an error.")] = False,
    model: Models = None,
    task: Tasks = None,
    experiment: OneExperiment = None,
    max_connections: Connections = None,
    processes: Processes = None,
    budget_usd: BudgetUsd = None,
    budget_tokens: BudgetTokens = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Run again what ended in an error. Exit 0 nothing is missing any more, 1 something still is (it says what)."""
    from lic_pipeline.cli.shared.run_partitions import Caps, require_permission, run_choices
    from lic_pipeline.config import Home
    from lic_pipeline.errors import ConfigError

    if not errors:
        raise ConfigError("say what to retry: lic retry --errors; what was never run goes on with lic run")
    home = Home.locate().prepare()
    _check_names(home, model, task, experiment)
    failed = _failed(home, model, task, experiment)
    choices = [_choice(home, one) for one in failed]
    caps = Caps(max_connections, budget_usd, budget_tokens, yes, processes=processes)
    require_permission(choices, caps)
    _reopen(home, failed)
    done = run_choices(home, choices, caps)
    left = _failed(home, model, task, experiment)
    _show(failed, left, as_json)
    for reason, number in sorted(done.missing.items()):
        say(f"missing: {number} of {done.planned} conversations: {reason}")
    if done.missing:
        raise typer.Exit(1)


@dataclass(frozen=True)
class Failed:
    """States by id of a manifest's conversations in error, and of the questions its judge gave no verdict on."""

    conversations: Mapping[str, str] = field(default_factory=dict)
    judgements: Mapping[str, str] = field(default_factory=dict)

    @property
    def states(self) -> dict[str, int]:
        """How many stand in which state; those of judgements are marked as such."""
        return dict(Counter([*self.conversations.values(), *(f"judge: {one}" for one in self.judgements.values())]))


def _check_names(home: Home, models: list[str] | None, tasks: list[str] | None, experiment: str | None) -> None:
    from lic_pipeline.errors import UnknownNameError
    from lic_pipeline.models.registry import get_model
    from lic_pipeline.simulation.plan.stored_experiments import find_experiment
    from lic_pipeline.tasks.registry import task_names

    for name in models or []:
        get_model(name)
    for name in tasks or []:
        if name not in task_names():
            raise UnknownNameError("task", name, list(task_names()))
    if experiment is not None:
        find_experiment(home, experiment)


def _failed(
    home: Home, models: list[str] | None, tasks: list[str] | None, experiment: str | None
) -> dict[Partition, Failed]:
    """What has failed, by manifest; manifests in which nothing has are left out."""
    from lic_pipeline.cli.shared.open_ledger import ledger_to_read
    from lic_pipeline.models.ledger.records import ERROR_PREFIX
    from lic_pipeline.verification.bookkeeping.missing_verdicts import missing_verdicts
    from lic_pipeline.verification.bookkeeping.status import manifest_ids, select_manifests

    found = {}
    with ledger_to_read(home) as ledger:
        for one in select_manifests(home.lake, experiment=experiment, tasks=tasks or (), models=models or ()):
            states = ledger.states(manifest_ids(home.lake, one))
            bad = {name: state for name, state in states.items() if state.startswith(ERROR_PREFIX)}
            failed = Failed(bad, missing_verdicts(home.lake, ledger, one))
            if failed.states:
                found[one] = failed
    return found


def _choice(home: Home, one: Partition) -> RunChoice:
    from lic_pipeline.cli.shared.options import RunChoice
    from lic_pipeline.models.registry import get_model
    from lic_pipeline.simulation.plan.stored_experiments import find_experiment

    return RunChoice(find_experiment(home, one.experiment), (one.task,), (get_model(one.model),))


def _reopen(home: Home, failed: Mapping[Partition, Failed]) -> None:
    from lic_pipeline.cli.shared.open_ledger import open_ledger
    from lic_pipeline.simulation.judge.pending_questions import ask_again

    if failed:
        with open_ledger(home) as ledger:
            ledger.reopen(sorted({name for one in failed.values() for name in one.conversations}))
            ask_again(ledger, sorted({name for one in failed.values() for name in one.judgements}))


def _show(failed: Mapping[Partition, Failed], left: Mapping[Partition, Failed], as_json: bool) -> None:
    from lic_pipeline.cli.shared.output import counted, print_json, print_table

    rows = [_row(one, bad, left.get(one, Failed())) for one, bad in failed.items()]
    if as_json:
        sums = {name: sum(row[name] for row in rows) for name in ("retried", "judgements")}
        print_json({**sums, "partitions": rows})
    elif not rows:
        print("No conversation of these experiments has ended in an error, and no judge owes them a verdict.")
    else:
        columns = ("experiment", "task", "model", "retried", "judgements", "was", "still in error")
        lines = [[*(row[n] for n in columns[:5]), counted(row["was"]), counted(row["left"]) or "–"] for row in rows]
        print_table("", columns, lines)


def _row(one: Partition, bad: Failed, left: Failed) -> dict[str, Any]:
    numbers = {"retried": len(bad.conversations), "judgements": len(bad.judgements)}
    return {**one._asdict(), **numbers, "was": bad.states, "left": left.states}
