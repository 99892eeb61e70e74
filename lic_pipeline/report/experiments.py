"""How an experiment of the report was made: its entry of experiments.yaml, or the options that made it."""

from __future__ import annotations

from collections.abc import Iterator

from lic_pipeline.config import Home
from lic_pipeline.errors import LicError
from lic_pipeline.models.request import digest
from lic_pipeline.report.render import markdown
from lic_pipeline.simulation.plan.experiment import Experiment, named_experiments
from lic_pipeline.simulation.plan.stored_experiments import base_of, find_experiment

_OPTIONS = {
    "settings": "setting",
    "runs": "runs",
    "limit": "limit",
    "seed": "seed",
    "simulator": "simulator",
    "user_model": "user-model",
    "system_model": "system-model",
    "judge_model": "judge-model",
    "judge_every_turn": "judge-every-turn",
    "temperature": "temperature",
    "system_prompt": "system-prompt",
}
"""Options of `lic run` by the field they set, in the order of its help."""


def made_by(home: Home, name: str) -> str:
    """One line of markdown; "" where nothing is known of this name (imported logs, a file that is gone)."""
    if name in named_experiments():
        return f"Entry of experiments.yaml: {markdown(named_experiments()[name].description)}."
    try:
        experiment = find_experiment(home, name)
        base = base_of(home, experiment)
    except LicError:
        return ""
    told = " ".join([f"lic run --experiment {base.name}", *_options(experiment, base)])
    return f"Made by {markdown(told)} (and the models and tasks of the tables)."


def _options(experiment: Experiment, base: Experiment) -> Iterator[str]:
    for field in Experiment.model_fields:
        value = getattr(experiment, field)
        if field in ("name", "description") or value == getattr(base, field):
            continue
        option = f"--{_OPTIONS[field]}" if field in _OPTIONS else f"{field}:"
        if field == "settings":
            yield from (f"{option} {setting}" for setting in value)
        elif field == "system_prompt":
            yield f"{option} (a text of {len(value)} characters, hash {digest(value)[:8]})"
        elif value is True:
            yield option
        else:
            yield f"{option} {value}"
