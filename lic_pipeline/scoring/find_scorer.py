"""Which scorer ``lic score`` uses: the registered tasks, those of the dialogue suite, and the judge of summaries."""

from __future__ import annotations

from lic_pipeline.dialogues.scorers import DIALOGUE_TASKS
from lic_pipeline.errors import ConfigError, UnknownNameError
from lic_pipeline.scoring.line_scorer import Scorable
from lic_pipeline.tasks.registry import get_task, task_names

LEXICAL = "lexical"
RUNS_PROGRAMS = frozenset({"code"})


def known_tasks() -> tuple[str, ...]:
    """Names of everything ``lic score`` can score."""
    return (*task_names(), *DIALOGUE_TASKS)


def asks_model(name: str, judge: str | None) -> bool:
    """True when this judge of this task is a model. Raises UnknownNameError, ConfigError for another task's judge."""
    if name not in known_tasks():
        raise UnknownNameError("task", name, list(known_tasks()))
    if judge is not None and name != "summary":
        raise ConfigError(f"--judge is for the task summary; {name} needs none")
    return judge not in (None, LEXICAL)


def find_task(name: str, judge: str | None = None) -> Scorable:
    """The task of that name. ``judge``: None = only where a line has no verdict at all; ``lexical`` = the rest too.

    Raises UnknownNameError listing the known names, ConfigError for a judge of another task, or one that is a model.
    """
    if asks_model(name, judge):
        raise ConfigError(f"--judge {judge} is a model, which has to be asked; lexical alone judges by itself")
    if judge is None:
        return DIALOGUE_TASKS[name] if name in DIALOGUE_TASKS else get_task(name)
    from lic_pipeline.tasks.summary.task import Summary

    return Summary(fill=True)


def sandbox_terms(name: str, allow_weak: bool) -> tuple[tuple[tuple[str, str], ...], str]:
    """For tasks that run programs: the signature's ``sandbox`` field, and why nothing is run (empty = it is).

    Programs of models run in a weak sandbox (limits only, no namespaces) only when that is allowed in so many words.
    """
    if name not in RUNS_PROGRAMS:
        return (), ""
    from lic_pipeline.sandbox.python.api import SandboxError, sandbox_mode

    try:
        mode = sandbox_mode()
    except SandboxError as error:
        return (("sandbox", "none"),), f"no_sandbox: {error}"
    if mode == "weak" and not allow_weak:
        reason = "no_sandbox: only a weak sandbox is to be had here; lic doctor says why, --allow-weak-sandbox uses it"
        return (("sandbox", "none"),), reason
    return (("sandbox", str(mode)),), ""
