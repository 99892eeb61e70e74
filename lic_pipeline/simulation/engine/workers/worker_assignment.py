"""What a worker process is told, as one line of JSON: everything its share of the plan is made from."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from lic_pipeline.errors import ConfigError
from lic_pipeline.models.budget import Budget
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.models.request import digest
from lic_pipeline.records import Instruction, ShardedInstruction
from lic_pipeline.simulation.plan.conversation_plan import Approved, Plan, make_plan
from lic_pipeline.simulation.plan.experiment import Experiment


class WorkerAssignment(BaseModel):
    """A plan, where its ledger and lake are, and this process's share. It is sent through a pipe, never stored.

    ``ids`` stands for the conversation ids the plan must have: no process may hold other conversations than asked for.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    experiment: Experiment
    task: str
    model: ModelEntry
    purpose: str
    items: tuple[tuple[Instruction, ShardedInstruction | None, str], ...]
    ids: str
    ledger: str
    lake: Path
    connections: int
    budget: Budget | None

    @classmethod
    def of(cls, plan: Plan, ledger: str, lake: Path, connections: int, budget: Budget | None) -> WorkerAssignment:
        """The order to work through this plan."""
        return cls(
            experiment=plan.experiment,
            task=plan.task.name,
            model=plan.model,
            purpose=plan.specs[0].purpose,
            items=tuple((item.instruction, item.sharded, item.approval) for item in plan.items.values()),
            ids=_ids(plan),
            ledger=ledger,
            lake=lake,
            connections=connections,
            budget=budget,
        )

    def plan(self) -> Plan:
        """The plan again. Raises ConfigError when it would be another one."""
        made = make_plan(self.experiment, self.task, self.model, [Approved(*item) for item in self.items], self.purpose)
        if _ids(made) != self.ids:
            raise ConfigError("a process of the run makes other conversations than the first: do their files differ?")
        return made


def _ids(plan: Plan) -> str:
    return digest("\n".join(spec.conversation_id for spec in plan.specs))
