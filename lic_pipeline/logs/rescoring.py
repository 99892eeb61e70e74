"""One imported conversation scored again: every attempt under both policies, and the steps from the old to the new.

The reference policy is given the recorded extraction, as the scripts' scorer was. The steps change one thing at a time,
in a fixed order: comparison, extraction, gate, last -> max (measurement: artefact).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lic_pipeline.logs.tables import STEP_SCORES
from lic_pipeline.records import Conversation, Instruction, Policy, Strategy, Verdict
from lic_pipeline.scoring.conversation_scores import ScoredTurn, score_turns
from lic_pipeline.scoring.verdicts import VerdictStore, verdict_of
from lic_pipeline.tasks.protocol import Task

STEPS = ("reference", "comparison", "extraction", "gate", "last_to_max")
"""Names of the steps; step i leads from column i of ``tables.STEP_SCORES`` to column i + 1."""

ROUNDING = 1e-6
"""Scores (0..100) that differ by no more are the same score."""


@dataclass(frozen=True, slots=True)
class Graded:
    """One reply scored in every way: ``recorded`` None = not graded in the log; scores 0..100 or None."""

    scored: ScoredTurn
    recorded: Verdict | None
    reference: float | None
    comparison: float | None
    extraction: float | None

    @property
    def was_empty(self) -> bool:
        """True when the scripts graded an empty extraction."""
        attempt = self.scored.turn.attempt
        return attempt is not None and attempt.extraction.answer is None


def rescore(
    task: Task, instruction: Instruction, conversation: Conversation, store: VerdictStore
) -> tuple[list[ScoredTurn], dict[str, Any]]:
    """The scored turns (their reference verdict given the recorded extraction), and the step columns of the row."""
    graded = [_graded(task, instruction, one, store) for one in score_turns(task, instruction, conversation, store)]
    return [one.scored for one in graded], step_columns(task, graded)


def _graded(task: Task, instruction: Instruction, one: ScoredTurn, store: VerdictStore) -> Graded:
    def verdict(policy: Policy) -> Verdict:
        assert one.turn.attempt is not None
        return verdict_of(task, instruction, one.turn.attempt.extraction, policy, store)

    attempt = one.turn.attempt
    reference = verdict("reference") if attempt else None
    recorded = attempt.verdict if attempt else None
    found = one.verdict if one.attempt else verdict_of(task, instruction, one.extraction, "robust", store)
    published = _snapped(reference.score if reference else None, recorded.score if recorded else None)
    compared = _snapped(verdict("robust").score if attempt else None, published)
    return Graded(
        scored=replace(one, reference=reference),
        recorded=recorded,
        reference=published,
        comparison=compared,
        extraction=_snapped(found.score, compared),
    )


def _snapped(score: float | None, earlier: float | None) -> float | None:
    """The earlier score where the two differ by rounding only: logs hold 0..1, and a graded score is rarely round."""
    same = score is not None and earlier is not None and abs(score - earlier) <= ROUNDING
    return earlier if same else score


def step_columns(task: Task, graded: Sequence[Graded]) -> dict[str, Any]:
    """The columns of ``imported_logs`` that come from scores."""
    old = [one for one in graded if one.recorded is not None]
    new = [one for one in graded if one.scored.attempt]
    labelled = [one for one in graded if one.scored.turn.strategy is Strategy.ANSWER_ATTEMPT]
    by_rule = [one for one in graded if _passes_by_rule(one)] if task.kind == "binary" else new
    best = _best if task.kind == "binary" else _last  # refinement tasks: the last reply in every policy
    columns: dict[str, Any] = {
        "recorded_last": _last([_recorded(one) for one in old]),
        "recorded_max": _best([_recorded(one) for one in old]),
        "reference_last": _last([one.reference for one in old]),
        "reference_max": _best([one.reference for one in old]),
        "comparison_last": _last([one.comparison for one in old]),
        "extraction_last": _last([one.extraction for one in old]),
        "gate_last": _last([one.extraction for one in new]),
        "robust_max": best([one.extraction for one in new]),
        "grade_all": best([one.extraction for one in graded]),
        "label_only": best([one.extraction for one in labelled]),
        "rule_gate": best([one.extraction for one in by_rule]),
        "attempts": len(old),
        "reproduced": sum(one.reference == _recorded(one) for one in old),
        "moves": _moves(old, new),
    }
    columns["reasons"] = _reasons(columns, bool(old) and old[-1].was_empty)
    return columns


def _recorded(one: Graded) -> float | None:
    return one.recorded.score if one.recorded else None


def _passes_by_rule(one: Graded) -> bool:
    found = one.scored.extraction
    rule = one.scored.turn.rule_strategy
    strict = found.strict and found.answer is not None
    return rule is Strategy.ANSWER_ATTEMPT or (strict and rule not in (Strategy.HEDGING, Strategy.MISSING))


def _last(values: Sequence[float | None]) -> float | None:
    return values[-1] if values else 0.0


def _best(values: Sequence[float | None]) -> float | None:
    """The best value; unknown ones leave it open unless another is perfect."""
    known = [value for value in values if value is not None]
    best = max(known, default=0.0)
    return best if len(known) == len(values) or best == 100.0 else None


def _moves(old: Sequence[Graded], new: Sequence[Graded]) -> dict[str, list[int]]:
    pairs = {
        "reference": [(_recorded(one), one.reference) for one in old],
        "comparison": [(one.reference, one.comparison) for one in old],
        "extraction": [(one.comparison, one.extraction) for one in old],
    }
    moves = {
        name: [
            sum(a is not None and b is not None and b > a for a, b in changed),
            sum(a is not None and b is not None and b < a for a, b in changed),
        ]
        for name, changed in pairs.items()
    }
    return moves | {"gate": [sum(one.recorded is None for one in new), sum(not one.scored.attempt for one in old)]}


def _reasons(columns: Mapping[str, Any], empty: bool) -> list[str]:
    """Steps at which the score of the conversation changed, with direction."""
    found = []
    for step, before, after in zip(STEPS, STEP_SCORES, STEP_SCORES[1:], strict=False):
        a, b = columns[before], columns[after]
        if a is None or b is None or a == b:
            continue
        name = {"reference": "not_reproduced", "extraction": "empty_extraction" if empty else "extraction"}.get(
            step, step
        )
        found.append(f"{name}{'+' if b > a else '-'}")
    return found
