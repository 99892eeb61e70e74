"""Which tool a reply picks: a bare name, JSON, a tool call, or a sentence that picks one.

A reply that names several tools without picking one picks none. Names are compared without case and punctuation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from lic_pipeline.records import Json

_KEYS = frozenset(
    {"tool", "name", "tool_name", "toolname", "selected_tool", "tool_choice", "function", "action", "choice", "answer"}
)
_FENCED = re.compile(r"```[\w-]*\s*\n?(.*?)```", re.DOTALL)
_OBJECT = re.compile(r"\{[^{}]{0,2000}\}")
_NEGATED = re.compile(
    r"(?:\bnot|\bnever|n't|\brather than|\binstead of|\bno longer|\bwithout|\binappropriate|\bexcept)"
    r"(?:\s+(?:the|a|an|use|need|using|for|call|require|is|be|about))*\s*[\"'`*“‘]*$",
    re.IGNORECASE,
)
_PICK_BEFORE = re.compile(
    r"(?:\b(?:i(?:'d|'ll| would| will| should)?|you(?: should)?|we(?: should)?|should|would|will|to|must|please|let me)"
    r"\s+(?:\w+\s+)?(?:use|using|choose|select|pick|call|recommend|suggest|go with|route (?:this )?to)"
    r"|\b(?:use|choose|select|pick|call)|\b(?:tool|answer|choice|selection|pick)(?: to use| needed| required)?"
    r"(?:\s+(?:here|for this|for that|for the \w+(?: \w+)?))?\s*(?:is|would be|should be|:|=|->|→)"
    r"|\b(?:best|right|correct|appropriate|suitable|relevant|needed)\s+(?:tool|one|choice)[^.!?\n]{0,60}?"
    r"\b(?:is|would be|:))\s*(?:the\s+|a\s+)?(?:tool\s+)?[\"'`*“‘\[]*$",
    re.IGNORECASE,
)
_PICK_BEHIND = re.compile(
    r"[\"'`*”’\]]*\s*(?:tool\s+|api\s+)?(?:is|would be|seems|looks|should be|fits|suits|can|handles|will)\b"
    r"(?!\s+(?:not|never|wrong|irrelevant|inappropriate|no\b))(?!n't)",
    re.IGNORECASE,
)
_NEGATED_BEHIND = re.compile(
    r"[\"'`*”’\]]*\s*(?:tool\s+|api\s+)?(?:(?:is|was|would be|seems|looks)\s+(?:\w+\s+){0,2}?"
    r"(?:not|irrelevant|unnecessary|inappropriate|unsuitable|unrelated|wrong)"
    r"|(?:is|was|would|does|can|could)(?:n'?t|n’t)|(?:would|does|can|could)\s*not)\b",
    re.IGNORECASE,
)

_MOST = 500
"""Only the last so many mentions are weighed."""


class _Place(NamedTuple):
    tool: str
    start: int
    end: int


def chosen_tool(text: str, tools: Sequence[str]) -> tuple[str | None, tuple[str, ...]]:
    """The tool picked (as spelt in ``tools``) or None, and all tools named, in order of mention."""
    spelt = {_plain(tool): tool for tool in tools}
    bare = spelt.get(_plain(text)) or spelt.get(re.sub(r"(?:tool|api)$", "", _plain(text)))
    if bare:
        return bare, (bare,)
    structured = _distinct(spelt[_plain(name)] for name in _json_names(text) if _plain(name) in spelt)
    if structured:
        return (structured[0] if len(structured) == 1 else None), structured
    places = _mentions(text, tools)
    named = _distinct(place.tool for place in places)
    meant = [place for place in places[-_MOST:] if not _negated(text, place)]
    for found in (meant, _picked_by_words(text, meant), _emphasised(text, meant), _on_last_line(text, meant)):
        picked = _distinct(place.tool for place in found)
        if len(picked) == 1:
            return picked[0], named
    return _spelt_exactly(text, meant), named


def _negated(text: str, place: _Place) -> bool:
    """True for "not X", and for "X is not ..."."""
    before, behind = text[max(0, place.start - 60) : place.start], text[place.end : place.end + 60]
    return _NEGATED.search(before) is not None or _NEGATED_BEHIND.match(behind) is not None


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))


def _json_names(text: str) -> Iterator[str]:
    for candidate in (text, *_FENCED.findall(text), *_OBJECT.findall(text)):
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        yield from _names_in(value)


def _names_in(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value[:20]:
            if isinstance(item, str | dict):
                yield from _names_in(item)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key.casefold().replace("-", "_") in _KEYS and isinstance(inner, str | dict):
                yield from _names_in(inner)


def _mentions(text: str, tools: Sequence[str]) -> list[_Place]:
    """Tools named in the text with their places, in order; longer names win where names overlap."""
    taken = bytearray(len(text))
    places = []
    for tool in sorted(tools, key=len, reverse=True):
        words = [re.escape(word) for word in re.findall(r"[^\W_]+", tool)]
        if not words:
            continue
        spelling = r"[\s_-]{0,3}".join(words)
        for match in re.finditer(rf"(?<!\w){spelling}(?!\w)", text, re.IGNORECASE):
            if not any(taken[match.start() : match.end()]):
                taken[match.start() : match.end()] = b"x" * len(match[0])
                places.append(_Place(tool, match.start(), match.end()))
    return sorted(places, key=lambda place: place.start)


def _picked_by_words(text: str, places: Sequence[_Place]) -> list[_Place]:
    return [
        place
        for place in places
        if _PICK_BEFORE.search(text[max(0, place.start - 120) : place.start])
        or _PICK_BEHIND.match(text[place.end : place.end + 40])
    ]


def _emphasised(text: str, places: Sequence[_Place]) -> list[_Place]:
    return [place for place in places if text[max(0, place.start - 2) : place.start].endswith(("**", "`"))]


def _on_last_line(text: str, places: Sequence[_Place]) -> list[_Place]:
    *earlier, last = text.strip().splitlines() or [""]
    return [place for place in places[-1:] if earlier and _plain(last) == _plain(place.tool)]


def _spelt_exactly(text: str, places: Sequence[_Place]) -> str | None:
    """The only tool named with its own capitals, if that is not just how a sentence begins."""
    exact = [place for place in places if text[place.start : place.end] == place.tool and not place.tool.islower()]
    if len(_distinct(place.tool for place in exact)) != 1:
        return None
    heads = (text[max(0, place.start - 20) : place.start].rstrip() for place in exact)
    return exact[0].tool if any(head and head[-1] not in ".!?" for head in heads) else None
