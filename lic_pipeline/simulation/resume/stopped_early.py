"""Which finished conversations must go on: stopped at an answer that current code no longer calls right.

Only conversations that were cut short are looked at, only when scorer or reference changed since their turns were
judged, and each only once per change: what was found is kept in the ledger's cache of verdicts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from lic_pipeline.lake.conversations import ConversationStore, Ending
from lic_pipeline.models.request import digest
from lic_pipeline.records import DERIVED, SINGLE_TURN, StopReason
from lic_pipeline.scoring.conversation_scores import score_conversation, score_turns
from lic_pipeline.scoring.verdicts import VerdictStore, judge_stamp
from lic_pipeline.simulation.plan.conversation_plan import Family, Plan


def to_continue(
    plan: Plan,
    settled: Collection[str],
    endings: Mapping[str, Ending],
    store: ConversationStore,
    cache: VerdictStore,
) -> Iterator[str]:
    """Ids of settled conversations that stopped too early by current code, and of those that continue them."""
    early = _stopped_early(plan, settled, endings, store, cache)
    for family in plan.families:
        first, *following = family.specs
        if first.conversation_id in early:
            yield first.conversation_id
        for spec in following:
            name = spec.conversation_id
            if name in settled and (
                first.conversation_id in early or _other_parent(endings[name], endings.get(first.conversation_id))
            ):
                yield name


def _other_parent(child: Ending, parent: Ending | None) -> bool:
    """True when a RECAP or RETRY continued its parent at another length than the parent has now."""
    return parent is not None and child.first_turn > 0 and child.first_turn != parent.n_turns + 1


def _stopped_early(
    plan: Plan,
    settled: Collection[str],
    endings: Mapping[str, Ending],
    store: ConversationStore,
    cache: VerdictStore,
) -> set[str]:
    if plan.task.kind != "binary" or plan.experiment.stop != "correct":
        return set()
    stamps: dict[str, str] = {}
    keys: dict[str, str] = {}
    for name, ending in _cut_short(plan.families, settled, endings):
        if ending.instruction_id not in stamps:
            instruction = plan.items[ending.instruction_id].instruction
            stamps[ending.instruction_id] = judge_stamp(plan.task, instruction)
        if ending.judged_by != stamps[ending.instruction_id]:
            keys[name] = digest("\x1f".join(("stopped-early", name, ending.judged_by, stamps[ending.instruction_id])))
    known = {name: cache.verdict(key) for name, key in keys.items()}
    early = {name for name, found in known.items() if found is not None and found["early"]}
    for conversation in store.read(name for name, found in known.items() if found is None):
        instruction = plan.items[conversation.instruction_id].instruction
        scored = score_turns(plan.task, instruction, conversation, cache)
        scores = score_conversation(plan.task, instruction, conversation, scored)
        too_early = "stopped_early" in scores.flags
        if too_early:
            early.add(conversation.conversation_id)
        if too_early or scores.score is not None:  # What could not be scored now says nothing.
            cache.store_verdict(keys[conversation.conversation_id], {"early": too_early})
    return early


def _cut_short(
    families: Collection[Family], settled: Collection[str], endings: Mapping[str, Ending]
) -> Iterator[tuple[str, Ending]]:
    """Settled conversations that revealed bit by bit and stopped at a right answer."""
    for family in families:
        for spec in family.specs:
            ending = endings.get(spec.conversation_id)
            if ending is None or spec.conversation_id not in settled or spec.setting in SINGLE_TURN | DERIVED:
                continue
            if ending.stop_reason == StopReason.CORRECT:
                yield spec.conversation_id, ending
