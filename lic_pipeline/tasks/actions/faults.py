"""Where the calls of a text stop being readable: line and column from 1, why, and a short excerpt, for a verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from lic_pipeline.records import Json
from lic_pipeline.tasks.actions.find_calls import parse
from lic_pipeline.tasks.actions.match_calls import Functions, declared_name
from lic_pipeline.tasks.actions.python_calls import CallSyntaxError, closing
from lic_pipeline.tasks.actions.spans import CALL_START, LIST_START, OBJECT_START
from lic_pipeline.tasks.reply_reading import storable

_AROUND = 20
_SPAN = 12_000
_MOST = 50


def fault_of(text: str, known: Functions) -> dict[str, Json]:
    """Why and where no calls can be read in a text that attempts some."""
    for start, end in islice(_attempts(text, known), _MOST):
        try:
            parse(text[start:end], known)
        except CallSyntaxError as error:
            return fault_at(text, start + (error.offset or 0), str(error))
    return fault_at(text, len(text) - len(text.lstrip()), "no list of calls")


def fault_at(text: str, offset: int, why: str) -> dict[str, Json]:
    """A reason with its place: ``why``, ``line``, ``column`` and the ``excerpt`` of the line around it."""
    offset = min(offset, len(text))
    begin = text.rfind("\n", 0, offset) + 1
    stop = text.find("\n", offset)
    excerpt = text[max(begin, offset - _AROUND) : min(stop if stop >= 0 else len(text), offset + _AROUND)]
    return {
        "why": storable(why),
        "line": text.count("\n", 0, begin) + 1,
        "column": offset - begin + 1,
        "excerpt": storable(excerpt),
    }


def _attempts(text: str, known: Functions) -> Iterator[tuple[int, int]]:
    """Where lists, objects and calls of known functions stand, outermost ones only; one never closed goes on."""
    position = 0
    for match in _STARTS.finditer(text):
        call = CALL_START.match(text, match.start())
        if match.start() < position or (call and known and declared_name(call.group().strip(), known) is None):
            continue
        end = closing(text, call.end() if call else match.start(), match.start() + _SPAN)
        position = min(len(text), match.start() + _SPAN) if end is None else end
        yield match.start(), position


_STARTS = re.compile(f"{LIST_START.pattern}|{OBJECT_START.pattern}|{CALL_START.pattern}")
