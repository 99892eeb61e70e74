"""The ladder of rungs of the math task: where in a reply the answer stands.

Strict rungs first (box, ``####``, answer marker), then the loose ones (conclusion, last number). The grammar of values
is in ``math_values.py``, the choice inside one passage in ``math_choose.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lic_pipeline.records import Extraction, Rung
from lic_pipeline.tasks.math_choose import Choice, choose, offers_alternatives
from lic_pipeline.tasks.math_values import Number, normalise
from lic_pipeline.tasks.text import declines, sentence_spans

_BOX = re.compile(r"\\(?:boxed|fbox|framebox)\s*(?:\{|(?=[\d$-]))")
_HASHES = re.compile(r"^[ \t>]*####[ \t]*(?:(?:final )?answer\s*[:=]?\s*)?([^\n]{1,120})$", re.MULTILINE | re.IGNORECASE)
_MARKER = re.compile(
    r"(?P<strong>\bfinal\s(?:numerical\s|numeric\s)?(?:answer|result)\b\W{0,6}?(?:(?:\s?(?:is|are|was|would be|should be|comes to|equals))\b|\s?[:=]|(?=\s*\n)|(?=\s\$?\d))"
    r"|\b(?:the|my|our|corrected|correct|right|actual)\s(?:\w+\s){0,2}?answer\s(?:(?:to\s[^.\n:]{1,80}?\s)?(?:is|would be|should be|comes (?:out )?to|becomes|equals))\b\s?:?)"
    r"|\b(?:answer|ans\.?)\s{0,2}[:=](?!=)|^[ \t]*#{1,6}\s*(?:the\s)?(?:final\s)?(?:answer|result|solution)\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_INVENTED = re.compile(
    r"\n[ \t#>*]*(?:(?:new |next |another |follow-up )?(?:question|problem)(?:\s*\d+)?|Q\d*|human|user|student|instruction)\**\s*:",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"^[\s>*_#()•+-]*(?:if|suppose|unless|for (?:example|instance)|e\.g\.|example|let me know|let's (?:check|verify)|notes?\b(?! that the (?:answer|total))"
    r"|(?:double[- ]?)?check(?:ing)?\b|verif(?:y|ication|ying)|to (?:verify|check|double-check|confirm)|you can (?:verify|check)|sanity|proof|please|feel free"
    r"|would you|do you|could you|can you|remember|assumptions?:|would)\b",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(r"\b(?:for example|for instance|e\.g\.|as an example|hypothetical|let me know if|feel free|let's say)", re.IGNORECASE)
_TOTAL = re.compile(r"\b(?:total|altogether|overall|sum|answer|combined|together|result|final)\b", re.IGNORECASE)
_BULLET = re.compile(r"[ \t]*(?:[-*+•]|\d{1,2}[.)])\s")
_TAIL = 6000
_REGION = 700


@dataclass(frozen=True, slots=True)
class _Found:
    """A passage that answers: the choice made there, where it stands and on which rung."""

    rung: Rung
    choice: Choice
    start: int


def find(text: str, *, whole: bool = False) -> tuple[Extraction, Number | None]:
    """The extraction of a visible reply, and the chosen value. ``whole`` = the text is nothing but an answer."""
    plain = normalise(text)
    if whole:
        return _finish(_whole(plain), plain)
    plain = _first_solution(plain)
    strict = _strict(plain)
    if strict is not None:
        return _finish(strict, plain)
    return _finish(_loose(plain), plain)


def _finish(found: _Found | None, text: str) -> tuple[Extraction, Number | None]:
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
        if _HASHES.search(head) or _BOX.search(head) or _MARKER.search(head):
            return head
    return text


def _whole(text: str) -> _Found | None:
    """An answer on its own: one value, or the box or marker inside it."""
    choice = choose(text, 0, len(text), words=True)
    if choice.number is not None:
        return _Found(Rung.WHOLE, choice, 0)
    return _strict(text) or (None if choice.empty else _Found(Rung.WHOLE, choice, 0))


def _strict(text: str) -> _Found | None:
    """The strict rung that applies; of a box and a later, different marker the later one (self-correction)."""
    box = _boxed(text)
    start = 0 if box is None else box.start
    hashes = _hashed(text, start) if "####" in text else None
    marker = _marked(text, start)
    if box is None:
        return hashes or marker
    for later in (hashes, marker):
        if later is not None and later.start > box.start and later.choice.number is not None:
            return later if _differs(later, box) else box
    return box


def _differs(one: _Found, other: _Found) -> bool:
    return one.choice.number is None or other.choice.number is None or one.choice.number.value != other.choice.number.value


def _boxed(text: str) -> _Found | None:
    """The last box that holds a value; two boxes joined by "or" are alternatives."""
    if "\\" not in text:
        return None
    boxes = [match for match in _BOX.finditer(text)][-2:]
    if not boxes:
        return None
    spans = [_box_span(text, match) for match in boxes]
    choice = choose(text, *spans[-1], words=True)
    if choice.empty:
        return None
    if len(spans) == 2 and re.fullmatch(r"[}$\\()\s,]*\bor\b[\s$\\(]*", text[spans[0][1] : boxes[1].start()]):
        first = choose(text, *spans[0], words=True)
        if first.number and choice.number and first.number.value != choice.number.value:
            choice = Choice(rivals=(first.number, choice.number))
    return _Found(Rung.BOXED, choice, boxes[-1].start())


def _box_span(text: str, match: re.Match[str]) -> tuple[int, int]:
    limit = min(len(text), match.end() + 400)
    if not match.group().endswith("{"):
        stop = re.compile(r"[\s\\]").search(text, match.end(), limit)
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
    for match in _HASHES.finditer(text, start):
        choice = choose(text, *match.span(1), words=True)
        if choice.number is not None and not choice.number.weak and len(re.findall(r"[A-Za-z]{2,}", match[1])) <= 5:
            last = _Found(Rung.MARKER, choice, match.start())
    return last


def _marked(text: str, start: int) -> _Found | None:
    """The value after the last answer marker that has one."""
    markers = list(_MARKER.finditer(text, start))[-12:]
    for match in reversed(markers):
        found = _after_marker(text, match)
        if found is not None:
            return found
    return None


def _after_marker(text: str, match: re.Match[str]) -> _Found | None:
    """The value of the first passage after a marker; an outright "cannot be determined" there is an empty find."""
    strong = match["strong"] is not None
    first: Choice | None = None
    for start, end in _passages(text, match.end(), min(len(text), match.end() + _REGION)):
        if declines(text[start:end]):
            return _Found(Rung.MARKER, Choice(), match.start()) if first is None else None
        choice = choose(text, start, end, words=True)
        if choice.empty or _set_aside(text[start:end]):
            continue
        if first is None:
            first = choice
            if strong and not _BULLET.match(text, start):
                break
        elif not _agree(first, choice):
            return None
    if first is None:
        return None
    if first.number is None and not offers_alternatives(text, first):
        return None
    return _Found(Rung.MARKER, first, match.start())


def _agree(one: Choice, other: Choice) -> bool:
    return one.number is not None and other.number is not None and one.number.value == other.number.value


def _passages(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Sentences after a marker; one that ends with a colon is joined with what it announces."""
    piece = text[start:end]
    opened: int | None = None
    for a, b in sentence_spans(piece):
        begin = a if opened is None else opened
        if piece[a:b].rstrip(" \n*_").endswith(":") or (opened is not None and not piece[a:b].strip()):
            opened = begin
            continue
        opened = None
        yield start + begin, start + b
    if opened is not None:
        yield start + opened, end


def _set_aside(sentence: str) -> bool:
    """True for checks, asides, conditions, examples and questions."""
    return sentence.rstrip(" *_\n").endswith("?") or bool(_ASIDE.match(sentence)) or bool(_EXAMPLE.search(sentence))


def _loose(text: str) -> _Found | None:
    """The conclusion, else the last number of the last sentence that is neither check, aside, example nor question."""
    begin = max(0, len(text) - _TAIL)
    passages = list(_passages(text, begin, len(text)))
    spoken: _Found | None = None
    for start, end in reversed(passages):
        sentence = text[start:end]
        if _set_aside(sentence):
            continue
        if declines(sentence):
            return None
        choice = choose(text, start, end, words=False)
        if choice.empty:
            spoken = spoken or _in_words(text, start, end)
            continue
        return _concluded(text, choice, start)
    return spoken


def _in_words(text: str, start: int, end: int) -> _Found | None:
    choice = choose(text, start, end, words=True)
    return _Found(Rung.CONCLUSION, choice, start) if choice.number is not None else None


def _concluded(text: str, choice: Choice, start: int) -> _Found:
    if choice.number is not None or offers_alternatives(text, choice):
        return _Found(Rung.CONCLUSION, choice, start)
    return _Found(Rung.LAST_NUMBER, Choice(choice.rivals[-1]), start)


