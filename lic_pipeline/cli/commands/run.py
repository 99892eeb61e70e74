"""``lic run``: hold the conversations an experiment wants of one or more models, score them, publish the numbers."""

from __future__ import annotations

import typer

from lic_pipeline.cli.shared.options import (
    AcceptDrift,
    AsJson,
    BudgetTokens,
    BudgetUsd,
    Connections,
    ExperimentName,
    JudgeEveryTurn,
    JudgeModel,
    Limit,
    Models,
    Processes,
    Runs,
    Seed,
    Settings,
    Simulator,
    SystemModel,
    SystemPrompt,
    Tasks,
    Temperature,
    UserModel,
    Yes,
)


def run(
    model: Models = None,
    task: Tasks = None,
    setting: Settings = None,
    experiment: ExperimentName = "main",
    runs: Runs = None,
    limit: Limit = None,
    seed: Seed = None,
    simulator: Simulator = None,
    user_model: UserModel = None,
    system_model: SystemModel = None,
    judge_model: JudgeModel = None,
    judge_every_turn: JudgeEveryTurn = False,
    temperature: Temperature = None,
    system_prompt: SystemPrompt = None,
    max_connections: Connections = None,
    processes: Processes = None,
    budget_usd: BudgetUsd = None,
    budget_tokens: BudgetTokens = None,
    yes: Yes = False,
    accept_drift: AcceptDrift = False,
    as_json: AsJson = False,
) -> None:
    """Run an experiment; resumable at any moment. Exit 0 all there, 1 something missing (it says what)."""
    from lic_pipeline.cli.shared.options import resolve
    from lic_pipeline.cli.shared.run_partitions import Caps, run_choice
    from lic_pipeline.cli.shared.run_results import print_missing, show_results
    from lic_pipeline.config import Home

    home = Home.locate().prepare()
    choice = resolve(
        home,
        models=model,
        tasks=task,
        settings=setting,
        experiment=experiment,
        runs=runs,
        limit=limit,
        seed=seed,
        simulator=None if simulator is None else simulator.value,
        user_model=user_model,
        system_model=system_model,
        judge_model=judge_model,
        judge_every_turn=judge_every_turn or None,
        temperature=temperature,
        system_prompt=system_prompt,
    )
    caps = Caps(max_connections, budget_usd, budget_tokens, yes, accept_drift, processes)
    done = run_choice(home, choice, caps)
    show_results(home, choice.experiment.name, [entry.alias for entry in choice.models], as_json=as_json)
    if print_missing(home, choice, done):
        raise typer.Exit(1)
