"""How many questions a judge that is a model will still be asked. Nothing here asks anybody.

Each scoring policy cuts bullets to the word limit in its own way: a summary within the limit raises one question, a
longer one a question per policy, one without bullets none. What is held is counted; of what is still to be written the
number is that of summaries this model has written for the plan before, or the most there can be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import sqrt
from statistics import fmean, stdev

from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.records import Conversation, Instruction
from lic_pipeline.simulation.judge.questions import POLICIES, questions_of, still_to_ask
from lic_pipeline.simulation.resume.pending_conversations import PendingConversations
from lic_pipeline.tasks.summary.summary_bullets import WORD_LIMIT

FEWEST_COUNTED = 20
"""Held summaries from which their own mean is used."""

MOST_COUNTED = 200
_TWO_SIDED_95 = 1.96


@dataclass(frozen=True)
class ExpectedQuestions:
    """``unasked``: questions about held summaries, by conversation id (exact). ``per_summary``: of one to be written,
    give or take ``margin`` (95%), as ``counted`` held ones raised; counted in none, it is the most there can be.
    """

    unasked: Mapping[str, int] = field(default_factory=dict)
    per_summary: float = float(len(POLICIES))
    margin: float | None = None
    counted: int = 0

    @property
    def certainty(self) -> str:
        """The sentence that says how sure the number is."""
        if not self.counted or self.margin is None:
            return (
                f"{len(POLICIES)} questions to the judge per summary, the most there can be: one for each policy, "
                f"one for both where a summary keeps to {WORD_LIMIT} words with its citations"
            )
        return (
            f"{self.per_summary:.2f} questions to the judge per summary, give or take {self.margin:.2f}, as "
            f"{self.counted} held ones of the model raised"
        )


def expected_questions(pending: PendingConversations, entry: ModelEntry, *, judged: bool) -> ExpectedQuestions:
    """What is ahead of the judge ``entry``; ``judged``: nothing held is left to ask about."""
    plan = pending.plan
    every_turn = plan.experiment.judge_every_turn
    instructions = {name: item.instruction for name, item in plan.items.items()}
    held = [spec.conversation_id for spec in plan.specs if pending.is_done(spec)]
    unasked: Mapping[str, int] = {}
    if not judged:
        unasked = still_to_ask(entry, pending.ledger, instructions, pending.store.read(held), every_turn=every_turn)
    counts = [
        count
        for conversation in pending.store.read(held[:: -(-len(held) // MOST_COUNTED) or 1])
        for count in _raised(conversation, instructions[conversation.instruction_id], every_turn)
    ]
    if len(counts) < FEWEST_COUNTED:
        return ExpectedQuestions(unasked)
    return ExpectedQuestions(unasked, fmean(counts), _TWO_SIDED_95 * stdev(counts) / sqrt(len(counts)), len(counts))


def _raised(conversation: Conversation, instruction: Instruction, every_turn: bool) -> list[int]:
    """Different questions each summary of a conversation raises."""
    asked = {(one.turn, one.question) for one in questions_of(conversation, instruction, every_turn=every_turn)}
    by_turn = Counter(turn for turn, _ in asked)
    return [by_turn[turn.turn] for turn in (conversation.turns if every_turn else conversation.turns[-1:])]
