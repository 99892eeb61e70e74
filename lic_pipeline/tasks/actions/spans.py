"""Where in a text calls, lists of calls and objects begin and end; whether they can be read is told elsewhere."""

from __future__ import annotations

import re

from lic_pipeline.tasks.actions.match_calls import Functions, declared_name
from lic_pipeline.tasks.actions.python_calls import closing

CALL_START = re.compile(r"(?<![\w.])[A-Za-z_][\w.]*[ \t]?(?=\()")
LIST_START = re.compile(r"\[\s*(?=[A-Za-z_][\w.]*\s?\()")
OBJECT_START = re.compile(r"\[\s*(?=\{\s*[\"'])|\{(?=\s*[\"'])")
_AROUND = frozenset({"print", "await"})
_SPAN = 12_000
_BUDGET = 400_000
_MOST = 200


def call_spans(text: str, known: Functions | None = None) -> list[tuple[int, int]]:
    """Where outermost calls start and end; with ``known``, of known functions only."""
    return _spans(text, CALL_START, known)


def bracket_spans(text: str, start: re.Pattern[str]) -> list[tuple[int, int]]:
    """Where outermost brackets that ``start`` finds start and end."""
    return _spans(text, start, None)


def _spans(text: str, begins: re.Pattern[str], known: Functions | None) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    position = spent = 0
    for match in begins.finditer(text):
        name = match.group().strip()
        if match.start() < position or name in _AROUND or (known and declared_name(name, known) is None):
            continue
        bracket = match.end() if begins is CALL_START else match.start()
        end = closing(text, bracket, bracket + _SPAN)
        spent += (end or bracket + _SPAN) - match.start()
        if end is not None:
            spans.append((match.start(), end))
            position = end
        if spent > _BUDGET or len(spans) > _MOST:
            break
    return spans
