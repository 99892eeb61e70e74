"""The ladder of rungs of the math task: where in a reply the answer stands.

Strict rungs first (box, ``####``, answer marker), then the loose ones (conclusion, last number). The grammar of values
is in ``values.py``, the choice inside one passage in ``choose.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import chain

from lic_pipeline.records import Extraction, Rung
from lic_pipeline.tasks.math.boxes import Found, boxed
from lic_pipeline.tasks.math.choose import Choice, best_labelled, choose, offers_alternatives
from lic_pipeline.tasks.math.marks import MARKER, differs, hashed, marked
from lic_pipeline.tasks.math.passages import (
    Backwards,
    Span,
    concludes,
    first_point,
    has_digit,
    is_bullet,
    last_unchecked,
    set_aside,
)
from lic_pipeline.tasks.math.values import Number, normalise
from lic_pipeline.tasks.memo import Kept
from lic_pipeline.tasks.text import declines, holds_any

_INVENTED = re.compile(
    r"\n[ \t#>*]*(?:(?:new |next |another |follow-up )?(?:question|problem)(?:\s*\d+)?|Q\d*|human|user|student"
    r"|instruction)\**\s*:",
    re.IGNORECASE,
)
_INVENTED_HINTS = ("question", "problem", "human", "user", "student", "instruction", "\nq", "q:", "*q")
_DIGITS_ONLY = re.compile(r"(?:-|\$)?(?:0|[1-9][0-9]{0,2}(?:,[0-9]{3}){1,5}|[1-9][0-9]{0,17})(?:\.[0-9]{1,9})?")
_LONG_WORD = re.compile(r"[A-Za-z]{2,}")
_TAIL = 6000
_LONGEST_ANSWER = 2000
_BARE = 40


def whole_value(answer: str, question: str = "") -> tuple[Fraction | None, bool]:
    """The value of a text that is nothing but an answer, None when it has none; and whether it has several."""
    if _DIGITS_ONLY.fullmatch(answer):
        # Most references and extractions look like this, and the grammar comes to the same.
        digits = answer.replace(",", "").lstrip("$")
        return Fraction(digits) if "." in digits else Fraction(int(digits)), False
    extraction, number = find(answer, question, whole=True)
    return None if number is None else number.value, extraction.rung is Rung.AMBIGUOUS


@Kept
def find(text: str, question: str = "", *, whole: bool = False) -> tuple[Extraction, Number | None]:
    """The extraction of a visible reply, and the chosen value. ``whole`` = the text is nothing but an answer.

    ``question`` is the problem, used only to tell several labelled values of one passage apart.
    """
    plain = normalise(text)
    if whole:
        return _finish(_whole(plain, question))
    plain = _first_solution(plain)
    strict = _strict(plain, question)
    if strict is not None and strict.rung is Rung.BOXED and strict.choice.empty:
        # A box that holds a formula or a word says that there is no number, unless one is stated after it.
        return _finish(_loose(plain[strict.start :].partition("}")[2], question))
    return _finish(strict or _bare(plain, question) or _loose(plain, question))


def _finish(found: Found | None) -> tuple[Extraction, Number | None]:
    if found is None or found.choice.empty:
        return Extraction(answer=None, rung=Rung.FAILED), None
    number = found.choice.number
    if number is None:
        candidates = tuple(dict.fromkeys(n.text for n in found.choice.rivals))[:20]
        return Extraction(answer=None, rung=Rung.AMBIGUOUS, candidates=candidates), None
    return Extraction(answer=number.text, rung=found.rung, candidates=(number.text,)), number


def _first_solution(text: str) -> str:
    """The text up to a second, invented question that follows an answer already given."""
    if not holds_any(text.lower(), _INVENTED_HINTS):
        return text
    for match in _INVENTED.finditer(text):
        head = text[: match.start()]
        if "####" in head or "\\boxed" in head or MARKER.search(head):
            return head
    return text


def _whole(text: str, question: str) -> Found | None:
    """An answer on its own: one value, or the box or marker inside it."""
    if len(text) > _LONGEST_ANSWER:
        return _strict(text, question) or _loose(text, question)
    choice = choose(text, 0, len(text), question, words=True)
    if choice.number is not None:
        return Found(Rung.WHOLE, choice, 0)
    return _strict(text, question) or (None if choice.empty else Found(Rung.WHOLE, choice, 0))


def _bare(text: str, question: str) -> Found | None:
    """A reply that is nothing but a value with at most three words."""
    stripped = text.strip()
    if len(stripped) > _BARE or "?" in stripped or len(_LONG_WORD.findall(stripped)) > 3:
        return None
    first, *others = stripped.split("\n")
    if others and has_digit(first):
        return None  # several lines with values are passages, of which some may be checks
    choice = choose(text, 0, len(text), question, words=False)
    return Found(Rung.WHOLE, choice, 0) if choice.number is not None and not choice.number.weak else None


def _strict(text: str, question: str) -> Found | None:
    """The strict rung that applies; of a box and a later, different marker the later one (self-correction)."""
    box = boxed(text, question)
    start = 0 if box is None else box.start
    hashes = hashed(text, start, question) if "####" in text else None
    if box is None and hashes is not None:
        start = hashes.start
    marker = marked(text, start, question)
    first = box or hashes
    if first is None:
        return marker
    for later in (hashes, marker):
        if later is not None and later.start > first.start and later.choice.number is not None:
            return later if differs(later, first) else first
    return first


def _loose(text: str, question: str) -> Found | None:
    """The conclusion, else the last number of the last sentence that is no check, aside, example or question."""
    begin = max(0, len(text) - _TAIL)
    declined = declines(text[begin:])
    spans = Backwards(last_unchecked(text, begin))
    weak: Found | None = None
    visited: list[tuple[int, int]] = []
    for place, (start, end) in enumerate(spans.since(0)):
        sentence = text[start:end]
        if declined and not set_aside(sentence) and declines(sentence):
            break
        visited.append((start, end))
        if not has_digit(sentence) or set_aside(sentence):
            continue
        choice = choose(text, start, end, question, words=False)
        if choice.empty:
            continue
        found = _concluded(text, spans.since(place), choice, question)
        if found.choice.number is None or found.choice.number.weak < 2 or concludes(sentence):
            return found
        weak = weak or found
    return weak or _in_words(text, visited, question)


def _concluded(text: str, spans: Iterator[Span], choice: Choice, question: str) -> Found:
    """The find of the first of these passages, last of the reply first, whose choice is given; for the end of a list,
    of the whole list."""
    last = next(spans)
    start = last[0]
    if is_bullet(text, last):
        listed = _listed(text, chain((last,), spans), question)
        if listed is not None:
            return Found(Rung.CONCLUSION, Choice(listed), start)
    if choice.number is not None or offers_alternatives(text, choice):
        return Found(Rung.CONCLUSION, choice, start)
    return Found(Rung.LAST_NUMBER, Choice(choice.rivals[-1]), start)


def _listed(text: str, spans: Iterable[Span], question: str) -> Number | None:
    """Of the list that ends with the first of these passages, the value of the point that fits the question best."""
    labelled: list[tuple[Number, str]] = []
    for start, end in spans:
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


def _in_words(text: str, spans: list[tuple[int, int]], question: str) -> Found | None:
    """The last of these passages (last one first) that spells a value in words."""
    for start, end in spans:
        if not set_aside(text[start:end]):
            choice = choose(text, start, end, question, words=True)
            if choice.number is not None:
                return Found(Rung.CONCLUSION, choice, start)
    return None
