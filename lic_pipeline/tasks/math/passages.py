"""The passages of a reply to a word problem, and which of them state no answer: checks, asides, examples, questions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from lic_pipeline.tasks.text import holds_any, sentence_spans

Span = tuple[int, int]

_BULLET = re.compile(r"[ \t]*(?:[-*+•]|\d{1,2}[.)])\s|([^\n]{0,200}:[\s*_]*\n+)[ \t]*(?:[-*+•]|\d{1,2}[.)])\s")
_ASIDE = re.compile(
    r"^[\s>*_#()•+-]*(?:suppose|unless|for (?:example|instance)|e\.g\.|example|let me know|sanity|proof|please"
    r"|notes?\b(?! that the (?:answer|total))|feel free|would you|do you|could you|can you|remember|assumptions?:|would"
    r"|am i|is th(?:is|at|ere))\b",
    re.IGNORECASE,
)
_IF = re.compile(r"^[\s>*_#()•+-]*if\b", re.IGNORECASE)
_OFFERED = re.compile(r"\b(?:you|you'd|you'll|let me|tell|provide)\b", re.IGNORECASE)
_SUPPOSED = re.compile(r"\b(?:you|you'd|you'll|would|could|let me|tell|provide|were|instead)\b", re.IGNORECASE)
_EXAMPLE = re.compile(
    r"\b(?:for example|for instance|e\.g\.|as an example|hypothetical|let me know if|feel free|let's say)",
    re.IGNORECASE,
)
_EXAMPLE_HINTS = ("example", "for instance", "e.g.", "hypothetical", "let me know if", "feel free", "let's say")
_CHECK = re.compile(
    r"^[\s>*_#()•+`-]*(?:(?:now|finally|first|quickly),?\s)?"
    r"(?:let's|let us|let me|we can|we could|i can|i'll|you can|to|if (?:you|we)(?: \w+)? (?:to|want|wanted)"
    r"|step \d+\W+|final|optional|quick|as a|a|here's a|just to)?\s?(?:also |now |quickly |to |a )*"
    r"(?:verif(?:y|ication|ying)|(?:double[- ]?|cross[- ]?|sanity[- ]?)?check(?:ing)?|confirm(?:ing|ation)?)\b",
    re.IGNORECASE,
)
_CONFIRMED = re.compile(r"[✓✔✅]|\b(?:matches the|which matches|confirming|confirms|checks out)\b", re.IGNORECASE)
_CHECK_HINTS = ("verif", "check", "confirm", "matches", "✓", "✔", "✅")
_OPENING = frozenset(":*_` \n-=#\t>")  # what a passage ends with that announces the next one, or is a rule
_DIGIT = re.compile(r"[0-9]")
_CONCLUDES = re.compile(
    r"^\W*(?:therefore|thus|hence|so|final(?! check)|in conclusion|conclusion|answer|the answer|in summary|to conclude"
    r"|overall|result)\b",
    re.IGNORECASE,
)
_IN_PARENTHESES = re.compile(r"^[\s*_]*\(.*\)[\s*_.]*$", re.DOTALL)


def passages_of(text: str, start: int, end: int) -> Iterator[Span]:
    """Sentences between two places; one that ends with a colon is joined with what it announces."""
    opened: int | None = None
    for a, b in sentence_spans(text, start, end):
        if opened is None and text[b - 1] not in _OPENING:
            yield a, b
            continue
        begin = a if opened is None else opened
        tail = text[max(a, b - 40) : b].rstrip(" \n*_`")
        if not tail or tail.endswith(":") or (opened is not None and _is_rule(text[a:b])):
            opened = begin
            continue
        opened = None
        yield begin, b
    if opened is not None:
        yield opened, end


def last_passages(text: str, start: int, end: int) -> Iterator[Span]:
    """The passages between two places, last one first, split only as far back as they are asked for."""
    while end > start:
        begin = _last_break(text, start, end)
        yield from reversed(list(passages_of(text, begin, end)))
        end = begin


def _last_break(text: str, start: int, end: int) -> int:
    """The last place where a passage begins whatever stands before it: a paragraph after one that opens nothing."""
    place = text.rfind("\n\n", start, end - 1)
    while place > start:
        if not (text[place - 1] in _OPENING or text[place - 1].isspace() or text[place + 2].isspace()):
            return place + 2
        place = text.rfind("\n\n", start, place)
    return start


class Backwards:
    """Passages in the order of an iterator, each taken from it once and kept."""

    def __init__(self, spans: Iterator[Span]) -> None:
        self._spans = spans
        self._known: list[Span] = []

    def since(self, place: int) -> Iterator[Span]:
        """The passages from the one at a place (0 = the first of the iterator) on."""
        while self._reach(place):
            yield self._known[place]
            place += 1

    def _reach(self, place: int) -> bool:
        """True when there is a passage at a place, taken now if it was not before."""
        while place >= len(self._known):
            span = next(self._spans, None)
            if span is None:
                return False
            self._known.append(span)
        return True


def _is_rule(piece: str) -> bool:
    return not piece.strip(" -*_=#\n\t>")


def is_bullet(text: str, span: Span) -> bool:
    """True when a passage is a point of a list, or announces one."""
    return _BULLET.match(text, *span) is not None


def first_point(text: str, span: Span) -> int:
    """Where the first point of a list starts in a passage that announces one; else the start of the passage."""
    match = _BULLET.match(text, *span)
    return match.end(1) if match is not None and match[1] is not None else span[0]


def concludes(sentence: str) -> bool:
    """True for a sentence that says it draws the conclusion ("Therefore, ...")."""
    return _CONCLUDES.match(sentence) is not None


def set_aside(sentence: str) -> bool:
    """True for asides, conditions, examples and questions."""
    return (
        sentence.rstrip(" *_\n").endswith("?")
        or _ASIDE.match(sentence) is not None
        or (holds_any(sentence.lower(), _EXAMPLE_HINTS) and _EXAMPLE.search(sentence) is not None)
        or (_IF.match(sentence) is not None and _is_offer(sentence))
        or (len(sentence) < 400 and _IN_PARENTHESES.match(sentence) is not None)
    )


def _is_offer(conditional: str) -> bool:
    """True for "If you give me ...", "If there were ..."; False for a premise followed by its calculation."""
    if "=" in conditional:
        return _OFFERED.search(conditional) is not None
    return _SUPPOSED.search(conditional) is not None or not has_digit(conditional)


def last_unchecked(text: str, start: int) -> Iterator[Span]:
    """The passages from a place to the end, last one first, without checks of a result already stated.

    With the checks where nothing else holds a digit.
    """
    hint = _first_hint(text[start:])
    if hint is None:
        return last_passages(text, start, len(text))
    # What stands before the first hint is no check, so only what follows is split and read in reading order.
    begin = _last_break(text, start, start + hint + 1)
    spans = list(passages_of(text, begin, len(text)))
    kept, stated = _without_checks(text, spans, stated=has_digit(text[start:begin]))
    return chain(reversed(kept if stated else spans), last_passages(text, start, begin))


def _first_hint(text: str) -> int | None:
    """Where the first word stands that a check may hold, None without any; 0 = unknown."""
    lowered = text.lower()
    places = [place for place in map(lowered.find, _CHECK_HINTS) if place >= 0]
    if not places:
        return None
    return min(places) if len(lowered) == len(text) else 0  # a few letters change their length in lower case


def _without_checks(text: str, spans: list[Span], *, stated: bool) -> tuple[list[Span], bool]:
    """The passages that are no checks, and whether a result is stated there or was before."""
    kept: list[Span] = []
    checking = False
    for start, end in spans:
        piece = text[start:end]
        if _CHECK.match(piece):
            checking = stated
        elif checking and _CONCLUDES.match(piece):
            checking = False
        if not checking and (_CONCLUDES.match(piece) or not _CONFIRMED.search(piece)):
            kept.append((start, end))
            stated = stated or has_digit(piece)
    return kept, stated


def has_digit(piece: str) -> bool:
    """True when a piece of text holds a digit."""
    return _DIGIT.search(piece) is not None
