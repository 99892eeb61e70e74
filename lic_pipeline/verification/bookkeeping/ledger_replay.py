"""Does the ledger still give the conversations it was filled by? And back: what one store lost, the other gives back.

Manifests say which conversations are wanted; each is replayed under the plan behind its manifest. A conversation that
today's plan no longer holds (an item, a prompt or a model entry has changed) cannot be replayed and is counted as such.
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lic_pipeline.config import Home
from lic_pipeline.errors import DriftError, LicError
from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.ledger.records import DONE
from lic_pipeline.models.ledger.statements import chunks
from lic_pipeline.models.registry import get_model
from lic_pipeline.records import Conversation
from lic_pipeline.simulation.conversation.replay import Replayer, ReplayError, same_conversation
from lic_pipeline.simulation.plan.conversation_plan import ConversationSpec, Plan
from lic_pipeline.simulation.plan.stored_experiments import find_experiment
from lic_pipeline.verification.bookkeeping.manifests import plan_for
from lic_pipeline.verification.bookkeeping.status import Partition, manifest_ids, partitions

BATCH = 250
"""Conversations in memory at once."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A conversation that is not as it should be. ``kind``: drift, incomplete (ledger) or differs (lake)."""

    conversation_id: str
    partition: Partition
    kind: str
    reason: str


@dataclass
class Verification:
    """``checked`` conversations were replayed; ``unchecked`` counts the rest of the sample by reason."""

    checked: int = 0
    unchecked: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)


@dataclass
class Rebuilt:
    """Conversations given back to the lake and to the ledger; ``failed`` those that could not be, by reason."""

    to_lake: int = 0
    to_ledger: int = 0
    failed: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class _Part:
    """One manifest, the plan behind it, its store, and the specs of what it wants."""

    partition: Partition
    plan: Plan
    store: ConversationStore
    specs: dict[str, ConversationSpec]


def verify(home: Home, ledger: Ledger, sample: int | None, seed: int = 0) -> Verification:
    """Replay ``sample`` finished conversations (None = all): same requests, same transcripts? Nothing is written."""
    result = Verification()
    parts = list(_parts(home, result.unchecked))
    listed = [(place, name) for place, part in enumerate(parts) for name in part.specs]
    if sample is not None and sample < len(listed):
        listed = sorted(random.Random(seed).sample(listed, sample))
    for place, part in enumerate(parts):
        names = [name for where, name in listed if where == place]
        for batch in chunks(names, BATCH):
            asyncio.run(_verify(ledger, part, batch, result))
    return result


def rebuild(home: Home, ledger: Ledger) -> Rebuilt:
    """Give each store what the other has of the manifests' finished conversations. No model is called.

    Into the lake: whatever the ledger holds in full. Into the ledger (an empty one, after a damaged file was moved
    away): scripted conversations, whose calls are all in their transcripts.
    """
    result = Rebuilt()
    for part in _parts(home, result.failed):
        in_lake = part.store.ids()
        states = ledger.states(list(part.specs))
        lost = [name for name, state in states.items() if state == DONE and name not in in_lake]
        unknown = [name for name in part.specs if name not in states and name in in_lake]
        for batch in chunks(lost, BATCH):
            asyncio.run(_to_lake(ledger, part, batch, result))
        for batch in chunks(unknown, BATCH):
            asyncio.run(_to_ledger(ledger, part, batch, result))
    return result


def _parts(home: Home, problems: Counter[str]) -> Iterator[_Part]:
    """Every manifest whose plan can still be made; a conversation two manifests want comes once."""
    seen: set[str] = set()
    for partition in partitions(home.lake):
        wanted = [name for name in manifest_ids(home.lake, partition) if name not in seen]
        seen.update(wanted)
        try:
            experiment = find_experiment(home, partition.experiment)
            plan = plan_for(home.lake, experiment, partition.task, get_model(partition.model))
        except LicError as error:
            problems[f"no plan ({error})"] += len(wanted)
            continue
        planned = {spec.conversation_id: spec for spec in plan.specs}
        specs = {name: planned[name] for name in wanted if name in planned}
        if len(specs) < len(wanted):
            problems["no longer planned"] += len(wanted) - len(specs)
        yield _Part(partition, plan, ConversationStore(home.lake, partition.task, partition.model), specs)


async def _verify(ledger: Ledger, part: _Part, names: Sequence[str], result: Verification) -> None:
    replays = await _Replays.open(ledger, part, names)
    held = {one.conversation_id: one for one in part.store.read(names)}
    for name in names:
        if replays.state(name) != DONE:
            result.unchecked["not finished"] += 1
            continue
        result.checked += 1
        finding = await _finding(replays, part, name, held.get(name))
        if finding is not None:
            result.findings.append(finding)


async def _finding(replays: _Replays, part: _Part, name: str, held: Conversation | None) -> Finding | None:
    try:
        again = await replays.conversation(name)
    except DriftError as error:
        return Finding(name, part.partition, "drift", f"call {error.key} differs in {error.field!r}")
    except ReplayError as error:
        return Finding(name, part.partition, "incomplete", str(error))
    if held is None:
        return Finding(name, part.partition, "differs", "it is not in the lake; lic ledger rebuild brings it back")
    if not same_conversation(again, held):
        return Finding(name, part.partition, "differs", "the lake holds another transcript")
    return None


async def _to_lake(ledger: Ledger, part: _Part, names: Sequence[str], result: Rebuilt) -> None:
    replays = await _Replays.open(ledger, part, names)
    again = []
    for name in names:
        try:
            again.append(await replays.conversation(name))
        except (DriftError, ReplayError) as error:
            result.failed[_reason(error)] += 1
    if again:
        part.store.append(again)
        result.to_lake += len(again)


async def _to_ledger(ledger: Ledger, part: _Part, names: Sequence[str], result: Rebuilt) -> None:
    replayer = await Replayer.open(part.plan, ledger)
    parents = {part.specs[name].parent_id for name in names} - {None}
    held = {one.conversation_id: one for one in part.store.read([*names, *(str(one) for one in parents)])}
    for name in names:
        spec, conversation = part.specs[name], held[name]
        if conversation.state != DONE:
            result.failed["ended in an error; the next run holds it again"] += 1
            continue
        try:
            await replayer.from_lake(spec, conversation, held.get(spec.parent_id or ""))
        except (DriftError, ReplayError) as error:
            result.failed[_reason(error)] += 1
            continue
        await ledger.flush()
        reason = conversation.stop_reason
        ledger.finish(name, DONE, None if reason is None else str(reason))
        result.to_ledger += 1
    await ledger.flush()


def _reason(error: Exception) -> str:
    return f"drift in {error.field!r}" if isinstance(error, DriftError) else str(error)


class _Replays:
    """Replays of one batch; the parents of derived conversations are loaded with them and replayed once."""

    def __init__(self, ledger: Ledger, part: _Part, names: Sequence[str], replayer: Replayer) -> None:
        self._part = part
        self._replayer = replayer
        parents = {part.specs[name].parent_id for name in names} - {None}
        self._specs = {spec.conversation_id: spec for spec in part.plan.specs}
        self._stored = ledger.load([*names, *(str(one) for one in parents)])
        self._made: dict[str, Conversation] = {}

    @classmethod
    async def open(cls, ledger: Ledger, part: _Part, names: Sequence[str]) -> _Replays:
        """With everything of the batch loaded."""
        return cls(ledger, part, names, await Replayer.open(part.plan, ledger))

    def state(self, name: str) -> str | None:
        """State of a conversation in the ledger."""
        stored = self._stored.get(name)
        return None if stored is None else stored.state

    async def conversation(self, name: str) -> Conversation:
        """A conversation, made again. Raises DriftError, ReplayError."""
        if name not in self._made:
            spec, stored = self._specs[name], self._stored.get(name)
            if stored is None:
                raise ReplayError(f"conversation {name} is not in the ledger")
            parent = None if spec.parent_id is None else await self.conversation(spec.parent_id)
            self._made[name] = await self._replayer.from_ledger(spec, stored, parent)
        return self._made[name]
