"""The registered tasks, by name. Ours are listed here; others come in as entry points of ``lic_pipeline.tasks``."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from lic_pipeline.errors import UnknownNameError
from lic_pipeline.tasks.protocol import Task

_OURS = {
    "code": "lic_pipeline.tasks.code.task:TASK",
    "database": "lic_pipeline.tasks.database.task:TASK",
    "actions": "lic_pipeline.tasks.actions.task:TASK",
    "math": "lic_pipeline.tasks.math.task:TASK",
    "data2text": "lic_pipeline.tasks.data2text.task:TASK",
    "summary": "lic_pipeline.tasks.summary.task:TASK",
}
ENTRY_POINT_GROUP = "lic_pipeline.tasks"


@cache
def _targets() -> dict[str, str]:
    others = {point.name: point.value for point in entry_points(group=ENTRY_POINT_GROUP)}
    return {**others, **_OURS}


def task_names() -> tuple[str, ...]:
    """Names of all registered tasks, ours first in the order of the paper's tables."""
    ours = tuple(_OURS)
    return ours + tuple(sorted(name for name in _targets() if name not in _OURS))


@cache
def get_task(name: str) -> Task:
    """The task registered under ``name``. Raises UnknownNameError listing the known ones."""
    try:
        target = _targets()[name]
    except KeyError:
        raise UnknownNameError("task", name, list(task_names())) from None
    module, _, attribute = target.partition(":")
    task = getattr(import_module(module), attribute)
    if not isinstance(task, Task):
        raise TypeError(f"{target} does not implement the Task protocol")
    return task
