"""The ladder of rungs of the math task: where in a reply the answer stands.

Strict rungs first (box, ``####``, answer marker), then the loose ones (conclusion, last number). The grammar of values
is in ``math_values.py``, the choice inside one passage in ``math_choose.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lic_pipeline.records import Extraction, Rung
from lic_pipeline.tasks.math_choose import Choice, best_labelled, choose, offers_alternatives
from lic_pipeline.tasks.math_passages import (
    concludes,
    first_point,
    has_digit,
    is_bullet,
    passages_of,
    set_aside,
    without_checks,
)
from lic_pipeline.tasks.math_values import Number, normalise
from lic_pipeline.tasks.text import declines

_BOX = re.compile(r"\\(?:boxed|fbox|framebox)\s*(?:\{|(?=[\d$-]))")
_HASHES = re.compile(
    r"^[ \t>]*####[ \t]*(?:(?:final )?answer\s*[:=]?\s*)?([^\n]{1,120})$", re.MULTILINE | re.IGNORECASE
)
_MARKER = re.compile(
    r"(?P<strong>\bfinal\s(?:numerical\s|numeric\s)?(?:answer|result)\b\W{0,6}?"
    r"(?:\s?(?:is|are|was|would be|should be|comes to|equals)\b|\s?[:=]|(?=\s*\n)|(?=\s\$?\d))"
    r"|\b(?:the|my|our|corrected|correct|right|actual)\s(?:\w+\s){0,2}?answer\s(?:to\s[^.\n:]{1,80}?\s)?"
    r"(?:is|would be|should be|comes (?:out )?to|becomes|equals)\b\s?:?)"
    r"|\b(?:answer|ans\.?)\s{0,2}[:=](?!=)|^[ \t]*#{1,6}\s*(?:the\s)?(?:final\s)?(?:answer|result|solution)\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_CONDITIONAL = re.compile(
    r"\W*(?:(?:and|but|or|otherwise),?\s)?(?:if|assuming|suppose|supposing|in case)\b", re.IGNORECASE
)
_KEYWORDS = ("answer", "result", "solution", "ans")
_INVENTED = re.compile(
    r"\n[ \t#>*]*(?:(?:new |next |another |follow-up )?(?:question|problem)(?:\s*\d+)?|Q\d*|human|user|student"
    r"|instruction)\**\s*:",
    re.IGNORECASE,
)
_OR_BOXES = re.compile(r"[}$\\()\s,]*\bor\b[\s$\\(]*")
_BOX_STOP = re.compile(r"[\s\\]")
_LONG_WORD = re.compile(r"[A-Za-z]{2,}")
_BULLET = re.compile(r"[ \t]*(?:[-*+•]|\d{1,2}[.)])\s")
_TAIL = 6000
_REGION = 700
_LONGEST_ANSWER = 2000
_LAST = 12
_BARE = 40


@dataclass(frozen=True, slots=True)
class _Found:
    """A passage that answers: the choice made there, where it stands and on which rung."""

    rung: Rung
    choice: Choice
    start: int


def find(text: str, question: str = "", *, whole: bool = False) -> tuple[Extraction, Number | None]:
    """The extraction of a visible reply, and the chosen value. ``whole`` = the text is nothing but an answer.

    ``question`` is the problem, used only to tell several labelled values of one passage apart.
    """
    plain = normalise(text)
    if whole:
        return _finish(_whole(plain))
    plain = _first_solution(plain)
    strict = _strict(plain, question)
    if strict is not None and strict.rung is Rung.BOXED and strict.choice.empty:
        # A box that holds a formula or a word says that there is no number, unless one is stated after it.
        return _finish(_loose(plain[strict.start :].partition("}")[2], question))
    return _finish(strict or _bare(plain) or _loose(plain, question))


def _finish(found: _Found | None) -> tuple[Extraction, Number | None]:
    if found is None or found.choice.empty:
        return Extraction(answer=None, rung=Rung.FAILED), None
    number = found.choice.number
    if number is None:
        candidates = tuple(dict.fromkeys(n.text for n in found.choice.rivals))[:20]
        return Extraction(answer=None, rung=Rung.AMBIGUOUS, candidates=candidates), None
    return Extraction(answer=number.text, rung=found.rung, candidates=(number.text,)), number


def _first_solution(text: str) -> str:
    """The text up to a second, invented question that follows an answer already given."""
    for match in _INVENTED.finditer(text):
        head = text[: match.start()]
        if "####" in head or "\\boxed" in head or _MARKER.search(head):
            return head
    return text


def _whole(text: str) -> _Found | None:
    """An answer on its own: one value, or the box or marker inside it."""
    if len(text) > _LONGEST_ANSWER:
        return _strict(text, "") or _loose(text, "")
    choice = choose(text, 0, len(text), words=True)
    if choice.number is not None:
        return _Found(Rung.WHOLE, choice, 0)
    return _strict(text, "") or (None if choice.empty else _Found(Rung.WHOLE, choice, 0))


def _bare(text: str) -> _Found | None:
    """A reply that is nothing but a value with at most three words."""
    stripped = text.strip()
    if len(stripped) > _BARE or "?" in stripped or len(_LONG_WORD.findall(stripped)) > 3:
        return None
    choice = choose(text, 0, len(text), words=False)
    return _Found(Rung.WHOLE, choice, 0) if choice.number is not None and not choice.number.weak else None


def _strict(text: str, question: str) -> _Found | None:
    """The strict rung that applies; of a box and a later, different marker the later one (self-correction)."""
    box = _boxed(text, question)
    start = 0 if box is None else box.start
    hashes = _hashed(text, start) if "####" in text else None
    if box is None and hashes is not None:
        start = hashes.start
    marker = _marked(text, start, question)
    first = box or hashes
    if first is None:
        return marker
    for later in (hashes, marker):
        if later is not None and later.start > first.start and later.choice.number is not None:
            return later if _differs(later, first) else first
    return first


def _differs(one: _Found, other: _Found) -> bool:
    return (
        one.choice.number is None or other.choice.number is None or one.choice.number.value != other.choice.number.value
    )


def _boxed(text: str, question: str) -> _Found | None:
    """The last box that holds a value; of listed boxes the one asked for; boxes joined by "or" are rivals."""
    if "\\" not in text:
        return None
    boxes = list(_BOX.finditer(text))[-8:]
    if not boxes:
        return None
    spans = [_box_span(text, match) for match in boxes]
    choices = [choose(text, *span, question, words=True) for span in spans]
    choice = choices[-1]
    if len(boxes) > 1 and choice.number is not None:
        previous = choices[-2].number
        between = text[spans[-2][1] : boxes[-1].start()]
        if previous and previous.value != choice.number.value and _OR_BOXES.fullmatch(between):
            choice = Choice(rivals=(previous, choice.number))
        else:
            choice = Choice(_listed_box(text, boxes, choices, question) or choice.number)
    return _Found(Rung.BOXED, choice, boxes[-1].start())


def _listed_box(text: str, boxes: list[re.Match[str]], choices: list[Choice], question: str) -> Number | None:
    """Of boxes on neighbouring lines, the one whose line fits the question best."""
    labelled: list[tuple[Number, str]] = []
    below = boxes[-1].start()
    for box, choice in zip(reversed(boxes), reversed(choices), strict=True):
        if choice.number is None or below - box.start() > 160:
            break
        line = text.rfind("\n", 0, box.start()) + 1
        labelled.append((choice.number, text[max(line, box.start() - 200) : box.start()]))
        below = box.start()
    return best_labelled(labelled[::-1], question) if len(labelled) > 1 else None


def _box_span(text: str, match: re.Match[str]) -> tuple[int, int]:
    limit = min(len(text), match.end() + 400)
    if not match.group().endswith("{"):
        stop = _BOX_STOP.search(text, match.end(), limit)
        return match.end(), stop.start() if stop else limit
    depth = 1
    for place in range(match.end(), limit):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return match.end(), place
    return match.end(), limit


def _hashed(text: str, start: int) -> _Found | None:
    """The last ``####`` line that is an answer and no heading."""
    last: _Found | None = None
    for match in list(_HASHES.finditer(text, start))[-_LAST:]:
        choice = choose(text, *match.span(1), words=True)
        if choice.number is not None and not choice.number.weak and len(_LONG_WORD.findall(match[1])) <= 5:
            last = _Found(Rung.MARKER, choice, match.start())
    return last


def _marked(text: str, start: int, question: str) -> _Found | None:
    """The value after the last answer marker that has one."""
    # Markers are sought around their keyword: scanning the whole text with the full pattern is ten times slower.
    before = len(text)
    conditional: _Found | None = None
    for place in _keyword_places(text, start):
        if place >= before:
            continue
        window = max(start, place - 50), min(len(text), place + 120)
        match = next((m for m in _MARKER.finditer(text, *window) if m.start() <= place < m.end()), None)
        if match is None:
            continue
        before = match.start()
        found = _after_marker(text, match, question)
        if found is None:
            continue
        if not _CONDITIONAL.match(_sentence_before(text, match.start())):
            return found
        if (
            conditional is not None
            and _differs(conditional, found)
            and found.choice.number
            and conditional.choice.number
        ):
            return _Found(Rung.MARKER, Choice(rivals=(found.choice.number, conditional.choice.number)), found.start)
        conditional = conditional or found
    return conditional


def _sentence_before(text: str, place: int) -> str:
    """The beginning of the sentence that goes on at a place."""
    piece = text[max(0, place - 300) : place]
    return piece[max(piece.rfind(mark) for mark in (". ", "\n", "? ", "! ", ": ")) + 1 :]


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


def _after_marker(text: str, match: re.Match[str], question: str) -> _Found | None:
    """The value of the first passage after a marker; an outright "cannot be determined" there is an empty find."""
    passages = [
        (start, end)
        for start, end in passages_of(text, match.end(), min(len(text), match.end() + _REGION))
        if not set_aside(text[start:end])
    ]
    choices: list[tuple[tuple[int, int], Choice]] = []
    for span in passages:
        if declines(text[slice(*span)]):
            if choices:
                break
            return _Found(Rung.MARKER, Choice(), match.start())
        choice = choose(text, *span, question, words=True)
        if choice.empty:
            continue
        choices.append((span, choice))
        if match["strong"] is not None and not is_bullet(text, span):
            break
    return _agreed(text, choices, match.start(), question)


def _agreed(text: str, choices: list[tuple[tuple[int, int], Choice]], start: int, question: str) -> _Found | None:
    """One find when all passages agree, or one fits the question best; rivals only when offered side by side."""
    if not choices:
        return None
    first = choices[0][1]
    if first.number is None:
        return _Found(Rung.MARKER, first, start) if offers_alternatives(text, first) else None
    values = [
        (choice.number, text[first_point(text, span) : span[1]])
        for span, choice in choices
        if choice.number is not None
    ]
    if len({number.value for number, _ in values}) == 1:
        return _Found(Rung.MARKER, first, start)
    best = best_labelled(values, question) if all(is_bullet(text, span) for span, _ in choices) else None
    return None if best is None else _Found(Rung.MARKER, Choice(best), start)


def _loose(text: str, question: str) -> _Found | None:
    """The conclusion, else the last number of the last sentence that is no check, aside, example or question."""
    begin = max(0, len(text) - _TAIL)
    spans = without_checks(text, list(passages_of(text, begin, len(text))))
    declined = declines(text[begin:])
    weak: _Found | None = None
    visited: list[tuple[int, int]] = []
    for place in range(len(spans) - 1, -1, -1):
        start, end = spans[place]
        sentence = text[start:end]
        if declined and not set_aside(sentence) and declines(sentence):
            break
        visited.append(spans[place])
        if not has_digit(sentence) or set_aside(sentence):
            continue
        choice = choose(text, start, end, question, words=False)
        if choice.empty:
            continue
        found = _concluded(text, spans[: place + 1], choice, question)
        if found.choice.number is None or found.choice.number.weak < 2 or concludes(sentence):
            return found
        weak = weak or found
    return weak or _in_words(text, visited)


def _concluded(text: str, spans: list[tuple[int, int]], choice: Choice, question: str) -> _Found:
    """The find of the last of these passages, whose choice is given; for the end of a list, of the whole list."""
    start = spans[-1][0]
    if is_bullet(text, spans[-1]):
        listed = _listed(text, spans, question)
        if listed is not None:
            return _Found(Rung.CONCLUSION, Choice(listed), start)
    if choice.number is not None or offers_alternatives(text, choice):
        return _Found(Rung.CONCLUSION, choice, start)
    return _Found(Rung.LAST_NUMBER, Choice(choice.rivals[-1]), start)


def _listed(text: str, spans: list[tuple[int, int]], question: str) -> Number | None:
    """Of the list that ends with the last of these passages, the value of the point that fits the question best."""
    labelled: list[tuple[Number, str]] = []
    for start, end in reversed(spans):
        if not is_bullet(text, (start, end)):
            break
        if set_aside(text[start:end]):
            continue
        first = first_point(text, (start, end))
        choice = choose(text, first, end, question, words=False)
        if choice.number is not None:
            labelled.append((choice.number, text[first:end]))
        if first > start:
            heading = choose(text, start, first, question, words=False)
            if heading.number is not None:
                labelled.append((heading.number, text[start:first]))
            break
    return best_labelled(labelled[::-1], question, last_bonus=2) if len(labelled) > 1 else None


def _in_words(text: str, spans: list[tuple[int, int]]) -> _Found | None:
    """The last of these passages (last one first) that spells a value in words."""
    for start, end in spans:
        if not set_aside(text[start:end]):
            choice = choose(text, start, end, words=True)
            if choice.number is not None:
                return _Found(Rung.CONCLUSION, choice, start)
    return None
