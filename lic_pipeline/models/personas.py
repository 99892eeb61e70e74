"""Personas: calibration instruments with a declared truth. They are not language models (measurement: personas).

A persona is a table of probabilities per (task, setting). Every draw is a hash of the persona, the conversation's
design and the turn, so a persona answers the same whatever the concurrency, and its truth can be enumerated. Here
live the table and the law of one run; the client that answers is in ``clients``, the truth of
estimators in ``metrics``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from lic_pipeline.config import data_path
from lic_pipeline.errors import ConfigError, UnknownNameError, problems_told
from lic_pipeline.records import Setting

Probability = Field(ge=0, le=1)


class Traits(BaseModel):
    """Probabilities of one persona in one (task, setting).

    ``can_i``: share of instructions it can do at all (fixed per instruction). ``slip``: wrong although it can and all
    is known. ``early_t``: attempts at a turn before every shard is out, wrong by construction. ``lost``: after a wrong
    attempt the full-information attempt fails, decided once per conversation. ``recap_cure``, ``snowball_cure``: a
    lost conversation is found again. ``no_answer``: gives no attempt although all is known. ``filler``: most sentences
    of talk put before a reply of a binary task.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    can_i: float = Probability
    slip: float = Probability
    early_t: float = Probability
    lost: float = Probability
    recap_cure: float = Probability
    snowball_cure: float = Probability
    no_answer: float = Probability
    filler: int = Field(default=0, ge=0, le=20)


class Persona(BaseModel):
    """A named persona: traits for everything, overridden by task, then by ``task/setting``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    description: str
    traits: Traits
    overrides: Mapping[str, Mapping[str, float]] = Field(default_factory=dict)

    def traits_for(self, task: str, setting: Setting) -> Traits:
        """Traits in force for one task and setting."""
        changes: dict[str, float] = {}
        for key in (task, f"*/{setting}", f"{task}/{setting}"):
            changes.update(self.overrides.get(key, {}))
        return Traits.model_validate({**self.traits.model_dump(), **changes}) if changes else self.traits


def chance_lost(traits: Traits, shards: int) -> float:
    """Probability that a SHARDED conversation of ``shards`` shards has lost its way at full information."""
    return (1 - (1 - traits.early_t) ** (shards - 1)) * traits.lost


def chance_right(
    traits: Traits,
    setting: Setting,
    shards: int,
    kind: Literal["binary", "refinement"],
    before: Traits | None = None,
) -> float:
    """Probability that the scored reply of one run is the right one, for an instruction the persona can do.

    Enumeration over the turns under the scripted user, which reveals one shard a turn: the reply that counts is the
    one given when everything is out. ``before`` holds the SHARDED traits of the conversation a RECAP or RETRY
    continues. In refinement tasks each reply is an attempt, so the first wrong one always comes (at two shards up).
    """
    full = (1 - traits.no_answer) * (1 - traits.slip)
    if setting in (Setting.FULL, Setting.CONCAT, Setting.SHUFFLE_CONCAT):
        return full
    source = before or traits
    lost = (source.lost if shards > 1 else 0.0) if kind == "refinement" else chance_lost(source, shards)
    cure = {Setting.RECAP: traits.recap_cure, Setting.SNOWBALL: traits.snowball_cure}.get(setting, 0.0)
    return full * (1 - lost * (1 - cure))


def load_personas(path: Path) -> dict[str, Persona]:
    """Personas of one file by name. Raises ConfigError naming file, persona and field."""
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        entries = document["personas"]
    except (OSError, yaml.YAMLError, KeyError, TypeError) as error:
        raise ConfigError(f"{path}: cannot be read as personas ({error})") from error
    found = {}
    for name, fields in entries.items():
        try:
            persona = Persona.model_validate({"name": name, **fields})
            for key, changes in persona.overrides.items():
                Traits.model_validate({**persona.traits.model_dump(), **changes})
                if key.count("/") > 1:
                    raise ConfigError(f"{path}: persona {name}: override {key!r} is neither task nor task/setting")
        except ValidationError as error:
            raise ConfigError(f"{path}: persona {name}: {problems_told(error)}") from error
        except TypeError as error:
            raise ConfigError(f"{path}: persona {name} is no mapping of fields") from error
        found[name] = persona
    return found


@cache
def named_personas() -> Mapping[str, Persona]:
    """Personas of data/personas.yaml by name."""
    return load_personas(data_path() / "personas.yaml")


def get_persona(alias: str) -> Persona:
    """The persona behind ``sim/<name>``. Raises UnknownNameError listing the known ones."""
    name = alias.removeprefix("sim/")
    known = named_personas()
    if name not in known:
        raise UnknownNameError("persona", alias, [f"sim/{other}" for other in known])
    return known[name]
