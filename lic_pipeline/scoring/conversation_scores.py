"""Scores of stored conversations, recomputed from the transcript with current code under both policies.

What was decided in the loop is kept beside what is found now: now right where the loop went on = scored right, flag
``ran_past_correct``; now wrong where the loop stopped and something was still to be said = score NULL, flag
``stopped_early``, and the next run goes on from there (architecture: decisions, ``simulation.resume``). Sharing a
verdict cache with the loop keeps costly candidates from running twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lic_pipeline.records import (
    DERIVED,
    SINGLE_TURN,
    Conversation,
    Extraction,
    Instruction,
    Json,
    Policy,
    Rung,
    Setting,
    StopReason,
    Strategy,
    Turn,
    Verdict,
)
from lic_pipeline.scoring.verdicts import VerdictStore, verdict_of
from lic_pipeline.tasks.protocol import Task


@dataclass(frozen=True, slots=True)
class ScoredTurn:
    """One reply scored now. ``attempt`` is False where the gate holds it back; ``informed`` = every shard was out."""

    turn: Turn
    attempt: bool
    gate: str
    informed: bool
    extraction: Extraction
    verdict: Verdict
    reference: Verdict | None


def score_turns(
    task: Task, instruction: Instruction, conversation: Conversation, cache: VerdictStore
) -> list[ScoredTurn]:
    """Every reply of a conversation, scored now. Refinement tasks whose scoring is judged score the last reply only."""
    scored: list[ScoredTurn] = []
    out: set[int] = set()
    last = conversation.turns[-1].turn if conversation.turns else 0
    for turn in conversation.turns:
        if turn.revealed is not None:
            out.add(turn.revealed)
        informed = conversation.setting in SINGLE_TURN | DERIVED or out >= set(conversation.shard_ids)
        needed = task.kind == "binary" or turn.turn == last or task.scores_every_turn
        if needed:
            scored.append(_score_turn(task, instruction, conversation.setting, turn, informed, cache))
    return scored


def _score_turn(
    task: Task, instruction: Instruction, setting: Setting, turn: Turn, informed: bool, cache: VerdictStore
) -> ScoredTurn:
    found = task.extract(turn.reply, instruction)
    labelled = turn.strategy is Strategy.ANSWER_ATTEMPT
    strict = found.strict and found.answer is not None
    if not strict and turn.attempt is not None and turn.attempt.extraction.rung is Rung.LLM:
        found = turn.attempt.extraction  # paid for, and better than a loose rung
    if task.kind == "refinement":
        attempt, gate = turn.strategy is not Strategy.MISSING, "always"
    else:
        attempt = labelled or (strict and turn.strategy not in (Strategy.HEDGING, Strategy.MISSING))
        gate = "labelled" if labelled else "ungated" if attempt else "held_back"
    verdict = (
        verdict_of(task, instruction, found, "robust", cache) if attempt else Verdict(score=0.0, verdict="no_answer")
    )
    reference = None
    if task.kind == "refinement" or labelled or setting in SINGLE_TURN:
        reference = _verdict(task, instruction, turn, "reference", cache)
    return ScoredTurn(turn, attempt, gate, informed, found, verdict, reference)


def _verdict(task: Task, instruction: Instruction, turn: Turn, policy: Policy, cache: VerdictStore) -> Verdict:
    return verdict_of(task, instruction, task.extract(turn.reply, instruction, policy), policy, cache)


def attempt_rows(conversation: Conversation, scored: Sequence[ScoredTurn]) -> list[dict[str, Json]]:
    """Rows of ``extracted_answers``: one per attempt, what the loop recorded beside what current code finds."""
    rows = []
    for one in scored:
        recorded = one.turn.attempt
        if not one.attempt and recorded is None:
            continue
        was = recorded.verdict if recorded else None
        rows.append(
            {
                "conversation_id": conversation.conversation_id,
                "task": conversation.task,
                "model": conversation.model,
                "setting": str(conversation.setting),
                "instruction_id": conversation.instruction_id,
                "run": conversation.run,
                "turn": one.turn.turn,
                "strategy": str(one.turn.strategy),
                "gate": one.gate,
                "informed": one.informed,
                "rung": str(one.extraction.rung),
                "answer": _plain(one.extraction.answer),
                "verdict": one.verdict.verdict,
                "score": one.verdict.score,
                "error": one.verdict.error,
                "reference_score": one.reference.score if one.reference else None,
                "recorded_rung": str(recorded.extraction.rung) if recorded else None,
                "recorded_answer": _plain(recorded.extraction.answer) if recorded else None,
                "recorded_verdict": was.verdict if was else None,
                "recorded_score": was.score if was else None,
            }
        )
    return rows


def _plain(answer: str | None) -> str | None:
    """An answer as text every table stores: lone surrogates escaped."""
    return None if answer is None else answer.encode("utf-8", "backslashreplace").decode("utf-8")


@dataclass(frozen=True, slots=True)
class Scores:
    """All scores of one conversation (measurement: scores of a conversation); None = does not apply or is missing."""

    score: float | None
    missing_reason: str | None
    score_max: float | None
    score_last: float | None
    score_first: float | None
    score_full_info: float | None
    score_cumulative: float | None
    solved_at_turn: int | None
    solved_before_last_shard: bool | None
    n_attempts: int
    score_reference: float | None
    flags: tuple[str, ...]


def score_conversation(
    task: Task, instruction: Instruction, conversation: Conversation, scored: Sequence[ScoredTurn]
) -> Scores:
    """The scores of one conversation from its scored turns."""
    attempts = [one for one in scored if one.attempt]
    values = [one.verdict.score for one in attempts]
    binary = task.kind == "binary"
    solved = next((one for one in attempts if one.verdict.correct), None) if binary else None
    flags = _flags(conversation, attempts, solved)
    missing = _missing_reason(conversation, attempts if binary else scored[-1:], solved, flags)
    solved_early = solved is not None and not solved.informed
    last = (values[-1] if values else 0.0) if binary else _last_reply(scored)
    best = max((value for value in values if value is not None), default=0.0)
    whole = task.scores_every_turn and all(one.verdict.score is not None for one in scored)
    every_turn = not missing and (binary or whole)
    return Scores(
        score=None if missing else best if binary else last,
        missing_reason=missing,
        score_max=best if every_turn else None,
        score_last=None if missing else last,
        score_first=values[0] if attempts and every_turn else None,
        score_full_info=None if missing or solved_early else _full_info(attempts),
        score_cumulative=None if missing else _cumulative(task, instruction, conversation, attempts),
        solved_at_turn=solved.turn.turn if solved else None,
        solved_before_last_shard=solved_early if solved else None,
        n_attempts=len(attempts),
        score_reference=None if missing else _reference(scored),
        flags=tuple(sorted(flags)),
    )


def _last_reply(scored: Sequence[ScoredTurn]) -> float | None:
    """Score of the last reply of a refinement task; an empty one is a reply like any other: 0."""
    return scored[-1].verdict.score if scored else 0.0


def _full_info(attempts: Sequence[ScoredTurn]) -> float | None:
    return next((one.verdict.score for one in attempts if one.informed), 0.0)


def _cut_short(conversation: Conversation) -> bool:
    """True when a conversation stopped at a right answer with shards still to be revealed."""
    if conversation.stop_reason is not StopReason.CORRECT or conversation.setting in SINGLE_TURN | DERIVED:
        return False
    return not {turn.revealed for turn in conversation.turns} >= set(conversation.shard_ids)


def _flags(conversation: Conversation, attempts: Sequence[ScoredTurn], solved: ScoredTurn | None) -> set[str]:
    flags = set(conversation.flags)
    for one in attempts:
        flags.update(one.extraction.flags)
        if one.verdict.detail.get("renamed"):
            flags.add("renamed")
    # A verdict that cannot be had now (no sandbox) does not say that the old one was wrong.
    if solved is None and _cut_short(conversation) and all(one.verdict.error is None for one in attempts):
        flags.add("stopped_early")
    if solved is not None and conversation.turns and solved.turn.turn < conversation.turns[-1].turn:
        was = solved.turn.attempt.verdict if solved.turn.attempt else None
        if was is None or not was.correct:
            flags.add("ran_past_correct")
    if conversation.stop_reason is StopReason.CONTEXT and conversation.turns:
        flags.add("context_overflow")
    return flags


def _missing_reason(
    conversation: Conversation,
    deciding: Sequence[ScoredTurn],
    solved: ScoredTurn | None,
    flags: set[str],
) -> str | None:
    if conversation.state != "done":
        return conversation.state
    if conversation.stop_reason is StopReason.CONTEXT and not conversation.turns:
        return "context"
    if "stopped_early" in flags:
        return "stopped_early"
    # An attempt that could not be scored leaves the outcome open, unless another one is right anyway.
    if solved is not None:
        return None
    return next((one.verdict.error for one in deciding if one.verdict.error is not None), None)


def _reference(scored: Sequence[ScoredTurn]) -> float | None:
    graded = [one.reference.score for one in scored if one.reference is not None]
    return graded[-1] if graded else 0.0


def _cumulative(
    task: Task, instruction: Instruction, conversation: Conversation, attempts: Sequence[ScoredTurn]
) -> float | None:
    cumulative = getattr(task, "score_cumulative", None)
    if cumulative is None or conversation.setting in SINGLE_TURN:
        return None
    answers = [one.extraction.answer for one in attempts if one.extraction.answer is not None]
    if not answers:
        return 0.0
    verdict: Verdict = cumulative(answers, instruction)
    return verdict.score
