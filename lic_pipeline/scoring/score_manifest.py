"""The scoring stage of one manifest: conversations in, rows of ``extracted_answers`` and ``scores`` out.

Conversations stream through a few threads in batches; costly verdicts come from the ledger's cache where the loop has
already paid for them. A planned conversation that is not in the lake gets no row: metrics count it as missing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, TypeVar

from lic_pipeline.records import Conversation, Instruction
from lic_pipeline.scoring.conversation_scores import ScoredTurn, attempt_rows, score_conversation, score_turns
from lic_pipeline.scoring.verdicts import VerdictStore
from lic_pipeline.tasks.protocol import Task

Row = dict[str, Any]
Item = TypeVar("Item")
TurnScorer = Callable[[Task, Instruction, Conversation, VerdictStore], list[ScoredTurn]]
THREADS = 4
BATCH = 512


def score_manifest(
    task: Task,
    manifest: Sequence[Mapping[str, Any]],
    instructions: Mapping[str, Instruction],
    conversations: Iterable[Conversation],
    store: VerdictStore,
    turn_scorer: TurnScorer = score_turns,
) -> tuple[list[Row], list[Row]]:
    """Rows of both tables, ordered as the manifest; imported logs bring a ``turn_scorer`` of their own."""
    planned = {row["conversation_id"]: row for row in manifest}
    attempts: dict[str, list[Row]] = {}
    scores: dict[str, Row] = {}

    def one(conversation: Conversation) -> tuple[str, list[Row], Row]:
        name = conversation.conversation_id
        plan_row = planned[name]
        instruction = instructions[conversation.instruction_id]
        scored = turn_scorer(task, instruction, conversation, store)
        found = [{"experiment": plan_row["experiment"], **row} for row in attempt_rows(conversation, scored)]
        return name, found, _score_row(task, instruction, conversation, plan_row, scored)

    with ThreadPoolExecutor(THREADS if task.costly else 1, thread_name_prefix="lic-rescore") as executor:
        for batch in _batches(conversations, BATCH):
            for name, found, row in executor.map(one, batch):
                attempts[name], scores[name] = found, row
    order = [row["conversation_id"] for row in manifest if row["conversation_id"] in scores]
    return [row for name in order for row in attempts[name]], [scores[name] for name in order]


def _score_row(
    task: Task, instruction: Instruction, conversation: Conversation, plan_row: Mapping[str, Any], scored: Any
) -> Row:
    result = score_conversation(task, instruction, conversation, scored)
    named = {name: getattr(result, name) for name in result.__slots__ if name != "flags"}
    copied = ("conversation_id", "experiment", "task", "model", "setting", "condition", "instruction_id", "run")
    return {
        **{name: plan_row[name] for name in copied},
        "n_shards": plan_row["n_shards"],
        "n_turns": len(conversation.turns),
        "state": conversation.state,
        "stop_reason": None if conversation.stop_reason is None else str(conversation.stop_reason),
        **named,
        "flags": json.dumps(result.flags),
        "approval": plan_row["approval"],
        "signature": plan_row["signature"],
        "scorer_version": task.scorer_version,
    }


def _batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
