"""The plan: approved items x settings x runs of one (task, model), as ordered conversation specs. Pure.

Making a plan calls nothing and reads no store; the same experiment, items and model give the same ids everywhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.models.request import canonical_json, digest
from lic_pipeline.records import DERIVED, IMPORTED, Instruction, Json, Setting, Shard, ShardedInstruction
from lic_pipeline.seeding import seeded_order, shuffled
from lic_pipeline.simulation.plan.cell_signature import cell_signature
from lic_pipeline.simulation.plan.conversation_ids import ConversationIdBuilder
from lic_pipeline.simulation.plan.experiment import Experiment
from lic_pipeline.tasks.protocol import Task
from lic_pipeline.tasks.registry import get_task

NO_SHARDS = "no_shards"
"""Why a conversation of an item without shards cannot be held in a setting that needs them."""

NEED_NO_SHARDS = frozenset({Setting.FULL})


@dataclass(frozen=True, slots=True)
class Approved:
    """One approved item: the instruction, its shards, and why it is approved; without shards, for FULL only."""

    instruction: Instruction
    sharded: ShardedInstruction | None
    approval: str

    @property
    def shards(self) -> tuple[Shard, ...]:
        """Its shards in order; none where nobody cut it."""
        return () if self.sharded is None else self.sharded.shards


@dataclass(frozen=True, slots=True)
class ConversationSpec:
    """One conversation to be had. ``shard_order``: shard ids in the order CONCAT lists or SHARDED may reveal them."""

    conversation_id: str
    purpose: str
    task: str
    model: str
    setting: Setting
    instruction_id: str
    run: int
    seed: int
    shard_order: tuple[int, ...]
    parent_id: str | None = None
    condition: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Family:
    """A conversation and those that continue it, the parent first; the unit of work of the engine."""

    specs: tuple[ConversationSpec, ...]


@dataclass(frozen=True)
class Plan:
    """All conversations of one experiment, task and model, in order; ``signatures`` per setting.

    ``withheld``: those the experiment wants and nobody can hold, of items without shards in settings that need them.
    """

    experiment: Experiment
    task: Task
    model: ModelEntry
    items: Mapping[str, Approved]
    families: tuple[Family, ...]
    signatures: Mapping[Setting, str]
    skipped: str | None = None
    withheld: tuple[ConversationSpec, ...] = ()

    @property
    def specs(self) -> tuple[ConversationSpec, ...]:
        """Every spec in plan order."""
        return tuple(spec for family in self.families for spec in family.specs)

    def manifest_rows(self) -> list[dict[str, Json]]:
        """One row per planned conversation, as the manifest stores it."""
        contents = {name: item.instruction.content_hash for name, item in self.items.items()}
        return [
            {
                "experiment": self.experiment.name,
                "task": spec.task,
                "model": spec.model,
                "setting": str(spec.setting),
                "condition": "{}",
                "instruction_id": spec.instruction_id,
                "run": spec.run,
                "conversation_id": spec.conversation_id,
                "parent_id": spec.parent_id,
                "content": contents[spec.instruction_id],
                "n_shards": len(self.items[spec.instruction_id].shards),
                "approval": self.items[spec.instruction_id].approval,
                "signature": self.signatures[spec.setting],
            }
            for spec in (*self.specs, *self.withheld)
        ]


def make_plan(
    experiment: Experiment, task_name: str, model: ModelEntry, approved: Sequence[Approved], purpose: str = "eval"
) -> Plan:
    """The plan of one partition. Items follow one seeded order per task; ``limit`` takes its first K."""
    task = get_task(task_name)
    items = _chosen(experiment, task_name, approved)
    skipped = _skip_reason(experiment, task_name, model)
    settings = experiment.settings_for(task_name)
    builder = ConversationIdBuilder(experiment, task, model, purpose)
    families: list[Family] = []
    withheld: list[ConversationSpec] = []
    for name, item in items.items() if skipped is None else ():
        for setting in settings:
            if not _can_be_held(item, setting):
                withheld += [_never_held(builder, name, setting, run) for run in range(experiment.runs)]
            elif setting not in DERIVED:
                families += [_family(builder, item, name, setting, r, settings) for r in range(experiment.runs)]
    held = {s: [name for name, item in items.items() if _can_be_held(item, s)] for s in settings}
    signatures = {s: cell_signature(experiment, task, model, s, held[s]) for s in settings}
    return Plan(experiment, task, model, items, tuple(families), signatures, skipped, tuple(withheld))


def eligible(experiment: Experiment, task_name: str, approved: Sequence[Approved]) -> list[Approved]:
    """The items an experiment takes: all with shards; without, those people imported, and any where FULL is all.

    A benchmark of which a tenth is sharded would otherwise cost ten times as much in FULL, compared with nothing.
    """
    full_alone = all(setting in NEED_NO_SHARDS for setting in experiment.settings_for(task_name))
    return [item for item in approved if item.shards or full_alone or item.instruction.source == IMPORTED]


def _chosen(experiment: Experiment, task_name: str, approved: Sequence[Approved]) -> dict[str, Approved]:
    """The first of the seeded order; items without shards come last, so that they displace none that has some."""
    by_id = {item.instruction.instruction_id: item for item in eligible(experiment, task_name, approved)}
    order = seeded_order(list(by_id), experiment.seed, task_name)
    order.sort(key=lambda name: not by_id[name].shards)
    return {name: by_id[name] for name in order[: experiment.limit]}


def _can_be_held(item: Approved, setting: Setting) -> bool:
    return bool(item.shards) or setting in NEED_NO_SHARDS


def _never_held(builder: ConversationIdBuilder, name: str, setting: Setting, run: int) -> ConversationSpec:
    """A place in the manifest under an id no conversation has: what it would show is not known without shards."""
    task, model, seed = builder.task.name, builder.model.alias, builder.experiment.seed
    place = [NO_SHARDS, builder.purpose, task, model, name, str(setting), run, seed]
    return ConversationSpec(
        digest(canonical_json(place)), builder.purpose, task, model, setting, name, run, seed, ()
    )  # fmt: skip


def _skip_reason(experiment: Experiment, task_name: str, model: ModelEntry) -> str | None:
    if task_name in model.skip_tasks:
        return f"{model.alias} skips {task_name} (skip_tasks of its registry entry)"
    if not experiment.covers(task_name):
        return f"experiment {experiment.name} does not include {task_name}"
    return None


def _family(
    builder: ConversationIdBuilder, item: Approved, name: str, setting: Setting, run: int, settings: Sequence[Setting]
) -> Family:
    experiment = builder.experiment
    order = _shard_order(item, setting, experiment.seed, run)

    def spec(chosen: Setting, conversation_id: str, parent: str | None) -> ConversationSpec:
        return ConversationSpec(
            conversation_id, builder.purpose, builder.task.name, builder.model.alias, chosen, name, run,
            experiment.seed, order, parent,
        )  # fmt: skip

    parent_id = builder.conversation_id(item.instruction, item.sharded, setting, run, order)
    specs = [spec(setting, parent_id, None)]
    if setting is Setting.SHARDED:
        specs += [spec(s, builder.derived_id(parent_id, s), parent_id) for s in settings if s in DERIVED]
    return Family(tuple(specs))


def _shard_order(item: Approved, setting: Setting, seed: int, run: int) -> tuple[int, ...]:
    ids = [shard.shard_id for shard in item.shards]
    if setting is not Setting.SHUFFLE_CONCAT:
        return tuple(ids)
    instruction = item.instruction
    rest = shuffled(ids[1:], "shuffle-concat", seed, instruction.task, instruction.instruction_id, run)
    return (ids[0], *rest)


def shards_in_order(item: Approved, order: Sequence[int]) -> tuple[Shard, ...]:
    """The item's shards in the order of the given ids."""
    by_id = {shard.shard_id: shard for shard in item.shards}
    return tuple(by_id[shard_id] for shard_id in order)
