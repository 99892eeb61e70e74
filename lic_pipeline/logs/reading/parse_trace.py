"""The trace of one log line -> system prompt and turns, whichever version wrote it. Nothing is scored or joined here.

A turn is a user message and the reply after it. Log entries belong to the turn they stand in: what a user message
reveals stands beside it, after or (in some forks) before it; the label and the evaluation of a reply after the reply.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeGuard

from lic_pipeline.errors import RecordError
from lic_pipeline.logs.reading.reference_names import strategy_named
from lic_pipeline.records import Json, Strategy

_REVEALS: Mapping[str, str] = {"shard_revealed": "shard_id", "hint_revealed": "hint_id"}
_ABOUT_REPLIES = frozenset({"system_verification", "answer_evaluation"})


@dataclass(frozen=True)
class Evaluation:
    """A recorded evaluation: the extracted answer ("" = none found) and its score 0..100, None when not recorded."""

    answer: str
    score: float | None


@dataclass
class LogTurn:
    """One turn as logged. ``revealed`` holds the raw ids in order; ``label`` is None where none was recorded."""

    user: str
    reply: str | None = None
    cost_usd: float | None = None
    revealed: list[Json] = field(default_factory=list)
    label: Strategy | None = None
    unknown_label: bool = False
    evaluation: Evaluation | None = None


@dataclass
class Trace:
    """All turns, the system prompt, and whether the script said that the conversation was completed by success."""

    system: str = ""
    turns: list[LogTurn] = field(default_factory=list)
    completed: bool = False
    skipped: Counter[str] = field(default_factory=Counter)
    """Log entries that say nothing we know, by type."""
    unsaid: list[Json] = field(default_factory=list)
    """Reveals logged since the last reply: they belong to the user message that comes next."""


def read_trace(items: Json) -> Trace:
    """Read a trace. Raises RecordError naming the item that is out of place or no object."""
    if not isinstance(items, list) or not items:
        raise RecordError("must be a non-empty list of messages", field="trace")
    trace = Trace()
    for place, item in enumerate(items, start=1):
        if not isinstance(item, dict):
            raise RecordError(f"item {place} is no object", field="trace")
        _read_item(trace, item, place)
    if not trace.turns:
        raise RecordError("holds no user message", field="trace")
    if trace.turns[-1].reply is None:
        raise RecordError("ends with a user message that was never answered", field="trace")
    if trace.unsaid:
        trace.skipped["reveal without a message"] += len(trace.unsaid)
    return trace


def _read_item(trace: Trace, item: Mapping[str, Json], place: int) -> None:
    match item.get("role"):
        case "system":
            trace.system = trace.system or _text(item, place)
        case "user":
            if trace.turns and trace.turns[-1].reply is None:
                raise RecordError(f"item {place}: two user messages in a row", field="trace")
            trace.turns.append(LogTurn(_text(item, place), revealed=trace.unsaid))
            trace.unsaid = []
        case "assistant":
            if not trace.turns or trace.turns[-1].reply is not None:
                raise RecordError(f"item {place}: a reply without a user message before it", field="trace")
            cost = item.get("cost_usd")
            trace.turns[-1].reply = "" if item.get("content") is None else _text(item, place)
            trace.turns[-1].cost_usd = float(cost) if _is_number(cost) else None
        case "log":
            content = item.get("content")
            if not isinstance(content, dict):
                raise RecordError(f"item {place}: a log entry whose content is no object", field="trace")
            _read_log(trace, content, place)
        case other:
            raise RecordError(f"item {place}: unknown role {other!r}", field="trace")


def _read_log(trace: Trace, content: Mapping[str, Json], place: int) -> None:
    kind = _event(content.get("type"))
    if kind == "conversation_completed":
        trace.completed = trace.completed or truth(content.get("is_correct")) is True
        return
    if kind in _REVEALS:
        _reveal(trace, content.get(_REVEALS[kind], content.get("shard_id", content.get("hint_id"))))
        return
    if kind not in _ABOUT_REPLIES:
        trace.skipped[kind] += 1
        return
    if not trace.turns:
        raise RecordError(f"item {place}: {kind} before the first user message", field="trace")
    turn = trace.turns[-1]
    if turn.reply is None:
        raise RecordError(f"item {place}: {kind} before the reply it is about", field="trace")
    if kind == "system_verification":
        response = content.get("response")
        named = response.get("response_type") if isinstance(response, dict) else response
        turn.label = strategy_named(named)
        turn.unknown_label = turn.label is None
    else:
        turn.evaluation = Evaluation(_answer(content.get("exact_answer")), recorded_score(content))


def _reveal(trace: Trace, shard: Json) -> None:
    waiting = bool(trace.turns) and trace.turns[-1].reply is None
    revealed = trace.turns[-1].revealed if waiting else trace.unsaid
    if revealed[-1:] != [shard]:  # some scripts log it on both sides of the message
        revealed.append(shard)


def _event(kind: Json) -> str:
    return kind.replace("-", "_") if isinstance(kind, str) and kind else "(no type)"


def recorded_score(entry: Mapping[str, Json]) -> float | None:
    """The score 0..100 an entry holds: ``score`` (0..1), else ``is_correct``, else those of ``evaluation_return``.

    Raises RecordError for a score outside 0..1.
    """
    score = entry.get("score")
    if _is_number(score):
        if not 0 <= score <= 1:
            raise RecordError(f"{score!r} is outside 0..1", field="score")
        return 100.0 * score
    correct = truth(score if isinstance(score, bool) else entry.get("is_correct"))
    if correct is not None:
        return 100.0 if correct else 0.0
    inner = entry.get("evaluation_return")
    return recorded_score(inner) if isinstance(inner, dict) else None


def truth(value: Json) -> bool | None:
    """A recorded truth value: a boolean or the number 0 or 1, else None."""
    if isinstance(value, bool):
        return value
    return bool(value) if _is_number(value) and value in (0, 1) else None


def _answer(value: Json) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text(item: Mapping[str, Json], place: int) -> str:
    content = item.get("content")
    if not isinstance(content, str):
        raise RecordError(f"item {place}: content is no text", field="trace")
    return content


def _is_number(value: Json) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
