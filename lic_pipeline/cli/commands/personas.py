"""``lic personas``: the calibration personas, and what the estimators must find of them on the items at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lic_pipeline.cli.shared.options import AsJson, ExperimentName, Limit, Runs, Tasks

if TYPE_CHECKING:
    from lic_pipeline.config import Home
    from lic_pipeline.metrics.persona_truth import CellTruth
    from lic_pipeline.simulation.plan.experiment import Experiment


def personas(
    truth: Annotated[bool, typer.Option("--truth", help="Expected P, A90 and U90-10, with their spread.")] = False,
    task: Tasks = None,
    experiment: ExperimentName = "demo",
    runs: Runs = None,
    limit: Limit = None,
    as_json: AsJson = False,
) -> None:
    """List the personas; with --truth print E and SD of each estimate over exactly the approved items."""
    import json
    from dataclasses import asdict

    from lic_pipeline.cli.shared.options import resolve
    from lic_pipeline.cli.shared.run_partitions import prepare_tasks
    from lic_pipeline.config import Home
    from lic_pipeline.models.personas import named_personas

    known = named_personas()
    if not truth:
        listed = {name: persona.model_dump() for name, persona in known.items()}
        print(json.dumps({"schema": 1, "personas": listed}) if as_json else _described(listed))
        return
    home = Home.locate().prepare()
    aliases = [f"sim/{name}" for name in known]
    choice = resolve(home, models=aliases, tasks=task, experiment=experiment, runs=runs, limit=limit)
    prepare_tasks(home, choice)
    cells = {alias: _truth(home, choice.experiment, choice.tasks, alias) for alias in aliases}
    if as_json:
        found = {alias: [{**asdict(cell), "setting": str(cell.setting)} for cell in of] for alias, of in cells.items()}
        print(json.dumps({"schema": 1, "experiment": choice.experiment.name, "truth": found}))
    else:
        _print_truth(cells)


def _described(listed: dict[str, dict[str, object]]) -> str:
    lines = ["Personas are calibration instruments with declared probabilities, not language models."]
    for name, fields in listed.items():
        lines += [f"sim/{name}: {fields['description']}", f"  {fields['traits']}", f"  except {fields['overrides']}"]
    return "\n".join(lines)


def _truth(home: Home, experiment: Experiment, tasks: tuple[str, ...], alias: str) -> list[CellTruth]:
    from concurrent.futures import ThreadPoolExecutor

    from lic_pipeline.cli.shared.open_ledger import open_ledger
    from lic_pipeline.metrics.persona_truth import plan_truth
    from lic_pipeline.models.personas import get_persona
    from lic_pipeline.models.registry import get_model
    from lic_pipeline.simulation.conversation.persona_replies import load_persona_replies
    from lic_pipeline.verification.bookkeeping.manifests import plan_for

    cells = []
    with open_ledger(home) as ledger, ThreadPoolExecutor(4) as executor:
        for task in tasks:
            plan = plan_for(home.lake, experiment, task, get_model(alias))
            instructions = [item.instruction for item in plan.items.values()]
            replies, _ = load_persona_replies(plan.task, instructions, ledger, executor)
            cells += plan_truth(plan, get_persona(alias), replies)
    return cells


def _print_truth(cells: dict[str, list[CellTruth]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("persona", "task", "setting", "E[P]", "SD", "E[A90]", "SD", "E[U90-10]", "SD", "n", "N")
    for alias, listed in cells.items():
        for cell in listed:
            values = [f"{x:.2f}" for t in (cell.P, cell.A90, cell.U90_10) for x in (t.mean, t.sd)]
            table.add_row(alias, cell.task, str(cell.setting), *values, str(cell.n), str(cell.runs))
    console = Console()
    (console if console.is_terminal else Console(width=140)).print(table)
