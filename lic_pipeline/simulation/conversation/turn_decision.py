"""What a reply is made: its strategy, the attempt it makes, and how sure of that the roles were.

Decided once and stored; a replay reads the decision. Whoever decides anew over stored calls writes the same form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lic_pipeline.models.ledger.records import CallKey
from lic_pipeline.records import Attempt, Instruction, Json, Reply, Strategy, Turn
from lic_pipeline.scoring.verdicts import judge_stamp
from lic_pipeline.simulation.call_store import CallStore
from lic_pipeline.simulation.conversation.grading import Grader
from lic_pipeline.simulation.roles.scripted import Roles, RuleClassifier
from lic_pipeline.tasks.protocol import Task


class TurnDecision(NamedTuple):
    """The label of a role, that of the rules, the graded attempt (None = none), and what a role needed help for."""

    strategy: Strategy
    rule_strategy: Strategy
    attempt: Attempt | None
    flags: tuple[str, ...]


class TurnDecider:
    """Appraises the replies of one conversation."""

    def __init__(
        self, task: Task, roles: Roles, grader: Grader, instruction: Instruction, call_store: CallStore
    ) -> None:
        self._task = task
        self._classifier = roles.classifier
        self._grader = grader
        self._instruction = instruction
        self._call_store = call_store
        self._stamp = judge_stamp(task, instruction)
        self._stamps: set[str] = set()

    @property
    def judged_by(self) -> str:
        """Stamp of the turns' judgements; of several the one that is not today's, so that it is looked at again."""
        return min(self._stamps - {self._stamp}, default=self._stamp)

    async def decide(self, turn: int, reply: Reply) -> TurnDecision:
        """What was decided about the reply of a turn, or is decided now and stored. Raises CallError."""
        stored = self._call_store.decision("turn", turn)
        if stored is not None:
            return self._as_stored(stored)
        rule = self._task.label(reply, self._instruction)
        strategy = rule
        if not isinstance(self._classifier, RuleClassifier):
            strategy = await self._classifier.label(self._task, self._instruction, reply, turn, self._call_store)
        attempt = await self._grader.attempt(self._instruction, reply, strategy, turn, self._call_store)
        made = TurnDecision(strategy, rule, attempt, self._flags(turn))
        self._call_store.decide("turn", turn, decision_document(made, self._stamp), str(self._task.scorer_version))
        return made

    def _as_stored(self, stored: Json) -> TurnDecision:
        attempt = None if stored["attempt"] is None else Attempt.model_validate(stored["attempt"])
        self._stamps.add(stored.get("judged_by", ""))
        flags = tuple(stored.get("system_flags", ()))
        return TurnDecision(Strategy(stored["strategy"]), Strategy(stored["rule_strategy"]), attempt, flags)

    def _flags(self, turn: int) -> tuple[str, ...]:
        """What a system model needed a second call or the rules for."""
        trouble: dict[str, CallKey | tuple[str, int]] = {
            "label_reasked": CallKey("classifier", turn, 1),
            "label_fallback": ("classifier_fallback", turn),
            "extractor_reasked": CallKey("extractor", turn, 1),
        }
        return tuple(name for name, what in trouble.items() if self._call_store.used(what))


def decision_document(made: TurnDecision, judged_by: str) -> Json:
    """What was decided about a reply, as the ledger keeps it."""
    return {
        "strategy": str(made.strategy),
        "rule_strategy": str(made.rule_strategy),
        "attempt": None if made.attempt is None else made.attempt.model_dump(mode="json"),
        "judged_by": judged_by,
        **({"system_flags": list(made.flags)} if made.flags else {}),
    }


def conversation_flags(turns: Sequence[Turn]) -> tuple[str, ...]:
    """What happened in a conversation that a reader of its score must know, sorted."""
    flags: set[str] = set()
    for turn in turns:
        flags.update(turn.user_flags)
        flags.update(turn.reply.flags)
        if turn.reply.finish_reason == "length":
            flags.add("truncated")
        if turn.reply.finish_reason == "content_filter":
            flags.add("content_filter")
        if turn.strategy is Strategy.REFUSAL:
            flags.add("refusal")
        if not turn.reply.text.strip() and not turn.reply.tool_calls:
            flags.add("empty_reply")
        if turn.attempt is not None and turn.attempt.gate == "ungated":
            flags.add("ungated")
    return tuple(sorted(flags))
