"""How scoring reads what judges have said: the task of an experiment, scoring by stored verdicts."""

from __future__ import annotations

from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.records import Json
from lic_pipeline.simulation.experiment import Experiment
from lic_pipeline.simulation.parameters import judge_of
from lic_pipeline.simulation.roles.judge import judge_identity
from lic_pipeline.tasks.protocol import Task
from lic_pipeline.tasks.summary.stored import StoredJudge
from lic_pipeline.tasks.summary.task import Summary


def judged_task(task: Task, experiment: Experiment, ledger: Ledger) -> Task:
    """The task as it scores in this experiment: a summary by the verdicts its judge has given."""
    entry = judge_of(experiment, task.name)
    if entry is None:
        return task

    def find(key: str) -> Json | None:
        stored = ledger.verdict(key)
        return None if stored is None else stored["verdicts"]

    return Summary(StoredJudge(entry.alias, judge_identity(entry), find))
