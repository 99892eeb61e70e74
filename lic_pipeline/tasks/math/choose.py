"""Which value of one passage is the one asked for: equation results, alternatives, restated amounts.

The passage (a box, the words after a marker, a sentence) is chosen in ``extract.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise

from lic_pipeline.tasks.math.asked import asked_unit, relevance
from lic_pipeline.tasks.math.units import without_restatements
from lic_pipeline.tasks.math.values import Number, numbers
from lic_pipeline.tasks.math.words import number_words

_PARENTHESES = re.compile(r"\([^()\n]{0,200}\)|\[[^\[\]\n]{0,200}\]\(")
_WORD_BEFORE = re.compile(r"[A-Za-z]{2}\s$")
_EQUALS = re.compile(r"[=≈]|\b(?:equals|is equal to|comes (?:out )?to|amounts to|works out to)\b", re.IGNORECASE)
_COPULA = re.compile(
    r"\b(?:is|are|was|were|be|been|totals?|totall?ed|totall?ing"
    r"|(?:total|sum|altogether|average|result|profit|balance|score|amount)(?:\sof)?"
    r"|equals?|has|have|had|makes?|made|earns?|earned|costs?|gets?|got|becomes?|leaves?|left with|needs?|needed"
    r"|spends?|spent|saves?|saved|scored?|scores|pays?|paid|gives?|giving|leaving|yields?|contains?|sold"
    r"|therefore|thus|hence|so)\b|:",
    re.IGNORECASE,
)
_RESTATES = re.compile(
    r"[\s,(]*(?:[≈=]|or|i\.e\.|that is)?[\s,]*(?:about|approximately|roughly|around|nearly|exactly)?\s*", re.IGNORECASE
)
_AND_BETWEEN = re.compile(r"[\s%]*(?:[a-z]+\s)?and\s")
_OR_BETWEEN = re.compile(r"[^.;?!]{0,120}?(?:,|\s)\s?or\b[^.;?!\d]{0,80}$", re.IGNORECASE)
_SIGN = r"(?:[-+*/÷]|(?<![A-Za-z])x(?![A-Za-z]))"
_OPERATOR = re.compile(rf"[^=≈.;\n]{{0,40}}?{_SIGN}[\s$(]*(?:\([^()\n]*\))?[\s$(]*")
_TIMES = re.compile(rf"\s?{_SIGN}\s?\(?\$?[\d(]|\(\d")
_TIMES_BEFORE = re.compile(rf"[\d)}}%\]]\s?{_SIGN}\s?\$?$")
_RESULT_BEFORE = re.compile(r"[=≈]\s?[-$(]{0,3}\s?$")
_EQUATION_AFTER = re.compile(r"\s?(?:[A-Za-z%]{1,12}\s?)?[=≈]")
_REASON = re.compile(r",?\s(?:since|because)\s(?!(?:19|20)\d\d\b)[^,;:]*$", re.IGNORECASE)
_SAME_AS = re.compile(
    r"\bor\s(?:about|approximately|roughly|around|equivalently|simply|just|exactly|in other words)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Choice:
    """The value chosen from a passage, or the rivals when several were offered, or neither."""

    number: Number | None = None
    rivals: tuple[Number, ...] = ()

    @property
    def empty(self) -> bool:
        """True when the passage holds no value at all."""
        return self.number is None and not self.rivals


def choose(text: str, start: int, end: int, question: str = "", *, words: bool) -> Choice:
    """The asked value of ``text[start:end]``; ``rivals`` are set when several distinct values remain."""
    found = list(numbers(text, start, end))
    if not found and words:
        found = number_words(text, start, end, question)
    if not found:
        return Choice()
    found = without_restatements(text, _before_reason(text, start, end, found), question)
    outside = _outside_parentheses(text, start, end, found)
    outcome = _outcome(text, outside or found) if len(found) > 1 else None
    if outcome is not None:
        return Choice(replace(outcome, weak=0))
    pool = [n for n in outside if not n.weak] or [n for n in found if not n.weak] or outside or found
    if _single(pool):
        return Choice(pool[-1] if len(pool) > 1 and pool[-1].percent else pool[0])
    if len(pool) == 2 and _restated(text, *pool):
        return Choice(pool[1] if pool[1].percent else pool[0])
    offered = _alternatives(text, pool)
    if offered:
        return Choice(rivals=tuple(offered))
    operands = _operands(text, outside or found)
    results = [n for n in pool if n.start not in operands] or pool
    if _single(results):
        return Choice(results[-1])
    pick = _most_relevant(text, start, end, results, question)
    if pick is not None:
        return Choice(pick)
    for pattern in (_EQUALS, _COPULA):
        narrowed = _after_last(pattern, text, start, end, results)
        if narrowed and _single(narrowed):
            return Choice(narrowed[0])
    return Choice(rivals=tuple(results))


def best_labelled(labelled: list[tuple[Number, str]], question: str, *, last_bonus: int = 0) -> Number | None:
    """The value whose label fits the question better than every other value's; None when none stands out.

    ``last_bonus`` is what the last one is ahead by, where results tend to come last.
    """
    scores = [relevance(_PARENTHESES.sub(" ", label), question) for _, label in labelled]
    if scores and scores[-1]:
        scores[-1] += last_bonus
    best = max(scores, default=0)
    if best == 0:
        return None
    top = [number for (number, _), score in zip(labelled, scores, strict=True) if score == best]
    return top[-1] if _single(top) else None


def _operands(text: str, found: list[Number]) -> set[int]:
    """Where the operands of calculations stand ("36 + 46 + 40 = 122": all but 122)."""
    places = {
        n.start for n in found if _TIMES.match(text, n.end) or _TIMES_BEFORE.search(text[max(0, n.start - 6) : n.start])
    }
    for left, right in pairwise(found):
        if right.start - left.end <= 60 and _OPERATOR.fullmatch(text, left.end, right.start):
            places |= {left.start, right.start}
    return places


def _outcome(text: str, found: list[Number]) -> Number | None:
    """The one value of a passage that is the result of a calculation, with no step or other value after it."""
    results = [
        n
        for n in found
        if _RESULT_BEFORE.search(text[max(0, n.start - 4) : n.start])
        and not _EQUATION_AFTER.match(text, n.end)
        and not _TIMES.match(text, n.end)
    ]
    if not results or not _single(results):
        return None
    last = results[-1]
    starts = _operands(text, found)
    # A list, not a set: hashing a Fraction costs far more than comparing a few.
    known = [last.value, *(n.value for n in found if n.start in starts)]
    followed = any(n.start > last.start and not n.weak and n.value not in known for n in found)
    return None if followed else last


def _most_relevant(text: str, start: int, end: int, pool: list[Number], question: str) -> Number | None:
    """The value whose clause (since the value before, up to the next stop) shares most with the question."""
    unit = asked_unit(question)
    if unit:
        counted = [
            n for n in pool if re.match(rf"\s(?:[a-z]+\s)?{re.escape(unit)}", text[n.end : n.end + 40], re.IGNORECASE)
        ]
        if counted and _single(counted):
            return counted[-1]
    labelled: list[tuple[Number, str]] = []
    for place, number in enumerate(pool):
        begin = pool[place - 1].end if place else start
        stop = pool[place + 1].start if place + 1 < len(pool) else end
        before = text[max(begin, number.start - 200) : number.start]
        after = text[number.end : min(stop, number.end + 60)]
        if place:
            before = re.split(r"^[^,;.\n]{0,60}[,;.\n]", before, maxsplit=1)[-1]
        labelled.append((number, before + " " + re.split(r"[,;.:\n(]|\bbut\b|\band\b", after, maxsplit=1)[0]))
    return best_labelled(labelled, question, last_bonus=2)


def offers_alternatives(text: str, choice: Choice) -> bool:
    """True when the rivals of a choice are offered side by side ("40 or 60"), not merely mentioned together."""
    return bool(choice.rivals) and bool(_alternatives(text, list(choice.rivals)))


def _single(pool: list[Number]) -> bool:
    return bool(pool) and all(n.value == pool[0].value for n in pool)


def _outside_parentheses(text: str, start: int, end: int, found: list[Number]) -> list[Number]:
    if "(" not in text[start:end]:
        return found
    asides = [m.span() for m in _PARENTHESES.finditer(text, start, end) if not _in_apposition(text, m, found)]
    return [n for n in found if not any(a <= n.start and n.end <= b for a, b in asides)]


def _before_reason(text: str, start: int, end: int, found: list[Number]) -> list[Number]:
    """Without the values of a reason at the end ("I am 25, since last year I was 24"), if others stand before it."""
    if len(found) < 2:
        return found
    reason = _REASON.search(text[start:end])
    return found if reason is None else [n for n in found if n.start < start + reason.start()] or found


def _in_apposition(text: str, parentheses: re.Match[str], found: list[Number]) -> bool:
    """True for "her total ($2,100)": nothing but a value, right behind the words it is the value of."""
    if not _WORD_BEFORE.search(text[max(0, parentheses.start() - 3) : parentheses.start()]):
        return False
    inside = [n for n in found if parentheses.start() < n.start and n.end < parentheses.end()]
    return len(inside) == 1 and len(inside[0].text) >= parentheses.end() - parentheses.start() - 3


def _alternatives(text: str, pool: list[Number]) -> list[Number]:
    """The values joined by "or", where they differ by more than rounding or the percent sign."""
    for left, right in pairwise(pool):
        between = text[left.end : right.start]
        joined = _OR_BETWEEN.match(between) or (
            _AND_BETWEEN.fullmatch(between) and text[max(0, left.start - 9) : left.start].lower().endswith("between ")
        )
        if len(between) > 200 or not joined or _SAME_AS.search(between):
            continue
        if left.value != right.value and not _same_quantity(left, right):
            return [left, right]
    return []


def _restated(text: str, left: Number, right: Number) -> bool:
    """True for one quantity written twice: "0.4 or 40%", "86/3, about 28.67"."""
    return _RESTATES.fullmatch(text, left.end, right.start) is not None and _same_quantity(left, right)


def _same_quantity(left: Number, right: Number) -> bool:
    if left.percent != right.percent:
        plain, percent = (right, left) if left.percent else (left, right)
        return plain.value * 100 == percent.value
    rounded = max(left.value.denominator, right.value.denominator) > 1
    return rounded and abs(left.value - right.value) * 200 <= abs(left.value)


def _after_last(pattern: re.Pattern[str], text: str, start: int, end: int, pool: list[Number]) -> list[Number]:
    """The values of the pool that follow the last match of a pattern which any value follows."""
    last = -1
    final = pool[-1].start
    for match in pattern.finditer(text, start, min(end, final + 1)):
        if match.end() <= final:
            last = match.end()
    return [n for n in pool if n.start >= last] if last >= 0 else []
