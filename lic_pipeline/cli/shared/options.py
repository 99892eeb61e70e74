"""Options that several commands share, and how they become an experiment, tasks and models."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from lic_pipeline.config import Home
    from lic_pipeline.models.registry import ModelEntry
    from lic_pipeline.simulation.plan.experiment import Experiment


LARGEST_BUDGET = 1e9
"""More than this is no cap (``inf`` included): whoever wants none says --yes."""

LONGEST_SYSTEM_PROMPT = 100_000
"""Characters; a file beyond is no system prompt but a mistake."""


class SimulatorChoice(StrEnum):
    """Who plays the user."""

    LLM = "llm"
    SCRIPTED = "scripted"


Models = Annotated[
    list[str] | None, typer.Option("--model", "-m", help="Model to test, as in `lic models`; repeatable.")
]
Tasks = Annotated[list[str] | None, typer.Option("--task", "-t", help="Task; repeatable. Default: all.")]
Settings = Annotated[
    list[str] | None, typer.Option("--setting", "-s", help="Setting (FULL, SHARDED, ...); repeatable.")
]
ExperimentName = Annotated[str, typer.Option("--experiment", "-e", help="Entry of data/experiments.yaml.")]
Runs = Annotated[int | None, typer.Option("--runs", "-n", min=1, help="Runs per instruction and setting (N).")]
Limit = Annotated[int | None, typer.Option("--limit", "-k", min=1, help="First K items of one seeded order per task.")]
Seed = Annotated[int | None, typer.Option("--seed", min=0, max=2**63 - 1, help="Seed of the experiment's design.")]
Simulator = Annotated[SimulatorChoice | None, typer.Option("--simulator", help="Who plays the user.")]
UserModel = Annotated[
    str | None, typer.Option("--user-model", help="Model that plays the user.", envvar="LIC_USER_MODEL")
]
SystemModel = Annotated[
    str | None, typer.Option("--system-model", help="Model that labels and extracts.", envvar="LIC_SYSTEM_MODEL")
]
JudgeModel = Annotated[
    str | None,
    typer.Option("--judge-model", help="Model that judges summaries (default: lexical).", envvar="LIC_JUDGE_MODEL"),
]
JudgeEveryTurn = Annotated[
    bool, typer.Option("--judge-every-turn", help="Judge the summaries of all turns; more calls, and a score_max.")
]
Temperature = Annotated[float | None, typer.Option("--temperature", min=0, max=2, help="Sampling temperature.")]
SystemPrompt = Annotated[
    Path | None, typer.Option("--system-prompt", help="File whose text follows the task's system prompt.")
]
Connections = Annotated[
    int | None,
    typer.Option("--max-connections", "-C", min=1, max=4096, help="Calls in flight at once, over all roles."),
]
Processes = Annotated[
    int | None,
    typer.Option("--processes", min=1, max=64, help="Processes that share the connections, for quick endpoints."),
]
BudgetUsd = Annotated[
    float | None,
    typer.Option(
        "--budget-usd", min=0, max=LARGEST_BUDGET, help="Most the experiment may spend, in USD, over all roles."
    ),
]
BudgetTokens = Annotated[
    int | None,
    typer.Option("--budget-tokens", min=0, max=10**15, help="Most tokens the experiment may use, over all roles."),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Call paid models without a budget.")]
AcceptDrift = Annotated[
    bool, typer.Option("--accept-drift", help="Ask anew what would be asked differently today; see exit code 5.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@dataclass(frozen=True)
class RunChoice:
    """What a command was asked for, resolved."""

    experiment: Experiment
    tasks: tuple[str, ...]
    models: tuple[ModelEntry, ...]


def resolve(
    home: Home,
    *,
    models: list[str] | None,
    tasks: list[str] | None = None,
    settings: list[str] | None = None,
    experiment: str = "main",
    system_prompt: Path | None = None,
    **varied: object,
) -> RunChoice:
    """The experiment (ad hoc when options vary it), tasks and models. Raises ConfigError naming what is unknown."""
    from lic_pipeline.cli.shared.output import say
    from lic_pipeline.errors import ConfigError, UnknownNameError
    from lic_pipeline.models.registry import get_model
    from lic_pipeline.simulation.plan.stored_experiments import find_experiment, keep_experiment
    from lic_pipeline.tasks.registry import task_names

    if not models:
        raise ConfigError("name a model with --model, for example --model sim/lost; `lic models` lists them")
    base = find_experiment(home, experiment)
    chosen = tuple(dict.fromkeys(tasks or [name for name in task_names() if base.covers(name)]))
    for name in chosen:
        if name not in task_names():
            raise UnknownNameError("task", name, list(task_names()))
    if varied.get("judge_every_turn") and "summary" not in chosen:
        say("--judge-every-turn changes nothing here: it is for the task summary, the others score every turn anyway")
    wanted = base.varied(settings=_settings(settings), system_prompt=_system_prompt(system_prompt), **varied)
    keep_experiment(home, wanted)
    return RunChoice(wanted, chosen, tuple(get_model(name) for name in dict.fromkeys(models)))


def _system_prompt(path: Path | None) -> str | None:
    """The text of the file. Raises ConfigError where it cannot be read or holds none."""
    from lic_pipeline.errors import ConfigError

    if path is None:
        return None
    try:
        text = path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise ConfigError(f"--system-prompt {path} cannot be read: {why}") from error
    if not 0 < len(text) <= LONGEST_SYSTEM_PROMPT:
        what = f"{len(text):,} characters; at most {LONGEST_SYSTEM_PROMPT:,} are sent" if text else "no text"
        raise ConfigError(f"--system-prompt {path} holds {what}")
    return text


def _settings(names: list[str] | None) -> tuple[object, ...] | None:
    from lic_pipeline.errors import ConfigError, UnknownNameError
    from lic_pipeline.records import DERIVED, Setting

    if not names:
        return None
    known = [str(setting) for setting in Setting]
    wanted = [name.upper().replace("_", "-") for name in names]
    for name in wanted:
        if name not in known:
            raise UnknownNameError("setting", name, known)
    alone = [name for name in wanted if name in DERIVED]
    if alone and Setting.SHARDED not in wanted:
        raise ConfigError(f"{alone[0]} continues the SHARDED conversations: add --setting SHARDED")
    return tuple(setting for setting in Setting if str(setting) in wanted)
