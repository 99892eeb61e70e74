"""How things stand: what manifests and plans want, what is done, what is missing and why. Reads, never writes.

One row per experiment, task and model. States come from the ledger, flags from the lake; nothing is scored here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from lic_pipeline.errors import ConfigError
from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.lake.files import unsafe_part
from lic_pipeline.lake.tables import read_partition
from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.ledger.records import DONE, OPEN, CallTotals
from lic_pipeline.simulation.plan.context_limits import unanswerable_items
from lic_pipeline.simulation.plan.conversation_plan import NO_SHARDS
from lic_pipeline.simulation.resume.pending_conversations import PendingConversations
from lic_pipeline.tables.runs import JUDGEMENTS, MANIFESTS
from lic_pipeline.tables.scores import SCORES
from lic_pipeline.verification.bookkeeping.manifests import manifest_partition, read_manifest

NOT_STARTED = "not_started"
UNFINISHED = "unfinished"
NOT_IN_LAKE = "not_in_lake"
"""Finished by the ledger, but its row is gone from the lake: the next run replays it without a call."""

NEVER_CALLED = frozenset({NOT_IN_LAKE, NO_SHARDS, "no_reference", "context"})
"""Reasons why an open conversation will cost no call."""


class Partition(NamedTuple):
    """Names of one manifest."""

    experiment: str
    task: str
    model: str


@dataclass
class PartitionStatus:
    """One manifest: conversations wanted, done and missing by reason, flags of the done ones, what was paid."""

    partition: Partition
    wanted: int
    done: int
    scored: int
    missing: Counter[str] = field(default_factory=Counter)
    flags: Counter[str] = field(default_factory=Counter)
    spend: CallTotals = field(default_factory=CallTotals)


def partitions(lake: Path) -> list[Partition]:
    """All manifests of a lake, in order of experiment, task and model."""
    found = []
    for path in (lake / MANIFESTS.name).glob("experiment=*/task=*/model=*/part.parquet"):
        names = [unsafe_part(part.split("=", 1)[1]) for part in path.parts[-4:-1]]
        found.append(Partition(*names))
    return sorted(found)


def select_manifests(
    lake: Path, *, experiment: str | None = None, tasks: Sequence[str] = (), models: Sequence[str] = ()
) -> list[Partition]:
    """The manifests of these names; no name = all."""
    return [
        one
        for one in partitions(lake)
        if (experiment is None or one.experiment == experiment)
        and (not tasks or one.task in tasks)
        and (not models or one.model in models)
    ]


def partition_status(lake: Path, ledger: Ledger, partition: Partition) -> PartitionStatus:
    """How one manifest stands now. Raises ConfigError when there is no such manifest."""
    never = {row["conversation_id"]: row["unanswerable"] for row in _manifest(lake, partition)}
    ids = list(never)
    states = ledger.states(ids)
    flags = ConversationStore(lake, partition.task, partition.model).flags(ids)
    missing = Counter(_reason(states.get(name), name in flags, never[name]) for name in ids)
    done = missing.pop("", 0)
    spend = CallTotals()
    for part in ledger.spend(ids).values():
        spend.add(part)
    scores = read_partition(lake, SCORES, manifest_partition(*partition)) or []
    wanted = set(ids)
    scored = sum(1 for row in scores if row["score"] is not None and row["conversation_id"] in wanted)
    seen = Counter(flag for name, named in flags.items() if states.get(name) == DONE for flag in named)
    return PartitionStatus(partition, len(ids), done, scored, missing, seen, spend)


def manifest_ids(lake: Path, partition: Partition) -> list[str]:
    """Conversations a manifest wants. Raises ConfigError when there is no such manifest."""
    return [row["conversation_id"] for row in _manifest(lake, partition)]


def _manifest(lake: Path, partition: Partition) -> list[dict[str, Any]]:
    rows = read_manifest(lake, *partition)
    if rows is None:
        raise ConfigError(f"{' / '.join(partition)} has no manifest; run it first")
    return rows


def _reason(state: str | None, in_lake: bool, never: str | None) -> str:
    """Why a conversation is missing; empty = it is done. ``never``: why no run would hold it, None = one would."""
    if in_lake and state is not None and state != OPEN:
        return "" if state == DONE else state
    if never is not None:
        return never
    if state is None:
        return NOT_STARTED
    return {OPEN: UNFINISHED, DONE: NOT_IN_LAKE}.get(state, state)


def open_by_reason(pending: PendingConversations) -> Iterator[tuple[str, str]]:
    """(conversation id, why it is open) of everything a run of this plan would take up."""
    never = unanswerable_items(pending.plan)
    for family in pending.todo:
        for spec in pending.open_specs(family):
            state = pending.states.get(spec.conversation_id)
            yield spec.conversation_id, _reason(state, False, never.get(spec.instruction_id))


def not_in_manifests(ledger: Ledger, lake: Path) -> dict[str, int]:
    """Conversations of the ledger that no manifest wants, by state: interrupted runs, replaced plans, judged lines.

    A question to a judge is one too, wanted by the manifest whose summaries raise it.
    """
    wanted = set[str]()
    for partition in partitions(lake):
        wanted.update(manifest_ids(lake, partition))
        judged = read_partition(lake, JUDGEMENTS, manifest_partition(*partition)) or []
        wanted.update(row["judgement_id"] for row in judged)
    counts = Counter[str]()
    for state in sorted(ledger.totals().conversations):
        counts[state] = sum(1 for name in ledger.ids(state) if name not in wanted)
    return {state: number for state, number in counts.items() if number}


def status_row(one: PartitionStatus) -> dict[str, Any]:
    """A standing as plain JSON; cost is null where a price is unknown."""
    spend = one.spend
    return {
        "experiment": one.partition.experiment,
        "task": one.partition.task,
        "model": one.partition.model,
        "wanted": one.wanted,
        "done": one.done,
        "scored": one.scored,
        "missing": dict(sorted(one.missing.items())),
        "flags": dict(sorted(one.flags.items())),
        "calls": spend.calls,
        "prompt_tokens": spend.prompt,
        "completion_tokens": spend.completion,
        "cost_usd": None if spend.unpriced else spend.cost_usd,
    }
