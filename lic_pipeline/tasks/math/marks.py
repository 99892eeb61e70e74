"""Marked answers: what follows ``####`` or words such as "final answer", and what is refused there."""

from __future__ import annotations

import re

from lic_pipeline.records import Rung
from lic_pipeline.tasks.math.boxes import Found
from lic_pipeline.tasks.math.choose import Choice, best_labelled, choose, offers_alternatives
from lic_pipeline.tasks.math.passages import first_point, is_bullet, passages_of, set_aside
from lic_pipeline.tasks.text import declines, holds_any

_HASHES = re.compile(
    r"^[ \t>]*####[ \t]*(?:(?:final )?answer\s*[:=]?\s*)?([^\n]{1,120})$", re.MULTILINE | re.IGNORECASE
)
MARKER = re.compile(
    r"\b(?:(?P<strong>final\s(?:numerical\s|numeric\s)?(?:answer|result)\b\W{0,6}?"
    r"(?:\s?(?:is|are|was|would be|should be|comes to|equals)\b|\s?[:=]|(?=\s*\n)|(?=\s\$?\d))"
    r"|(?:the|my|our|corrected|correct|right|actual)\s(?:\w+\s){0,2}?answer\s(?:to\s[^.\n:]{1,80}?\s)?"
    r"(?:is|would be|should be|comes (?:out )?to|becomes|equals)\b\s?:?)"
    r"|(?:answer|ans\.?)\s{0,2}[:=](?!=))|^[ \t]*#{1,6}\s*(?:the\s)?(?:final\s)?(?:answer|result|solution)\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_CONDITIONAL = re.compile(
    r"\W*(?:(?:and|but|or|otherwise),?\s)?(?:if|assuming|suppose|supposing|in case)\b", re.IGNORECASE
)
_DENIED = re.compile(r"\W*not\b(?! only)", re.IGNORECASE)
_KEYWORDS = ("answer", "result", "solution", "ans")
_LONG_WORD = re.compile(r"[A-Za-z]{2,}")
_REGION = 700
_LAST = 12


def hashed(text: str, start: int, question: str) -> Found | None:
    """The last ``####`` line that is an answer and no heading."""
    last: Found | None = None
    for match in list(_HASHES.finditer(text, start))[-_LAST:]:
        choice = choose(text, *match.span(1), question, words=True)
        if choice.number is not None and not choice.number.weak and len(_LONG_WORD.findall(match[1])) <= 5:
            last = Found(Rung.MARKER, choice, match.start())
    return last


def marked(text: str, start: int, question: str) -> Found | None:
    """The value after the last answer marker that has one."""
    # Markers are sought around their keyword: scanning the whole text with the full pattern is ten times slower.
    before = len(text)
    conditional: Found | None = None
    for place in _keyword_places(text, start):
        if place >= before or not _may_mark(text, place):
            continue
        window = max(start, place - 50), min(len(text), place + 120)
        match = next((m for m in MARKER.finditer(text, *window) if m.start() <= place < m.end()), None)
        if match is None:
            continue
        before = match.start()
        found = _after_marker(text, match, question)
        if found is None:
            continue
        if not _conditional(text, match.start()):
            return found
        if (
            conditional is not None
            and differs(conditional, found)
            and found.choice.number
            and conditional.choice.number
        ):
            return Found(Rung.MARKER, Choice(rivals=(found.choice.number, conditional.choice.number)), found.start)
        conditional = conditional or found
    return conditional


def _may_mark(text: str, place: int) -> bool:
    """False for a keyword that cannot be a marker's: inside a word, or a "result" that nothing calls final."""
    if place and text[place - 1].isalnum():
        return False
    if text[place] in "aA":
        return True
    piece = text[max(0, place - 50) : place]
    return "#" in piece or "final" in piece.lower()


def _conditional(text: str, place: int) -> bool:
    """True when the sentence that goes on at a place opens with a condition."""
    piece = text[max(0, place - 300) : place]
    if not holds_any(piece.lower(), ("if", "suming", "suppos", "in case")):
        return False
    opening = piece[max(piece.rfind(mark) for mark in (". ", "\n", "? ", "! ", ": ")) + 1 :]
    return _CONDITIONAL.match(opening) is not None


def _keyword_places(text: str, start: int) -> list[int]:
    """Where the words stand that a marker may hold, the last twelve, last one first."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters change their length in lower case
        lowered = text
    places: set[int] = set()
    for word in _KEYWORDS:
        place = len(text)
        for _ in range(12):
            place = lowered.rfind(word, start, place)
            if place < 0:
                break
            places.add(place)
    return sorted(places, reverse=True)[:12]


def _after_marker(text: str, match: re.Match[str], question: str) -> Found | None:
    """The value of the first passage after a marker; an outright "cannot be determined" there is an empty find."""
    if _DENIED.match(text, match.end()):
        return None
    choices: list[tuple[tuple[int, int], Choice]] = []
    for span in passages_of(text, match.end(), min(len(text), match.end() + _REGION)):
        sentence = text[slice(*span)]
        if set_aside(sentence):
            continue
        if declines(sentence):
            if choices:
                break
            return Found(Rung.MARKER, Choice(), match.start())
        choice = choose(text, *span, question, words=True)
        if choice.empty:
            continue
        choices.append((span, choice))
        if match["strong"] is not None and not is_bullet(text, span):
            break
    return _agreed(text, choices, match.start(), question)


def _agreed(text: str, choices: list[tuple[tuple[int, int], Choice]], start: int, question: str) -> Found | None:
    """One find when all passages agree, or one fits the question best; rivals only when offered side by side."""
    if not choices:
        return None
    first = choices[0][1]
    if first.number is None:
        return Found(Rung.MARKER, first, start) if offers_alternatives(text, first) else None
    values = [
        (choice.number, text[first_point(text, span) : span[1]])
        for span, choice in choices
        if choice.number is not None
    ]
    if all(number.value == values[0][0].value for number, _ in values):
        return Found(Rung.MARKER, first, start)
    best = best_labelled(values, question) if all(is_bullet(text, span) for span, _ in choices) else None
    return None if best is None else Found(Rung.MARKER, Choice(best), start)


def differs(one: Found, other: Found) -> bool:
    """True unless two finds hold the same value."""
    return (
        one.choice.number is None or other.choice.number is None or one.choice.number.value != other.choice.number.value
    )
