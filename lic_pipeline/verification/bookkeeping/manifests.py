"""From the lake to a plan: the approved items of a task, and the manifest a plan leaves behind."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from lic_pipeline.errors import ConfigError
from lic_pipeline.lake.tables import read_partition, write_partition
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.records import Json, Setting
from lic_pipeline.simulation.plan.context_limits import unanswerable_items
from lic_pipeline.simulation.plan.conversation_plan import NO_SHARDS, Approved, Plan, eligible, make_plan
from lic_pipeline.simulation.plan.experiment import Experiment
from lic_pipeline.tables.items import APPROVED_INSTRUCTIONS, INSTRUCTIONS, SHARDED_INSTRUCTIONS
from lic_pipeline.tables.runs import MANIFESTS
from lic_pipeline.verification.items.approval import approved_items


def load_approved(lake: Path, task: str) -> list[Approved]:
    """Approved items of a task. Raises ConfigError when the task was never prepared."""
    layers = [read_partition(lake, spec, {"task": task}) for spec in _LAYERS]
    if any(layer is None for layer in layers):
        raise ConfigError(f"task {task} has no approved instructions yet; materialize job `prepare` (or use `lic run`)")
    instructions, sharded, approved = (layer or [] for layer in layers)
    return approved_items(instructions, sharded, approved)


_LAYERS = (INSTRUCTIONS, SHARDED_INSTRUCTIONS, APPROVED_INSTRUCTIONS)


def plan_for(
    lake: Path, experiment: Experiment, task: str, model: ModelEntry, settings: Collection[Setting] | None = None
) -> Plan:
    """The plan of one partition from what the lake holds now; ``settings``: only these of the experiment's."""
    approved = load_approved(lake, task)
    if settings is not None:
        # Which items are taken is for the whole experiment to say, whatever part of it is carried out.
        approved = eligible(experiment, task, approved)
        kept = tuple(setting for setting in experiment.settings if setting in settings)
        experiment = experiment.model_copy(update={"settings": kept})
    return make_plan(experiment, task, model, approved)


def manifest_partition(experiment: str, task: str, model: str) -> dict[str, str]:
    """Partition of the manifest of one experiment, task and model."""
    return {"experiment": experiment, "task": task, "model": model}


def publish_manifest(lake: Path, plan: Plan) -> Path:
    """Write the plan's manifest, replacing the one before; conversations of the old one stay where they are."""
    partition = manifest_partition(plan.experiment.name, plan.task.name, plan.model.alias)
    return write_partition(lake, MANIFESTS, partition, _rows(plan))


def read_manifest(lake: Path, experiment: str, task: str, model: str) -> list[dict[str, Any]] | None:
    """Rows of a manifest, None when there is none."""
    return read_partition(lake, MANIFESTS, manifest_partition(experiment, task, model))


def manifest_is(plan: Plan, rows: list[dict[str, Any]] | None) -> bool:
    """True when the stored manifest is exactly this plan's."""
    return rows is not None and [_bare(row) for row in rows] == [_bare(row) for row in _rows(plan)]


def _rows(plan: Plan) -> list[dict[str, Json]]:
    never = {spec.conversation_id: NO_SHARDS for spec in plan.withheld}
    reasons = unanswerable_items(plan)
    never |= {s.conversation_id: reasons[s.instruction_id] for s in plan.specs if s.instruction_id in reasons}
    return [{**row, "unanswerable": never.get(row["conversation_id"])} for row in plan.manifest_rows()]


def _bare(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in _COMPARED}


_COMPARED = ("conversation_id", "content", "n_shards", "approval", "signature", "unanswerable")
