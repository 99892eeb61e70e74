"""``lic retry --errors``: conversations that ended in an error are opened again and their experiments go on.

Only what a manifest wants is retried. Calls that were answered stay answered: a retry pays for the missing ones only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lic_pipeline.cli.options import AsJson, BudgetTokens, BudgetUsd, Connections, Models, Tasks, Yes

if TYPE_CHECKING:
    from lic_pipeline.cli.options import Choice
    from lic_pipeline.config import Home
    from lic_pipeline.verification.standing import Partition

OneExperiment = Annotated[str | None, typer.Option("--experiment", "-e", help="Only this experiment. Default: all.")]


def retry(
    errors: Annotated[bool, typer.Option("--errors", help="Retry what ended in an error.")] = False,
    model: Models = None,
    task: Tasks = None,
    experiment: OneExperiment = None,
    max_connections: Connections = None,
    budget_usd: BudgetUsd = None,
    budget_tokens: BudgetTokens = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Run again what ended in an error. Exit 0 nothing is missing any more, 1 something still is (it says what)."""
    from lic_pipeline.cli.running import Caps, allow, carry_out_all
    from lic_pipeline.config import Home
    from lic_pipeline.errors import ConfigError

    if not errors:
        raise ConfigError("say what to retry: lic retry --errors; what was never run goes on with lic run")
    home = Home.locate().prepare()
    _check_names(home, model, task, experiment)
    failed = _failed(home, model, task, experiment)
    choices = [_choice(home, one) for one in failed]
    caps = Caps(max_connections, budget_usd, budget_tokens, yes)
    allow(choices, caps)
    _reopen(home, failed)
    done = carry_out_all(home, choices, caps)
    left = _failed(home, model, task, experiment)
    _show(failed, left, as_json)
    for reason, number in sorted(done.missing.items()):
        typer.echo(f"missing: {number} of {done.planned} conversations: {reason}", err=True)
    if done.missing:
        raise typer.Exit(1)


def _check_names(home: Home, models: list[str] | None, tasks: list[str] | None, experiment: str | None) -> None:
    from lic_pipeline.errors import UnknownNameError
    from lic_pipeline.models.registry import get_model
    from lic_pipeline.simulation.experiment_store import find_experiment
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
) -> dict[Partition, dict[str, str]]:
    """State by id of the conversations in error, by manifest; manifests without any are left out."""
    from lic_pipeline.cli.running import open_ledger
    from lic_pipeline.models.ledger.records import ERROR_PREFIX
    from lic_pipeline.verification.standing import chosen, manifest_ids

    found = {}
    with open_ledger(home) as ledger:
        for one in chosen(home.lake, experiment=experiment, tasks=tasks or (), models=models or ()):
            states = ledger.states(manifest_ids(home.lake, one))
            bad = {name: state for name, state in states.items() if state.startswith(ERROR_PREFIX)}
            if bad:
                found[one] = bad
    return found


def _choice(home: Home, one: Partition) -> Choice:
    from lic_pipeline.cli.options import Choice
    from lic_pipeline.models.registry import get_model
    from lic_pipeline.simulation.experiment_store import find_experiment

    return Choice(find_experiment(home, one.experiment), (one.task,), (get_model(one.model),))


def _reopen(home: Home, failed: Mapping[Partition, Mapping[str, str]]) -> None:
    from lic_pipeline.cli.running import open_ledger

    ids = sorted({name for bad in failed.values() for name in bad})
    if ids:
        with open_ledger(home) as ledger:
            ledger.reopen(ids)


def _show(
    failed: Mapping[Partition, Mapping[str, str]], left: Mapping[Partition, Mapping[str, str]], as_json: bool
) -> None:
    from lic_pipeline.cli.output import counted, print_json, print_table

    rows = [_row(one, bad, left.get(one, {})) for one, bad in failed.items()]
    if as_json:
        print_json({"retried": sum(row["retried"] for row in rows), "partitions": rows})
    elif not rows:
        print("No conversation of these experiments has ended in an error.")
    else:
        columns = ("experiment", "task", "model", "retried", "was", "still in error")
        names = ("experiment", "task", "model", "retried")
        lines = [[*(row[n] for n in names), counted(row["was"]), counted(row["left"]) or "–"] for row in rows]
        print_table("", columns, lines)


def _row(one: Partition, bad: Mapping[str, str], left: Mapping[str, str]) -> dict[str, Any]:
    from collections import Counter

    states = {"was": dict(Counter(bad.values())), "left": dict(Counter(left.values()))}
    return {"experiment": one.experiment, "task": one.task, "model": one.model, "retried": len(bad), **states}
