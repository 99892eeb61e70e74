"""Which scorer ``lic score`` uses: the registered tasks, those of the dialogue suite, and the judge of summaries."""

from __future__ import annotations

from lic_pipeline.dialogues.scorers import DIALOGUE_TASKS
from lic_pipeline.errors import ConfigError, UnknownNameError
from lic_pipeline.scoring.scorer import Scorable
from lic_pipeline.tasks.registry import get_task, task_names

LEXICAL = "lexical"


def known_tasks() -> tuple[str, ...]:
    """Names of everything ``lic score`` can score."""
    return (*task_names(), *DIALOGUE_TASKS)


def find_task(name: str, judge: str | None = None) -> Scorable:
    """The task of that name. ``judge``: None = only where a line has no verdict at all; ``lexical`` = the rest too.

    Raises UnknownNameError listing the known names, ConfigError for a judge of another task or one not available.
    """
    if name not in known_tasks():
        raise UnknownNameError("task", name, list(known_tasks()))
    if judge is None:
        return DIALOGUE_TASKS[name] if name in DIALOGUE_TASKS else get_task(name)
    if name != "summary":
        raise ConfigError(f"--judge is for the task summary; {name} needs none")
    if judge != LEXICAL:
        raise ConfigError(
            f"--judge {judge}: judging by a model comes with model access, which lic score does not have; "
            "use --judge lexical, or put verdicts into the lines"
        )
    from lic_pipeline.tasks.summary import Summary

    return Summary(fill=True)
