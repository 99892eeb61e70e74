"""One log line -> a log conversation: names read, trace read, reveals numbered. Knows no reference and no file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from sys import intern

from lic_pipeline.benchmarks.fields import any_text, need_text
from lic_pipeline.errors import RecordError
from lic_pipeline.logs.reading.parse_trace import LogTurn, Trace, read_trace, recorded_score
from lic_pipeline.logs.reading.reference_names import SETTINGS, Kind, kind_of, task_named
from lic_pipeline.models.request import canonical_json, digest
from lic_pipeline.records import Json, Setting

_DIGITS = 3
"""No item has a thousand shards: a longer id is no id."""


@dataclass(frozen=True)
class LogConversation:
    """One line, read. ``content`` hashes all of it: two lines with the same content are one conversation.

    So does the setting where the user had to name it.
    """

    conv_id: str
    conv_type: str
    kind: Kind
    task: str
    task_id: str
    assistant: str
    user_model: str
    system_model: str
    git_version: str
    trace: Trace
    score: float | None
    content: str


def parse_log(fields: Mapping[str, Json], settings: Mapping[str, Setting] = SETTINGS) -> LogConversation:
    """Read one line's object. Raises SetAsideError for other tasks, RecordError naming the field that is wrong."""
    task = task_named(need_text(fields, "task").strip())
    conv_type = need_text(fields, "conv_type")
    kind = kind_of(conv_type, settings)
    said = [str(kind.setting)] if kind.told else []  # told otherwise, the line is another conversation
    return LogConversation(
        conv_id=_conv_id(fields),
        conv_type=intern(conv_type),
        kind=kind,
        task=intern(task),
        task_id=intern(need_text(fields, "task_id").strip()),
        assistant=intern(need_text(fields, "assistant_model").strip()),
        user_model=intern(_role(fields, "user_model")),
        system_model=intern(_role(fields, "system_model")),
        git_version=intern(any_text(fields, "git_version")),
        trace=read_trace(fields.get("trace")),
        score=recorded_score(fields),
        content=digest("\x1f".join([canonical_json(dict(fields)), *said])),
    )


def _conv_id(fields: Mapping[str, Json]) -> str:
    value = fields.get("conv_id")
    if isinstance(value, dict):
        value = value.get("$oid")  # exports of a document store write ids as objects
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise RecordError("must be a string", field="conv_id")
    return str(value)


def _role(fields: Mapping[str, Json], name: str) -> str:
    value = any_text(fields, name).strip()
    return "" if value.upper() == "NA" else value


@dataclass(frozen=True)
class Reveals:
    """The shard each turn revealed (from 1, None = none), how many shards there are, and what was odd."""

    by_turn: tuple[int | None, ...]
    n_shards: int
    flags: tuple[str, ...] = ()


def number_reveals(turns: Sequence[LogTurn], n_shards: int | None, in_order: bool = False) -> Reveals:
    """Number what the turns of a multi-turn conversation revealed; ``n_shards`` None = not known.

    Versions that log no reveal on turn 1 (which always reveals shard 1) count ids from the second shard; ids that
    start at 0 are shifted likewise. ``in_order``: without any entry, turn k revealed shard k (refinement tasks).
    """
    raw = [_ids(turn.revealed) for turn in turns]
    found = [number for ids, _ in raw for number in ids]
    if in_order and not any(turn.revealed for turn in turns):
        raw = [((place,), False) for place in range(1, len(turns) + 1)]
    elif found and min(found) == 0:
        raw = _shifted(raw)
    elif not turns[0].revealed:
        if found and (n_shards is None or n_shards not in found):
            raw = _shifted(raw)
        raw[0] = ((1,), raw[0][1])
    total = n_shards or max((number for ids, _ in raw for number in ids), default=1)
    by_turn = tuple(next((number for number in ids if 1 <= number <= total), None) for ids, _ in raw)
    odd = [bad or any(not 1 <= number <= total for number in ids) or len(ids) > 1 for ids, bad in raw]
    flags = (("bad_id",) if any(odd) else ()) + (("shards_unknown",) if n_shards is None else ())
    return Reveals(by_turn, total, flags)


def _ids(entries: Sequence[Json]) -> tuple[tuple[int, ...], bool]:
    """Ids as numbers, and whether an entry was no number; -1 and null mean that nothing was revealed."""
    numbers: list[int] = []
    bad = False
    for entry in entries:
        if entry is None or entry in (-1, "-1"):
            continue
        if isinstance(entry, bool) or not (
            isinstance(entry, int) or (isinstance(entry, str) and entry.isascii() and entry.isdigit())
        ):
            bad = True
            continue
        text = str(entry)
        if len(text) > _DIGITS or int(text) < 0:
            bad = True
            continue
        numbers.append(int(text))
    return tuple(numbers), bad


def _shifted(raw: Sequence[tuple[tuple[int, ...], bool]]) -> list[tuple[tuple[int, ...], bool]]:
    return [(tuple(number + 1 for number in ids), bad) for ids, bad in raw]
