"""The model registry by alias: personas, ``data/models.yaml``, the user's own ``models.yaml`` under LIC_HOME.

A registry entry *is* a model here: two reasoning efforts of one model are two entries. Reading the registry imports no
client and opens no connection.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from lic_pipeline.config import Home, data_path
from lic_pipeline.errors import ConfigError, UnknownNameError, problems_told
from lic_pipeline.models.personas import named_personas
from lic_pipeline.records import Json


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ChatStyle(_Part):
    """How messages are shaped for this model: where the system prompt goes, whether roles must alternate."""

    system: Literal["system", "developer", "merge"] = "system"
    alternate: Literal["any", "strict"] = "any"


class Limits(_Part):
    """Provider limits of this entry: calls in flight, requests and tokens a minute."""

    concurrency: int = Field(default=16, ge=1, le=4096)
    rpm: int | None = Field(default=None, ge=1)
    tpm: int | None = Field(default=None, ge=1)


class Patience(_Part):
    """How long one call may take and how often it is tried; never part of a conversation's identity.

    ``attempt_s``: one HTTP attempt to its last byte. ``total_s``: attempts and pauses of one call together. Pauses grow
    from ``first_pause_s`` to ``longest_pause_s``; a provider's Retry-After is honoured up to ``retry_after_cap_s``.
    """

    attempt_s: float = Field(default=300.0, gt=0)
    total_s: float = Field(default=1800.0, gt=0)
    attempts: int = Field(default=20, ge=1, le=100)
    first_pause_s: float = Field(default=0.5, gt=0)
    longest_pause_s: float = Field(default=60.0, gt=0)
    retry_after_cap_s: float = Field(default=120.0, ge=0)


class Price(_Part):
    """USD per million tokens, where the price table does not know the model or is wrong."""

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)


class Auto(_Part):
    """Opt-in for runs that start by themselves: for which roles, and how much they may spend."""

    roles: tuple[Literal["assistant", "user", "system", "judge"], ...] = Field(min_length=1)
    budget_usd: float = Field(gt=0)
    per: Literal["run", "day", "total"] = "run"


_ADDRESS = re.compile(r"https?://[^\s/]+")
_TAKES_NO_SEED = frozenset({"anthropic", "sim"})


class ModelEntry(_Part):
    """One model including its parameters. ``id`` is ``provider/model``; ``alias`` is what people type.

    ``output_limit`` names the parameter that caps a reply's tokens; ``seed: per_conversation`` sends a seed with each
    call, one among ``parameters`` is the same in all. With ``base_url`` the endpoint is spoken to as OpenAI-compatible
    and gets a key only when ``key_variable`` names one.
    """

    alias: str = Field(min_length=1, max_length=120)
    id: str = Field(min_length=1)
    published_as: str | None = None
    base_url: str | None = None
    key_variable: str | None = None
    parameters: Mapping[str, Json] = Field(default_factory=dict)
    temperature: Literal["free", "fixed"] = "free"
    output_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    seed: Literal["none", "per_conversation"] = "none"
    reasoning: bool = False
    chat: ChatStyle = ChatStyle()
    context_window: int | None = Field(default=None, ge=1)
    limits: Limits = Limits()
    patience: Patience = Patience()
    price: Price | None = None
    skip_tasks: tuple[str, ...] = ()
    auto: Auto | None = None

    @field_validator("id")
    @classmethod
    def _has_provider(cls, value: str) -> str:
        if "/" not in value and not value.startswith("python:"):
            raise ValueError("write provider/model, for example openai/gpt-4o-mini, or python:module.function")
        return value

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is not None and not _ADDRESS.match(value):
            raise ValueError("write an address with its scheme, for example http://127.0.0.1:8080/v1")
        return value

    @model_validator(mode="after")
    def _can_be_seeded(self) -> Self:
        fixed = "seed" in self.parameters
        if self.seed == "none" and not fixed:
            return self
        if self.seed != "none" and fixed:
            raise ValueError("seed: per_conversation and a seed among the parameters exclude each other")
        if fixed and type(self.parameters["seed"]) is not int:
            raise ValueError("a seed among the parameters is an integer; write seed: per_conversation for one in each")
        if self.provider in _TAKES_NO_SEED and not self.base_url:
            raise ValueError(f"{self.provider} takes no seed; leave seed out")
        return self

    @property
    def provider(self) -> str:
        """The provider part of the id."""
        return "python" if self.id.startswith("python:") else self.id.split("/", 1)[0]

    @property
    def is_persona(self) -> bool:
        """True for calibration instruments (``sim/...``), which are no language models and cost nothing."""
        return self.provider == "sim"


def load_models(path: Path) -> dict[str, ModelEntry]:
    """Entries of one registry file by alias. Raises ConfigError naming file, entry and field."""
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        listed = document.get("models") or []
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: cannot be read as a model registry ({' '.join(str(error).split())})") from error
    except (OSError, ValueError, AttributeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it needs a list under models:, in UTF-8"
        raise ConfigError(f"{path}: cannot be read as a model registry ({why})") from error
    if not isinstance(listed, list):
        raise ConfigError(f"{path}: cannot be read as a model registry (models: is no list)")
    entries: dict[str, ModelEntry] = {}
    for position, fields in enumerate(listed, start=1):
        try:
            entry = ModelEntry.model_validate({"alias": (fields or {}).get("id"), **(fields or {})})
        except ValidationError as error:
            raise ConfigError(f"{path}: entry {position}: {problems_told(error)}") from error
        except (TypeError, AttributeError) as error:
            raise ConfigError(f"{path}: entry {position} is no mapping of fields, such as {{id: a/b}}") from error
        if entry.alias in entries or entry.provider == "sim":
            raise ConfigError(f"{path}: entry {position}: alias {entry.alias!r} is taken or names a persona")
        entries[entry.alias] = entry
    return entries


def user_registry() -> Path:
    """Where ``lic models add`` puts entries of this installation's own; need not exist."""
    return Home.locate().root / "models.yaml"


def registry() -> Mapping[str, ModelEntry]:
    """All known models by alias: personas first, then data/models.yaml, then the user's own file.

    Files are read again when they change, so a running server sees an added entry. Raises ConfigError.
    """
    own = user_registry()
    return _registry(_version(data_path() / "models.yaml"), _version(own) if own.is_file() else None)


_Version = tuple[Path, int, int]


def _version(path: Path) -> _Version:
    try:
        status = path.stat()
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read as a model registry ({error})") from error
    return path, status.st_mtime_ns, status.st_size


@lru_cache(maxsize=16)
def _registry(ours: _Version, own: _Version | None) -> Mapping[str, ModelEntry]:
    known = {f"sim/{name}": ModelEntry(alias=f"sim/{name}", id=f"sim/{name}") for name in named_personas()}
    known.update(load_models(ours[0]))
    added = load_models(own[0]) if own else {}
    taken = sorted(set(known) & set(added))
    if own and taken:
        raise ConfigError(f"{own[0]}: alias {taken[0]!r} is already in use; give this entry another alias")
    return {**known, **added}


def get_model(alias: str) -> ModelEntry:
    """The entry under ``alias``. Raises UnknownNameError listing the known ones."""
    known = registry()
    if alias not in known:
        raise UnknownNameError("model", alias, list(known))
    return known[alias]
