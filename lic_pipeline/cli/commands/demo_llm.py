"""``lic demo-llm``: every setting with every role played by a small real language model, served on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lic_pipeline.cli.shared.options import AsJson, Tasks

if TYPE_CHECKING:
    from pathlib import Path

    from lic_pipeline.cli.shared.options import RunChoice
    from lic_pipeline.cli.shared.run_partitions import RunSummary
    from lic_pipeline.config import Home

FOLDER = "demo-llm"
"""The demo has a home of its own below the usual one: what a tiny model did belongs beside no other number."""

TASKS = ["math", "data2text", "summary"]
SEED = 7
"""Of the experiment: its first math item has few shards, and so few turns."""

_OF_OTHER_RUNS = ("LIC_DATA", "LIC_LEDGER_URL", "LIC_MAX_CONNECTIONS", "LIC_PROCESSES")

Items = Annotated[int, typer.Option("--limit", "-k", min=1, help="Items per task.")]
Runs = Annotated[int, typer.Option("--runs", "-n", min=1, help="Runs per item and setting (N).")]


def demo_llm(task: Tasks = None, limit: Items = 1, runs: Runs = 1, as_json: AsJson = False) -> None:
    """Run a few conversations of every setting with a local model in all roles, and say what came out."""
    from lic_pipeline.cli.shared.demo_llm_tables import show
    from lic_pipeline.models.local.files import find_weights, require_runtime

    require_runtime()
    weights = find_weights()
    home = _own_home(weights)
    choice = _choice(home, task or TASKS, limit, runs)
    done = _carry_out(home, choice, weights)
    show(home, choice, done, as_json=as_json)
    if done.missing or done.skipped:
        raise typer.Exit(1)


def _own_home(weights: Path) -> Home:
    import os

    from lic_pipeline.config import Home
    from lic_pipeline.models.local.entries import NOT_SERVED, write_entries
    from lic_pipeline.models.registry import user_registry

    for name in _OF_OTHER_RUNS:
        os.environ.pop(name, None)
    home = Home(Home.locate().root / FOLDER).prepare()
    os.environ["LIC_HOME"] = str(home.root)
    write_entries(user_registry(), weights, NOT_SERVED)
    return home


def _choice(home: Home, tasks: list[str], limit: int, runs: int) -> RunChoice:
    from lic_pipeline.cli.shared.options import resolve
    from lic_pipeline.models.local.entries import ASSISTANT, JUDGE, SYSTEM, USER
    from lic_pipeline.records import Setting

    return resolve(
        home, models=[ASSISTANT], tasks=tasks, settings=[str(setting) for setting in Setting], limit=limit, runs=runs,
        simulator="llm", user_model=USER, system_model=SYSTEM, judge_model=JUDGE, seed=SEED,
    )  # fmt: skip


def _carry_out(home: Home, choice: RunChoice, weights: Path) -> RunSummary:
    """With the server as long as there is something to ask it. Raises LocalServerError when it cannot be had."""
    from lic_pipeline.cli.shared.run_partitions import Caps, prepare_tasks, run_choice
    from lic_pipeline.models.local.entries import NOT_SERVED, write_entries
    from lic_pipeline.models.local.server import LocalServer, serve_command
    from lic_pipeline.models.registry import user_registry

    prepare_tasks(home, choice)
    findings = _findings(home, choice)
    write_entries(user_registry(), weights, NOT_SERVED, findings)
    if not _asks_something(home, choice):
        return run_choice(home, choice, Caps())
    with LocalServer(serve_command(weights), home.root / "server.log") as server:
        write_entries(user_registry(), weights, server.url, findings)
        done = run_choice(home, choice, Caps())
        # What follows the end of a server is many failed calls; the one reason for them is this.
        server.require_alive()
    return done


def _findings(home: Home, choice: RunChoice) -> int:
    """How many findings each question to the judge is about, 0 when their number differs or nothing is judged."""
    from lic_pipeline.verification.bookkeeping.manifests import plan_for

    if "summary" not in choice.tasks:
        return 0
    plan = plan_for(home.lake, choice.experiment, "summary", choice.models[0])
    numbers = {len(item.instruction.reference["insights"]) for item in plan.items.values()}
    return numbers.pop() if len(numbers) == 1 else 0


def _asks_something(home: Home, choice: RunChoice) -> bool:
    """Whether a run would call the model. What ended in an error is opened again: here nobody was paid for it."""
    from lic_pipeline.cli.shared.open_ledger import open_ledger
    from lic_pipeline.models.ledger.records import ERROR_PREFIX
    from lic_pipeline.verification.bookkeeping.fingerprints import is_evaluated
    from lic_pipeline.verification.bookkeeping.manifests import plan_for

    plans = [plan_for(home.lake, choice.experiment, task, choice.models[0]) for task in choice.tasks]
    with open_ledger(home) as ledger:
        states = ledger.states([spec.conversation_id for plan in plans for spec in plan.specs])
        failed = [name for name, state in states.items() if state.startswith(ERROR_PREFIX)]
        if failed:
            ledger.reopen(failed)
        return any(not is_evaluated(home, plan, ledger) for plan in plans)
