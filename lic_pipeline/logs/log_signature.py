"""The signature of an imported cell: what its numbers depend on, as far as the logs say. Written like any other."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from lic_pipeline.logs.build_conversation import IMPORT_SEMANTICS
from lic_pipeline.logs.outcome import Entry
from lic_pipeline.logs.reading.reference_names import names_setting
from lic_pipeline.models.request import digest
from lic_pipeline.tasks.protocol import Task

_ESCAPES = {"%": "%25", "|": "%7C", "\n": "%0A", "\r": "%0D"}


def log_signature(task: Task, model: str, setting: str, entries: Collection[Entry]) -> str:
    """``key:value`` pairs joined by ``|`` for the entries of one (task, model, setting, condition)."""
    users, systems = _named(e.user_model for e in entries), _named(e.system_model for e in entries)
    fields = {
        "task": task.name,
        "items": digest("\x1f".join(sorted({e.instruction_id for e in entries})))[:8],
        "setting": setting,
        **_told(setting, entries),
        "policy": "robust",
        "gate": "label+strict",
        "stop": stop_rule(entries) if task.kind == "binary" else "exhausted",
        "score": "max" if task.kind == "binary" else "last",
        "extraction": "ladder+recorded",
        "user": f"logged({users})" if users else "none",
        "system": f"logged({systems})" if systems else "none",
        "judge": "lexical" if task.name == "summary" else "none",
        "assistant": model,
        "budgets": "logged",
        "system_prompt": "logged",
        "engine": f"import-{IMPORT_SEMANTICS}",
        "ver": str(task.scorer_version),
    }
    return "|".join(f"{key}:{_escaped(value)}" for key, value in fields.items())


def _told(setting: str, entries: Iterable[Entry]) -> dict[str, str]:
    """What the logs call a setting that the user had to name: a fork's design may not be ours."""
    names = _named(name for name in {entry.conv_type for entry in entries} if not names_setting(name, setting))
    return {"logged_as": names} if names else {}


def stop_rule(entries: Iterable[Entry]) -> str:
    """The stop rule of a cell: what its conversations show, ``mixed`` when they show both."""
    shown = {entry.stop for entry in entries} - {"unknown"}
    if len(shown) > 1:
        return "mixed"
    return next(iter(shown), "unknown")


def _named(names: Iterable[str]) -> str:
    return ",".join(sorted({name for name in names if name}))


def _escaped(text: str) -> str:
    for plain, coded in _ESCAPES.items():
        text = text.replace(plain, coded)
    return text
