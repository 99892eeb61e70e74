"""The judging stage of one manifest: conversations in, rows of ``judgements`` out, verdicts in the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lic_pipeline.models.budget import Budget
from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.records import Conversation, Instruction, Json
from lic_pipeline.simulation.engine.outcome import Progress
from lic_pipeline.simulation.judge.pending_questions import Answer
from lic_pipeline.simulation.judge.question_loop import ToJudge, answer_questions
from lic_pipeline.simulation.judge.questions import POLICIES, questions_of
from lic_pipeline.simulation.plan.experiment import Experiment
from lic_pipeline.simulation.roles.llm_judge import judge_identity

Row = dict[str, Any]

_COPIED = ("experiment", "conversation_id", "task", "model", "setting", "instruction_id", "run")
_COVERAGES = ("full", "partial", "none")


@dataclass
class Judgements:
    """``rows`` of the table ``judgements``, a reply and policy each; ``calls`` made; ``states`` of the rows."""

    rows: list[Row] = field(default_factory=list)
    calls: int = 0

    @property
    def states(self) -> Counter[str]:
        """How many rows stand in which state."""
        return Counter(row["state"] for row in self.rows)


def judge_conversations(
    experiment: Experiment,
    entry: ModelEntry,
    ledger: Ledger,
    manifest: Iterable[Mapping[str, Any]],
    instructions: Mapping[str, Instruction],
    conversations: Iterable[Conversation],
    *,
    max_connections: int | None = None,
    budget: Budget | None = None,
) -> Judgements:
    """Put the last reply of every finished conversation before the judge, unless that was done before.

    Every reply where the experiment says ``judge_every_turn``.

    Raises the errors of ``question_loop.answer_questions``; what was paid for is stored and a rerun goes on from there.
    """
    planned = {row["conversation_id"]: row for row in manifest}
    budget = budget or Budget(f"experiment:{experiment.name}")
    progress = Progress(f"judging by {entry.alias}", len(planned))
    rows: list[Row] = []

    def on_answered(heads: list[Row], answers: Mapping[str, Answer]) -> None:
        for head in heads:
            answer = answers[head["judgement_id"]]
            rows.append({**head, "judge": entry.alias, "state": answer.state, **_counts(answer.verdicts)})

    cases = _cases(planned, instructions, conversations, judge_identity(entry), experiment.judge_every_turn)
    answer_questions(entry, ledger, budget, cases, on_answered, progress, connections=max_connections)
    order = {name: place for place, name in enumerate(planned)}
    rows.sort(key=lambda row: (order[row["conversation_id"]], row["turn"], POLICIES.index(row["policy"])))
    return Judgements(rows, progress.calls)


def _cases(
    planned: Mapping[str, Mapping[str, Any]],
    instructions: Mapping[str, Instruction],
    conversations: Iterable[Conversation],
    identity: str,
    every_turn: bool,
) -> Iterator[ToJudge[list[Row]]]:
    """Each conversation as the beginnings of its rows, with its questions."""
    for conversation in conversations:
        of_conversation = {name: planned[conversation.conversation_id][name] for name in _COPIED}
        heads, questions = [], {}
        instruction = instructions[conversation.instruction_id]
        for turn, policy, question in questions_of(conversation, instruction, every_turn=every_turn):
            key = question.key(identity)
            questions[key] = question
            heads.append({**of_conversation, "turn": turn, "policy": policy, "judgement_id": key})
        yield ToJudge(heads, questions)


def _counts(verdicts: list[Json] | None) -> dict[str, int | None]:
    if verdicts is None:
        return dict.fromkeys(_COVERAGES)
    counted = Counter(verdict["coverage"] for verdict in verdicts)
    return {name: counted[name] for name in _COVERAGES}
