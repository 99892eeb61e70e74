"""Caps of a run that are no part of its experiment: calls in flight at once, processes, and what may be spent.

They come from the environment, so that the command line, the UI and schedules share one way in; the command line sets
them for its own process. The scope of a budget is the experiment: a resumed run goes on counting where it stopped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from math import isfinite
from typing import TypeVar
from urllib.parse import urlsplit

from lic_pipeline.errors import ConfigError
from lic_pipeline.models.budget import Budget
from lic_pipeline.models.prices import price_of
from lic_pipeline.models.registry import ModelEntry, get_model
from lic_pipeline.simulation.plan.call_parameters import judge_entry, simulator_mode
from lic_pipeline.simulation.plan.experiment import Experiment

CONNECTIONS = "LIC_MAX_CONNECTIONS"
PROCESSES = "LIC_PROCESSES"
BUDGET_USD = "LIC_BUDGET_USD"
BUDGET_TOKENS = "LIC_BUDGET_TOKENS"

MOST_CONNECTIONS = 4096
"""As in a registry entry's limits: each is a task of the event loop."""

MOST_PROCESSES = 64

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_BOUNDS = {CONNECTIONS: (1, MOST_CONNECTIONS), PROCESSES: (1, MOST_PROCESSES)}
Number = TypeVar("Number", int, float)


def connections() -> int | None:
    """Calls in flight over all roles, None = as the registry entry says. Raises ConfigError for what is no number."""
    return _number(CONNECTIONS, int)


def processes() -> int:
    """Processes that hold the conversations of a run, this one included. Raises ConfigError for what is no number."""
    return _number(PROCESSES, int) or 1


def budget_of(experiment: Experiment) -> Budget | None:
    """What this experiment may spend in all, None = no cap was set. Raises ConfigError for what is no number."""
    return budget_in(f"experiment:{experiment.name}")


def budget_in(scope: str, usd: float | None = None, tokens: int | None = None) -> Budget | None:
    """What may be spent in a scope; the environment says what is not given, None = no cap was set."""
    usd = _number(BUDGET_USD, float) if usd is None else usd
    tokens = _number(BUDGET_TOKENS, int) if tokens is None else tokens
    return None if usd is None and tokens is None else Budget(scope, usd, tokens)


def automatic_budget(experiment: Experiment, model: ModelEntry, run_id: str, day: str) -> Budget | None:
    """The budget of a run nobody asked for: the smallest that the entries of its roles opted in with (``auto``).

    Its scope follows ``per``: this run, all automatic runs of the model on ``day``, or all there ever were. None = no
    entry names one, and the caps of the environment hold. Raises ConfigError for a role that names no known model.
    """
    named = [entry.auto for entry in _roles(experiment, model) if entry.auto is not None]
    if not named:
        return budget_of(experiment)
    smallest = min(named, key=lambda auto: auto.budget_usd)
    scopes = {"run": run_id, "day": f"{model.alias}:{day}", "total": model.alias}
    return Budget(f"automatic:{scopes[smallest.per]}", smallest.budget_usd)


def set_caps(
    max_connections: int | None = None,
    usd: float | None = None,
    tokens: int | None = None,
    processes: int | None = None,
) -> None:
    """Set caps for this process; None leaves what the environment says."""
    named = {CONNECTIONS: max_connections, BUDGET_USD: usd, BUDGET_TOKENS: tokens, PROCESSES: processes}
    os.environ.update({name: str(value) for name, value in named.items() if value is not None})


def paid_models(experiment: Experiment, model: ModelEntry) -> list[str]:
    """Aliases of the models of all roles that cost money, or whose price is unknown."""
    return sorted({entry.alias for entry in _roles(experiment, model) if costs(entry)})


def require_consent(experiment: Experiment, models: list[ModelEntry], yes: bool) -> None:
    """Raise ConfigError when paid models would be called with neither a budget nor a plain yes."""
    paid = sorted({alias for model in models for alias in paid_models(experiment, model)})
    hint = " (`lic plan` with the same options estimates calls and cost, and calls nothing)"
    require_opt_in(paid, budget_of(experiment), yes, hint)


def require_opt_in(paid: Collection[str], budget: Budget | None, yes: bool, hint: str = "") -> None:
    """Raise ConfigError when models that cost money would be called with neither a budget nor a plain yes."""
    if paid and not yes and budget is None:
        raise ConfigError(
            f"{', '.join(paid)} would be paid for: set a cap with --budget-usd or --budget-tokens, or say --yes{hint}"
        )


def _roles(experiment: Experiment, model: ModelEntry) -> list[ModelEntry]:
    roles = [model]
    if simulator_mode(experiment, model) == "llm":
        roles += [get_model(name) for name in (experiment.user_model, experiment.system_model) if name]
    judge = judge_entry(experiment, "summary") if experiment.covers("summary") else None
    return roles if judge is None else [*roles, judge]


def costs(entry: ModelEntry) -> bool:
    """True when calls of a model cost money, or may: its price is unknown."""
    own = entry.provider == "python" or (entry.base_url and urlsplit(entry.base_url).hostname in _LOOPBACK)
    if entry.is_persona or (own and entry.price is None):
        return False
    price = price_of(entry)
    return price is None or price.prompt > 0 or price.completion > 0


def _number(name: str, kind: Callable[[str], Number]) -> Number | None:
    text = os.environ.get(name)
    if not text:
        return None
    try:
        value = kind(text)
    except ValueError as error:
        raise ConfigError(f"{name}={text} is no number") from error
    if not isfinite(value):
        raise ConfigError(f"{name}={text} is no number; leave it unset for no cap")
    least, most = _BOUNDS.get(name, (0, None))
    if value < least:
        raise ConfigError(f"{name}={text} is too small")
    if most is not None and value > most:
        raise ConfigError(f"{name}={text} is too large: at most {most}")
    return value
