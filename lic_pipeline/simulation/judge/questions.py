"""What a judge has to be asked about conversations, and which of it was never asked. Nothing here asks anybody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.ledger.records import DONE
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.records import Conversation, Instruction, Policy
from lic_pipeline.simulation.judge.pending_questions import UNUSABLE_STATE
from lic_pipeline.simulation.roles.llm_judge import judge_identity
from lic_pipeline.tasks.summary.stored_verdicts import Question, QuestionCollector
from lic_pipeline.tasks.summary.task import Summary

POLICIES: tuple[Policy, ...] = ("robust", "reference")


class Raised(NamedTuple):
    """A question and the reply that raises it; ``turn`` from 1."""

    turn: int
    policy: Policy
    question: Question


def questions_of(conversation: Conversation, instruction: Instruction, *, every_turn: bool = False) -> Iterator[Raised]:
    """What a judge has to be asked about the last reply, or all of them, by policy; nothing where none is needed."""
    if conversation.state != DONE:
        return
    for turn in conversation.turns if every_turn else conversation.turns[-1:]:
        for policy in POLICIES:
            collector = QuestionCollector()
            task = Summary(collector)
            answer = task.extract(turn.reply, instruction, policy).answer
            if answer is not None:
                task.score(answer, instruction, policy)
                yield from (Raised(turn.turn, policy, question) for question in collector.questions)


def still_to_ask(
    entry: ModelEntry,
    ledger: Ledger,
    instructions: Mapping[str, Instruction],
    conversations: Iterable[Conversation],
    *,
    every_turn: bool = False,
) -> Counter[str]:
    """Questions the judge was never asked, by the first conversation that raises them. Calls nothing."""
    identity = judge_identity(entry)
    raised: dict[str, str] = {}
    for conversation in conversations:
        for one in questions_of(conversation, instructions[conversation.instruction_id], every_turn=every_turn):
            raised.setdefault(one.question.key(identity), conversation.conversation_id)
    states = ledger.states(list(raised))
    answered = (DONE, UNUSABLE_STATE)
    return Counter(name for key, name in raised.items() if states.get(key) not in answered)
