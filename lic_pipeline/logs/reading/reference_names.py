"""What the reference scripts called things, in all their versions, and what we call them. No line is read here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lic_pipeline.errors import ConfigError, RecordError, UnknownNameError
from lic_pipeline.records import Json, Setting, Strategy
from lic_pipeline.sharding.released import OLD_NAMES, SET_ASIDE, instruction_id_of

PREFIX = "logs/"
"""Model aliases of imported conversations start with this, so that no registry entry is ever mixed with them."""

MODEL_ALIASES: Mapping[str, str] = {
    "llama3.1-8b-instruct": "llama3.1-8b-inst",
    "llama3.3-70b-instruct": "llama3.3-70b-inst",
}
"""Names that stand for the model on the right; ``lic import-logs --alias`` adds to them."""

_DEPLOYMENT = "t-"
_SEPARATED = re.compile(r"^((?:sharded-)?(?:GSM8K|HumanEval|BFCL|lcb\w*|livecodebench\w*))-(?=.)")
_SUFFIX = re.compile(r"-(?:t(?P<t>\d+(?:\.\d+)?)|at(?P<at>\d+(?:\.\d+)?)-ut(?P<ut>\d+(?:\.\d+)?))$")
SETTINGS: Mapping[str, Setting] = {
    "full": Setting.FULL,
    "concat": Setting.CONCAT,
    "shuffle-concat": Setting.SHUFFLE_CONCAT,
    "sharded": Setting.SHARDED,
    "snowball": Setting.SNOWBALL,
    "recap": Setting.RECAP,
    "recap-full": Setting.RECAP,
    "recap-concat": Setting.RECAP,
}
"""Names of settings in a ``conv_type``; ``lic import-logs --setting`` adds to them."""

_LABELS: Mapping[str, Strategy] = {
    **{str(strategy): strategy for strategy in Strategy},
    "hedge": Strategy.HEDGING,
    "refuse": Strategy.REFUSAL,
}


class SetAsideError(RecordError):
    """A sound line of something this pipeline does not evaluate; it is counted, not blamed."""


class UnknownSettingError(RecordError):
    """A ``conv_type`` that names no setting; ``name`` is its name without temperatures."""

    def __init__(self, conv_type: str, name: str, known: Mapping[str, Setting]) -> None:
        super().__init__(f"{conv_type!r} is none of: {', '.join(known)} (with -t or -at-ut suffix)", field="conv_type")
        self.name = name


@dataclass(frozen=True)
class Kind:
    """What a ``conv_type`` says: the setting, and condition columns (temperatures, what a recap restates).

    ``told`` = the name stands for this setting because the user said so.
    """

    setting: Setting
    condition: Mapping[str, Json]
    told: bool = False


def kind_of(conv_type: str, settings: Mapping[str, Setting] = SETTINGS) -> Kind:
    """Setting and conditions of a ``conv_type`` such as ``full-t0.5`` or ``sharded-at1.0-ut0.0``.

    Raises UnknownSettingError for one that names none of ``settings``.
    """
    name = _setting_name(conv_type)
    if name in settings and name not in SETTINGS:
        return Kind(settings[name], {}, told=True)
    condition: dict[str, Json] = {}
    if found := _SUFFIX.search(name):
        name = name[: found.start()]
        assistant, user = found["t"] or found["at"], found["ut"]
        condition["assistant_temperature"] = float(assistant)
        if user is not None:
            condition["user_temperature"] = float(user)
    if name not in settings:
        raise UnknownSettingError(conv_type, name, settings)
    told = settings[name] is not SETTINGS.get(name)
    if name.startswith("recap-") and not told:
        condition["recap_of"] = name.removeprefix("recap-")
    return Kind(settings[name], condition, told)


def names_setting(conv_type: str, setting: str) -> bool:
    """True when a ``conv_type`` names this setting by itself, without being told."""
    try:
        return kind_of(conv_type).setting == setting
    except UnknownSettingError:
        return False


def _setting_name(text: str) -> str:
    return text.strip().lower().replace("_", "-")


def task_named(name: str) -> str:
    """The task, older names included. Raises SetAsideError for one this pipeline does not have."""
    task = OLD_NAMES.get(name, name)
    if task in SET_ASIDE:
        raise SetAsideError(SET_ASIDE[task], field="task")
    return task


def instruction_id(task_id: str, task: str) -> str:
    """Our instruction id of a ``task_id``, older ``-`` for ``/`` included."""
    return instruction_id_of({"task_id": _SEPARATED.sub(r"\1/", task_id.strip())}, task)


def strategy_named(label: Json) -> Strategy | None:
    """The strategy a recorded label names, None for one we do not know."""
    return _LABELS.get(label.strip().lower()) if isinstance(label, str) else None


def model_named(name: str, aliases: Mapping[str, str] = MODEL_ALIASES) -> str:
    """The one name of a model that logs call by several: deployment prefix dropped, aliases followed."""
    bare = name.strip().removeprefix(_DEPLOYMENT)
    return aliases.get(bare, bare)


def setting_table(options: list[str]) -> dict[str, Setting]:
    """The names of settings with ``NAME=SETTING`` options added, in any case, ``_`` for ``-`` or not.

    Raises ConfigError for an option of another form, UnknownNameError for a setting that does not exist.
    """
    table = dict(SETTINGS)
    for option in options:
        name, _, setting = (_setting_name(part) for part in option.rpartition("="))
        if not (name and setting):
            raise ConfigError(f"--setting {option!r}: write NAME=SETTING, such as --setting snowball-v2=SNOWBALL")
        if setting.upper() not in set(Setting):
            raise UnknownNameError("setting", setting.upper(), [str(one) for one in Setting])
        table[name] = Setting(setting.upper())
    return table


def alias_table(options: list[str]) -> dict[str, str]:
    """The alias table with ``NAMED=NAME`` options added. Raises ConfigError naming an option of another form."""
    table = dict(MODEL_ALIASES)
    for option in options:
        named, equals, name = (part.strip() for part in option.partition("="))
        if not (named and equals and name):
            raise ConfigError(f"--alias {option!r}: write NAMED=NAME, such as --alias my-model-v1=my-model")
        table[named.removeprefix(_DEPLOYMENT)] = name.removeprefix(_DEPLOYMENT)
    return table
