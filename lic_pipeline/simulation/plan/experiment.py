"""An experiment: a named, validated choice of settings, runs, items, seed, roles and rules.

Entries live in ``data/experiments.yaml``; options of ``lic run`` make an ad-hoc one named after its own hash. What of
an experiment enters a conversation's identity is decided in ``identity``, not here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from lic_pipeline.config import data_path
from lic_pipeline.errors import ConfigError, UnknownNameError, problems_told
from lic_pipeline.records import DERIVED, Setting

VARIES = "varies "
"""How the description of an ad-hoc experiment begins; the name of what it varies follows."""


_LATER_FIELDS = frozenset({"judge_every_turn"})


class Experiment(BaseModel):
    """One experiment. ``limit`` = first K items of a seeded order per task (None = all).

    ``judge_every_turn``: summaries of every turn are judged, not of the last one only; they get a ``score_max``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")
    description: str = ""
    tasks: tuple[str, ...] = ()
    settings: tuple[Setting, ...] = (Setting.FULL, Setting.CONCAT, Setting.SHARDED)
    skip_settings: Mapping[str, tuple[Setting, ...]] = Field(default_factory=dict)
    runs: int = Field(default=10, ge=1, le=1000)
    seed: int = Field(default=1, ge=0, le=2**63 - 1)
    limit: int | None = Field(default=None, ge=1)
    simulator: Literal["auto", "scripted", "llm"] = "auto"
    user_model: str | None = None
    system_model: str | None = None
    judge_model: str | None = None
    judge_every_turn: bool = False
    fidelity: Literal["enforce", "flag"] = "enforce"
    preset: Literal["release", "paper"] = "release"
    temperature: float = Field(default=1.0, ge=0, le=2)
    stop: Literal["correct", "exhausted"] = "correct"
    recap_of: Literal["utterances", "shards"] = "utterances"
    recap_notice: Literal["off", "on"] = "off"
    system_prompt: str = ""

    @field_validator("settings")
    @classmethod
    def _in_reading_order(cls, value: tuple[Setting, ...]) -> tuple[Setting, ...]:
        if not value:
            raise ValueError("name at least one setting")
        return tuple(setting for setting in Setting if setting in value)

    def settings_for(self, task: str) -> tuple[Setting, ...]:
        """Settings this experiment runs for one task, parents before what derives from them."""
        left_out = self.skip_settings.get(task, ())
        return tuple(setting for setting in self.settings if setting not in left_out)

    def covers(self, task: str) -> bool:
        """True when the experiment includes this task."""
        return not self.tasks or task in self.tasks

    def varied(self, **changes: Any) -> Experiment:
        """This experiment with other values, named after the hash of what it now is; unchanged = itself."""
        changed = {key: value for key, value in changes.items() if value is not None}
        if all(getattr(self, key) == value for key, value in changed.items()):
            return self
        try:
            fresh = Experiment.model_validate({**self.model_dump(), **changed, "description": f"{VARIES}{self.name}"})
        except ValidationError as error:
            raise ConfigError(f"experiment {self.name}: {problems_told(error)}") from error
        # A field that came later is left out at its default: experiments made before keep their names.
        later = {name for name in _LATER_FIELDS if getattr(fresh, name) == Experiment.model_fields[name].default}
        content = fresh.model_dump(mode="json", exclude={"name", "description", *later})
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:8]
        return fresh.model_copy(update={"name": f"adhoc-{digest}"})


@cache
def named_experiments() -> dict[str, Experiment]:
    """All entries of data/experiments.yaml. Raises ConfigError naming entry and field."""
    path = data_path() / "experiments.yaml"
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        entries = document["experiments"]
    except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: cannot be read as experiments ({error})") from error
    found = {}
    for name, fields in entries.items():
        try:
            found[name] = Experiment.model_validate({"name": name, **(fields or {})})
        except ValidationError as error:
            raise ConfigError(f"{path}: experiment {name}: {problems_told(error)}") from error
        if DERIVED & set(found[name].settings) and Setting.SHARDED not in found[name].settings:
            raise ConfigError(f"{path}: experiment {name}: RECAP and RETRY continue SHARDED: add it to settings")
    return found


def get_experiment(name: str) -> Experiment:
    """The named experiment. Raises UnknownNameError listing the known ones."""
    known = named_experiments()
    if name not in known:
        raise UnknownNameError("experiment", name, list(known))
    return known[name]
