"""A joined log conversation -> our record: turns, recorded attempts, how it ended. Nothing is scored here.

What the scripts recorded of an attempt (extracted answer, score) is kept as an attempt decided by scorer version 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from lic_pipeline.logs.reading.parse_line import LogConversation, Reveals, number_reveals
from lic_pipeline.logs.reading.parse_trace import Evaluation, LogTurn
from lic_pipeline.logs.reading.reference_names import PREFIX
from lic_pipeline.models.clients.reasoning import TRUNCATED_REASONING, split_reasoning
from lic_pipeline.models.request import digest
from lic_pipeline.records import (
    DERIVED,
    SINGLE_TURN,
    Attempt,
    Conversation,
    Extraction,
    Instruction,
    Reply,
    Rung,
    StopReason,
    Strategy,
    Turn,
    Verdict,
)
from lic_pipeline.simulation.conversation.turn_decision import conversation_flags
from lic_pipeline.tasks.protocol import Task

IMPORT_SEMANTICS = 2
"""Raised by hand whenever the same line would become another conversation; ids depend on it."""

SINGLE = SINGLE_TURN
Stop = Literal["none", "correct", "exhausted", "unknown"]

_THOUSANDS = re.compile(r"(?<=\d)[, \u00a0\u2009\u202f](?=\d{3}(?!\d))")
_FORMAT = re.compile(r"[\\$*_`{}\u00a0\u2009\u202f]")


def conversation_id(log: LogConversation, model: str) -> str:
    """Id of an imported conversation: its content, and the one name of its model."""
    return digest("\x1f".join(("import", str(IMPORT_SEMANTICS), PREFIX + model, log.content)))


def build_conversation(
    log: LogConversation, model: str, instruction: Instruction, task: Task, n_shards: int | None, run: int
) -> Conversation:
    """The conversation of one log line. RECAP and RETRY rows hold their own, last turn only, as everywhere."""
    turns = log.trace.turns
    single = log.kind.setting in SINGLE
    reveals = (
        Reveals((None,) * len(turns), n_shards or 0)
        if single
        else number_reveals(turns, n_shards, in_order=task.kind == "refinement")
    )
    built = tuple(
        _turn(place, turn, reveals.by_turn[place - 1], instruction, task) for place, turn in enumerate(turns, start=1)
    )
    if log.kind.setting in DERIVED:
        built = (built[-1].model_copy(update={"revealed": None}),)
    unknown = {"unknown_label"} if any(turn.unknown_label for turn in turns) else set()
    return Conversation(
        conversation_id=conversation_id(log, model),
        purpose="eval",
        task=log.task,
        model=PREFIX + model,
        setting=log.kind.setting,
        condition=log.kind.condition,
        instruction_id=instruction.instruction_id,
        run=run,
        seed=0,
        shard_ids=tuple(range(1, reveals.n_shards + 1)),
        system_prompt=log.trace.system,
        turns=built,
        stop_reason=_stop_reason(log, reveals),
        flags=tuple(sorted({*conversation_flags(built), *reveals.flags, *unknown})),
    )


def _turn(place: int, turn: LogTurn, revealed: int | None, instruction: Instruction, task: Task) -> Turn:
    text, reasoning, cut = split_reasoning(turn.reply or "")
    flags = (TRUNCATED_REASONING,) if cut else ()
    reply = Reply(text=text, reasoning=reasoning, cost_usd=turn.cost_usd, flags=flags)
    rule = task.label(reply, instruction)
    strategy = _strategy(turn, text, rule, task)
    return Turn(
        turn=place,
        user=turn.user,
        revealed=revealed,
        reply=reply,
        strategy=strategy,
        rule_strategy=rule,
        attempt=_attempt(turn.evaluation, turn.reply or "", strategy, task) if turn.evaluation else None,
    )


def _strategy(turn: LogTurn, text: str, rule: Strategy, task: Task) -> Strategy:
    """The recorded label; where the scripts label nothing (FULL, CONCAT, refinement), what they grade is an attempt."""
    if turn.label is not None:
        return turn.label
    if not text.strip():
        return Strategy.MISSING
    return Strategy.ANSWER_ATTEMPT if turn.evaluation is not None or task.kind == "refinement" else rule


def _attempt(evaluation: Evaluation, reply: str, strategy: Strategy, task: Task) -> Attempt:
    gate: Literal["labelled", "ungated", "always"] = "labelled" if strategy is Strategy.ANSWER_ATTEMPT else "ungated"
    return Attempt(
        extraction=recorded_extraction(evaluation.answer, reply),
        verdict=recorded_verdict(evaluation, task),
        gate="always" if task.kind == "refinement" else gate,
        scorer_version=0,
    )


def recorded_extraction(answer: str, reply: str) -> Extraction:
    """The recorded extraction: rung ``llm`` when it stands in the reply up to format, else ``loose`` with a flag.

    An empty one is ``failed``. Only rung ``llm`` is believed by the ladder when no strict rung finds anything.
    """
    if not answer.strip():
        return Extraction(answer=None, rung=Rung.FAILED)
    if stands_in(answer, reply):
        return Extraction(answer=answer, rung=Rung.LLM)
    return Extraction(answer=answer, rung=Rung.LOOSE, flags=("not_in_reply",))


def stands_in(answer: str, reply: str) -> bool:
    """True when the answer stands in the reply up to format, so that ``2,100`` stands in ``$2,100``; no digit cut."""
    wanted = _plain(answer)
    if not wanted:
        return False
    before = r"(?<!\d)(?<!\d[.,])" if wanted[0].isdigit() else ""
    after = r"(?!\d)(?![.,]\d)" if wanted[-1].isdigit() else ""
    return re.search(before + re.escape(wanted) + after, _plain(reply)) is not None


def _plain(text: str) -> str:
    return " ".join(_FORMAT.sub("", _THOUSANDS.sub("", text)).lower().split()).rstrip(".")


def recorded_verdict(evaluation: Evaluation, task: Task) -> Verdict:
    """The recorded score as a verdict of ours."""
    if evaluation.score is None:
        return Verdict(score=None, verdict="not_judged", error="not_recorded")
    if task.kind == "refinement":
        return Verdict(score=evaluation.score, verdict="graded")
    if not evaluation.answer.strip():
        return Verdict(score=evaluation.score, verdict="no_answer")
    return Verdict(score=evaluation.score, verdict="correct" if evaluation.score == 100 else "wrong")


def infer_stop(log: LogConversation, reveals: Sequence[int | None], n_shards: int) -> Stop:
    """The stop rule a multi-turn conversation shows: older scripts went on after a success, newer ones stop.

    ``exhausted`` when turns follow a recorded success; ``correct`` when it was said to be completed or ends in a
    success before every shard was out; ``unknown`` when it shows neither; ``none`` for one turn by design.
    """
    if log.kind.setting in SINGLE | DERIVED:
        return "none"
    turns = log.trace.turns
    solved = [turn.evaluation is not None and turn.evaluation.score == 100 for turn in turns]
    if any(solved[:-1]):
        return "exhausted"
    hidden = set(range(1, n_shards + 1)) - set(reveals)
    return "correct" if log.trace.completed or (solved[-1] and hidden) else "unknown"


def _stop_reason(log: LogConversation, reveals: Reveals) -> StopReason:
    """``correct`` only where success kept shards hidden: there alone a wrong verdict took turns away."""
    turns = log.trace.turns
    last = turns[-1].evaluation
    hidden = set(range(1, reveals.n_shards + 1)) - set(reveals.by_turn)
    stopped = log.kind.setting not in SINGLE | DERIVED and hidden
    return StopReason.CORRECT if stopped and last is not None and last.score == 100 else StopReason.EXHAUSTED
