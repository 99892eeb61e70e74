"""Where calls stand in a reply: the whole text, a fence, tags, a bracketed list, lines of calls, prose.

A place that is nothing but calls is strict; calls mentioned in running text are loose and count only when they call a
known function with literal arguments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise

from lic_pipeline.records import Rung
from lic_pipeline.tasks.actions.json_calls import parse_json
from lic_pipeline.tasks.actions.markup_calls import before_objects, in_pairs, in_steps, in_tags, marked_objects
from lic_pipeline.tasks.actions.match_calls import Functions, declared_name, parameters_of
from lic_pipeline.tasks.actions.python_calls import (
    MAX_CHARS,
    Call,
    CallSyntaxError,
    parse_python,
    render_calls,
)
from lic_pipeline.tasks.actions.spans import LIST_START, OBJECT_START, bracket_spans, call_spans
from lic_pipeline.tasks.fenced_blocks import Fence, inner_blocks

_JSON_START = re.compile(r"\[?\s*\{")
_TAGGED = re.compile(
    r"<(tool_?calls?|function_?calls?|functions?|tool_code)>(.*?)(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_FILLER = re.compile(
    r"(?:[\s\[\](),;`*>•-]|\b\d{1,2}[.):]|\b(?:python|and|then|print|await)\b|\b\w+\s*=(?=\s*$))*", re.ASCII
)
_ALTERNATIVE = re.compile(r"\b(?:or|alternatively|either)\b", re.IGNORECASE)
_CORRECTION = re.compile(
    r"\b(?:actually|correct(?:ion|ed)|instead|wait|revised?|updated?|rather|sorry|mistake|should have been)\b",
    re.IGNORECASE,
)
_SMART = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "\u00a0": " ", "\u2212": "-"})

_Piece = tuple[tuple[int, int], str, list[Call]]


@dataclass(frozen=True)
class Found:
    """Calls and where they stood; ``text`` is their source where it is one piece. ``broken``: call-like, unreadable."""

    rung: Rung
    calls: tuple[Call, ...] = ()
    text: str = ""
    broken: bool = False


def find_calls(text: str, known: Functions) -> Found:
    """The calls of a visible reply. ``known``: schemas by plain function name; empty = any function counts."""
    found = _find(text, known)
    return replace(found, calls=tuple(_as_declared(call, known) for call in found.calls)) if found.calls else found


def _as_declared(call: Call, known: Functions) -> Call:
    """The call under its declared name, and with its arguments named where they came as one object, ``f({...})``."""
    name = declared_name(call.name, known) or call.name
    declared = parameters_of(name, known)
    match call.positional:
        case (dict() as given,) if not call.named and given and given.keys() <= declared.keys():
            return Call(name, given)
    return replace(call, name=name)


def _find(text: str, known: Functions) -> Found:
    stripped = text.strip()
    if not stripped:
        return Found(Rung.FAILED)
    for read_markup in (in_steps, in_pairs, marked_objects):
        marked = read_markup(text, known)
        if _counts(marked, known):
            return Found(Rung.BLOCK, tuple(marked))
    fenced = _in_fences(text, known)
    if fenced is not None:
        return fenced
    whole = read(stripped, known)
    if whole is not None and (not known or stripped == "[]" or _counts(whole, known)):
        return Found(Rung.WHOLE, tuple(whole), stripped)
    for seek in (_in_tags, _in_lists, _in_objects, _before_objects):
        found = seek(text, known)
        if found is not None:
            return found
    if whole is not None:
        return Found(Rung.WHOLE, tuple(whole), stripped)
    return _in_running_text(text, known)


def read(text: str, known: Functions) -> list[Call] | None:
    """The calls of a text that is nothing but calls, None when it is anything else or unreadable."""
    stripped = text.strip().strip("`").strip()
    if not stripped or len(stripped) > MAX_CHARS or ("(" not in stripped and "{" not in stripped and stripped != "[]"):
        return None
    for candidate in dict.fromkeys((stripped, stripped.translate(_SMART))):
        try:
            return parse(candidate, known)
        except CallSyntaxError:
            continue
    return _sequence(stripped)


def parse(text: str, known: Functions) -> list[Call]:
    """The calls of a text in JSON or Python syntax, by how it begins. Raises CallSyntaxError."""
    return parse_json(text, known) if _JSON_START.match(text) else parse_python(text)


def _sequence(text: str) -> list[Call] | None:
    """Calls one after the other with nothing but list marks between them; one unreadable call spoils the lot."""
    calls: list[Call] = []
    position = 0
    for start, end in call_spans(text):
        if not _FILLER.fullmatch(text, position, start):
            return None
        try:
            calls += parse_python(text[start:end].translate(_SMART))
        except CallSyntaxError:
            return None
        position = end
    return calls if calls and _FILLER.fullmatch(text, position) else None


def _counts(calls: list[Call] | None, known: Functions) -> bool:
    return bool(calls) and (not known or any(declared_name(call.name, known) for call in calls or []))


def _in_fences(text: str, known: Functions) -> Found | None:
    blocks = inner_blocks(text)
    pieces: list[_Piece] = [
        ((block.start, block.end), block.body.strip(), calls)
        for block in blocks
        if (calls := read(block.body, known)) is not None and _counts(calls, known)
    ]
    return _settled(text, pieces) or _broken_fence(blocks, known)


def _broken_fence(blocks: list[Fence], known: Functions) -> Found | None:
    """A fence that holds a list of known functions nobody can read: an attempt, but no calls."""
    for block in reversed(blocks):
        if LIST_START.match(block.body.strip()) and call_spans(block.body, known):
            return Found(Rung.BLOCK, text=block.body.strip(), broken=True)
    return None


def _in_tags(text: str, known: Functions) -> Found | None:
    calls = in_tags(text, known) if "<" in text else []
    if not _counts(calls, known):
        calls = []
    for match in _TAGGED.finditer(text) if "<" in text and not calls else ():
        found = read(match[2], known)
        if _counts(found, known):
            calls += found or []
    return Found(Rung.BLOCK, tuple(calls)) if calls else None


def _in_lists(text: str, known: Functions) -> Found | None:
    return _from_pieces(text, bracket_spans(text, LIST_START), known)


def _in_objects(text: str, known: Functions) -> Found | None:
    pieces = bracket_spans(text, OBJECT_START) if "{" in text else []
    return _from_pieces(text, pieces, known)


def _before_objects(text: str, known: Functions) -> Found | None:
    calls = before_objects(text, known) if known and "{" in text else []
    return Found(Rung.BLOCK, tuple(calls)) if calls else None


def _from_pieces(text: str, spans: list[tuple[int, int]], known: Functions) -> Found | None:
    pieces: list[_Piece] = [
        ((a, b), text[a:b], calls)
        for a, b in spans
        if (calls := read(text[a:b], known)) is not None and _counts(calls, known)
    ]
    if pieces:
        return _settled(text, pieces)
    broken = [(a, b) for a, b in spans if known and call_spans(text[a:b], known)]
    return Found(Rung.LOOSE, text=text[slice(*broken[-1])], broken=True) if broken else None


def _settled(text: str, pieces: list[_Piece]) -> Found | None:
    """One list of calls out of several places: the one distinct list; single calls joined; else the last list."""
    if not pieces:
        return None
    _, source, calls = pieces[-1]
    if len({render_calls(found) for _, _, found in pieces}) == 1:
        return Found(Rung.BLOCK, tuple(calls), source)
    between = [text[left[1] : right[0]] for (left, _, _), (right, _, _) in pairwise(pieces)]
    everything = tuple(call for _, _, found in pieces for call in found)
    if len(between[-1]) < 200 and _ALTERNATIVE.search(between[-1]):
        return Found(Rung.AMBIGUOUS, everything)
    if all(len(found) == 1 for _, _, found in pieces) and not any(map(_CORRECTION.search, between)):
        return Found(Rung.BLOCK, everything)
    return Found(Rung.LOOSE, tuple(calls), source)


def _in_running_text(text: str, known: Functions) -> Found:
    """Lines that are calls, else known functions called with literals anywhere in the text (each once)."""
    spans = call_spans(text, known or None)
    on_lines: list[Call] = []
    anywhere: list[Call] = []
    for start, end in spans:
        try:
            calls = parse_python(text[start:end].translate(_SMART))
        except CallSyntaxError:
            continue
        if not calls[0].named and not calls[0].positional and not known:
            continue
        anywhere += calls
        if _alone_on_lines(text, start, end):
            on_lines += calls
    if on_lines:
        return Found(Rung.BLOCK, tuple(on_lines))
    if anywhere:
        once = {call.render(): call for call in anywhere}
        return Found(Rung.LOOSE, tuple(once.values()))
    return Found(Rung.FAILED, broken=bool(spans and known and _alone_on_lines(text, *spans[-1])))


def _alone_on_lines(text: str, start: int, end: int) -> bool:
    before = text[max(text.rfind("\n", 0, start) + 1, start - 60) : start]
    stop = text.find("\n", end)
    after = text[end : stop if stop >= 0 else len(text)][:60]
    return _FILLER.fullmatch(before) is not None and _FILLER.fullmatch(after) is not None
