"""How scoring reads what judges have said: the task of an experiment, scoring by stored verdicts."""

from __future__ import annotations

from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.records import Json
from lic_pipeline.simulation.plan.call_parameters import judge_entry
from lic_pipeline.simulation.plan.experiment import Experiment
from lic_pipeline.simulation.roles.llm_judge import judge_identity
from lic_pipeline.tasks.protocol import Task
from lic_pipeline.tasks.summary.stored_verdicts import StoredJudge
from lic_pipeline.tasks.summary.task import Summary


def judged_task(task: Task, experiment: Experiment, ledger: Ledger) -> Task:
    """The task as it scores in this experiment: a summary by the verdicts its judge has given.

    Without a model as judge the lexical one judges as it scores, every turn where the experiment asks for that.
    """
    entry = judge_entry(experiment, task.name)
    every_turn = judges_every_turn(experiment, task)
    if entry is None:
        return Summary(every_turn=True) if every_turn else task

    def find(key: str) -> Json | None:
        stored = ledger.verdict(key)
        return None if stored is None else stored["verdicts"]

    return Summary(StoredJudge(entry.alias, judge_identity(entry), find), every_turn=every_turn)


def judges_every_turn(experiment: Experiment, task: Task) -> bool:
    """True when replies of this task get scores they would not have without ``judge_every_turn``."""
    return experiment.judge_every_turn and task.name == Summary.name
