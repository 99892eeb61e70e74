"""Parameters really sent to the assistant, and which simulator an experiment uses for a model.

Presets are measurement's: ``paper`` = 1,000 visible tokens (10,000 for reasoning models), ``release`` = 4,096.
"""

from __future__ import annotations

from typing import Literal, Protocol

from lic_pipeline.errors import ConfigError
from lic_pipeline.models.registry import ModelEntry, get_model
from lic_pipeline.records import Instruction, Json, Setting
from lic_pipeline.seeding import derived_seed
from lic_pipeline.simulation.plan.experiment import Experiment

_VISIBLE_TOKENS = {"paper": 1_000, "release": 4_096}
_REASONING_TOKENS = 10_000
_ROLE_TOKENS = 2_000
"""Room for an extracted program; a user turn or a label takes a fraction of it."""

PER_CONVERSATION = "per_conversation"
"""Stands among the parameters where each conversation has a seed of its own."""


def assistant_parameters(experiment: Experiment, model: ModelEntry) -> dict[str, Json]:
    """Sampling parameters of an assistant call; the entry's own win over the preset. Personas take none."""
    if model.is_persona:
        return {}
    paper_reasoning = model.reasoning and experiment.preset == "paper"
    parameters: dict[str, Json] = {
        model.output_limit: _REASONING_TOKENS if paper_reasoning else _VISIBLE_TOKENS[experiment.preset]
    }
    if model.temperature == "free":
        parameters["temperature"] = experiment.temperature
    return {**parameters, **model.parameters, **_seed(model)}


def simulator_mode(experiment: Experiment, model: ModelEntry) -> Literal["scripted", "llm"]:
    """``auto`` = scripted for personas, llm for everything else."""
    if experiment.simulator == "auto":
        return "scripted" if model.is_persona else "llm"
    return experiment.simulator


def require_roles(experiment: Experiment, model: ModelEntry) -> None:
    """Raise ConfigError when an LLM simulator is wanted and its models are not named; the message says both ways on."""
    if simulator_mode(experiment, model) == "scripted":
        return
    if model.is_persona:
        raise ConfigError(f"{model.alias} is a calibration persona and takes --simulator scripted only")
    if not (experiment.user_model and experiment.system_model):
        raise ConfigError(
            f"{model.alias} needs a user and a system model: name them with --user-model and --system-model (they are "
            "called and paid for), or run without them with --simulator scripted"
        )


def role_models(experiment: Experiment, model: ModelEntry) -> tuple[ModelEntry, ...]:
    """Entries of the user and the system role, () when no model plays them. Raises UnknownNameError, ConfigError."""
    require_roles(experiment, model)
    if simulator_mode(experiment, model) == "scripted":
        return ()
    return tuple(role_entry(name or "") for name in (experiment.user_model, experiment.system_model))


def judge_entry(experiment: Experiment, task: str) -> ModelEntry | None:
    """The model that judges, None where the lexical judge does or nothing is judged.

    Raises UnknownNameError, and ConfigError for a persona.
    """
    return role_entry(experiment.judge_model) if task == "summary" and experiment.judge_model else None


def role_entries(experiment: Experiment, model: ModelEntry, task: str) -> dict[str, ModelEntry]:
    """Entries by role (user, system, judge) of what a model plays beside the assistant. Raises as the two above."""
    found = dict(zip(("user", "system"), role_models(experiment, model), strict=False))
    judge = judge_entry(experiment, task)
    return found if judge is None else {**found, "judge": judge}


def role_entry(name: str) -> ModelEntry:
    """The entry of a model that plays a role. Raises UnknownNameError, and ConfigError for a persona."""
    entry = get_model(name)
    if entry.is_persona:
        raise ConfigError(f"{entry.alias} is a calibration persona and can play no role but the assistant")
    return entry


def user_parameters(entry: ModelEntry) -> dict[str, Json]:
    """Sampling parameters of the user role: T = 1 (measurement: user role)."""
    return _role_parameters(entry, 1.0)


def system_parameters(entry: ModelEntry) -> dict[str, Json]:
    """Sampling parameters of classifier and extractor: T = 0."""
    return _role_parameters(entry, 0.0)


def _role_parameters(entry: ModelEntry, temperature: float) -> dict[str, Json]:
    limit = _REASONING_TOKENS if entry.reasoning else _ROLE_TOKENS
    parameters: dict[str, Json] = {entry.output_limit: limit}
    if entry.temperature == "free":
        parameters["temperature"] = temperature
    return {**parameters, **entry.parameters, **_seed(entry)}


class _Design(Protocol):
    """What of a conversation's spec its seeds come from: no model, no prompt."""

    @property
    def seed(self) -> int: ...
    @property
    def task(self) -> str: ...
    @property
    def setting(self) -> Setting: ...
    @property
    def run(self) -> int: ...


def provider_seed(role: str, spec: _Design, instruction: Instruction) -> int:
    """The ``seed`` a provider is sent for one role of a conversation, 0 .. 2^31 - 1 (measurement: randomness).

    The same for every model and in all its turns. A request, not a guarantee: few providers repeat themselves by it.
    """
    return seed_from(role, spec.seed, spec.task, instruction.content_hash, str(spec.setting), spec.run)


def seed_from(role: str, *parts: str | int) -> int:
    """A provider's seed, 0 .. 2^31 - 1, from a role and what its call is about."""
    return derived_seed("provider", role, *parts) >> 32


def _seed(entry: ModelEntry) -> dict[str, Json]:
    """The mark that stands for the seeds: they differ by conversation, that some are sent is part of its identity."""
    return {"seed": PER_CONVERSATION} if entry.seed == PER_CONVERSATION else {}
