"""The reference policy's reading of calls: what the published checker's parser accepted, without its eval().

Back-ticks and line breaks are stripped from both ends, missing brackets added; a language tag or any prose
makes it fail. Structured JSON calls, which the published scripts never saw, are read as calls.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from lic_pipeline.tasks.actions.json_calls import parse_json
from lic_pipeline.tasks.actions.python_calls import Call, CallSyntaxError, parse_python


def parse_published(text: str) -> list[Call]:
    """Calls as the published parser read them; bare names count as text. Raises CallSyntaxError."""
    stripped = text.strip().strip("`\n ")
    start = text.find(stripped)
    if stripped.startswith('[{"name"'):
        return _placed(stripped, start, parse_json)
    opened = stripped if stripped.startswith("[") else "[" + stripped
    closed = opened if opened.endswith("]") else opened + "]"
    calls = _placed(closed, start - len(opened) + len(stripped), partial(parse_python, names_are_text=True))
    if not calls:
        raise CallSyntaxError("no call")
    return calls


def _placed(text: str, start: int, parse: Callable[[str], list[Call]]) -> list[Call]:
    """The calls of a part of a reply; the place of an error counts from the beginning of the reply."""
    try:
        return parse(text)
    except CallSyntaxError as error:
        error.offset = max(start + (error.offset or 0), 0)
        raise
