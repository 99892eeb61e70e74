"""Candidates for the answer of a reply, and the features that tell the answer from the other values.

A feature is a name, read off the reply and the question by rule: where a value stands, how it is marked, what stands
beside it, whether it was calculated or given. What each is worth stands in ``weights.py``, fitted on published replies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from lic_pipeline.tasks.math.numbers.convertible_units import UNITS, unit_name
from lic_pipeline.tasks.math.numbers.number_grammar import Number
from lic_pipeline.tasks.math.passages import Passage, words
from lic_pipeline.tasks.math.question import Asked, content, stem

_RESULT = re.compile(
    r"[=≈][ \n]*[($]*\s?(-?\d[\d,]*(?: \d{3}(?!\d))*(?:\.\d+)?)"
    r"(?![\d/]|\s?[a-zA-Z]?\^|\s?[*+÷/x]\s?[\d$(]|\s-\s?[\d$(])"
)
_WORDS_BEFORE = re.compile(r"[A-Za-z']+|[^\sA-Za-z]")
_AFTER_SIGN = {":": "after_colon", ",": "after_comma"}
_LABELLING = words(
    "step part case option equation question problem year week day month figure table grade round line section stage"
)
_LEAVING = words("left leaving leaves totaling totalling making")
_OBLIGING = words("need needs needed has have had must going able ought")
_AMOUNTS = words("total sum amount profit answer result balance")
_DETERMINERS = words(
    "the all this that her his their its these those both each every my your our remaining other another"
)
_PREPOSITIONS = words(
    """of from for with between over in at by per than after out among on during every within until before if since
    because given through times into and when across throughout toward towards versus vs against above below under
    without beyond around plus minus"""
)
_NAMED = words("of for in and by")
_SKIPPED = words("about approximately exactly indeed only just roughly around nearly a an * _ ( $")
_TIMES = words("second minute hour day week month year min hr sec")
_NO_UNIT = words("in for to per and or is are from on of as so if when at by but which with since after")
_OPERATOR_AFTER = re.compile(
    r"[ )%]{0,2}(?:[A-Za-z]{1,12} ?(?:/ ?[a-z]+ ?)?)?(?:\([^()\n]{0,40}\) ?)?[) ]{0,2}"
    r"(?:[+*÷]|/\s?[$(\d]|-\s?[$(\d]|x\s?[$(\d]|(?:times|plus|minus|divided|multiplied)\b)"
)
_OPERATOR_BEFORE = re.compile(r"(?:[+*/÷]|\s-|\bx|\btimes|\bplus|\bminus|\b(?:divided|multiplied) by)\s?[$(]{0,3}$")
_EQUALS_AFTER = re.compile(r"[ )%]{0,2}(?:[A-Za-z]{1,14} ?){0,3}[) ]{0,2}[=≈]")
_EQUALS_BEFORE = re.compile(r"[=≈]\s?[($]{0,2}\s?$")
_NEXT = re.compile(r"[\s-]{0,2}([A-Za-z]+)?(?:[\s-]+([A-Za-z]+))?(?:[\s-]+([A-Za-z]+))?")
_REASON = re.compile(
    r"\b(?:since|because|assuming|if|after|when|given|considering|while|from|instead|not)\b(?! (?:so|then)\b)",
    re.IGNORECASE,
)
_EXPLAINING = re.compile(r"\b(?:since|because|which)\b(?![^.;]*\b(?:so|thus|hence|therefore)\b)", re.IGNORECASE)
_FIGURE = re.compile(r"\d")
_CLAUSE_END = re.compile(r"[,.;:(\n]|\b(?:and|but|while|during|over|across|in|on|at|for|from|after)\b")
_OPENING = re.compile(r"(?:\s*\d+[.)])?[^\d]*")
_CURRENCY = frozenset("$€£¥₹")
_RATE_AFTER = re.compile(r"\s?(?:[a-z]+\s)?(?:per|each|every|apiece)\b|\s?/\s?[a-z]", re.IGNORECASE)
_RATES = re.compile(r"/|\b(?:per|each|every|apiece)\b", re.IGNORECASE)
_OPERATORS = re.compile(r"[-+*/÷=≈]|x\s?[\d$(]|\bx\b|\b(?:times|plus|minus|divided|multiplied)\b")
_MUCH = 0.66
_NEAR = 24


Ratio = tuple[int, int]


@dataclass(slots=True, eq=False)
class Candidate:
    """One value that may be the answer: its features, its passage and the kind of place it stands in."""

    number: Number
    passage: Passage
    features: list[str]
    place: str = ""
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Reading:
    """What the features of a reply's values depend on: text, bold spans, results of its calculations, the question."""

    text: str
    bold: list[tuple[int, int]]
    results: list[Ratio]
    asked: Asked


def results_of(text: str) -> list[Ratio]:
    """The results of the calculations written in a text, in order, at most the last 400."""
    found = [result.replace(",", "").replace(" ", "") for result in _RESULT.findall(text)[-400:]]
    return [(int(r), 1) if r.isdigit() else Fraction(r).as_integer_ratio() for r in found if len(r) < 20]


@dataclass(frozen=True, slots=True)
class Signs:
    """What a passage holds at all: looked for once, it spares each of its values the closer look."""

    operators: bool
    parentheses: bool
    clauses: bool
    rates: bool


def signs_of(text: str, passage: Passage) -> Signs:
    """The signs of a passage."""
    piece = text[passage.start : passage.end]
    return Signs(
        operators=_OPERATORS.search(piece) is not None,
        parentheses="(" in piece,
        clauses=_REASON.search(piece) is not None or _EXPLAINING.search(piece) is not None,
        rates=_RATES.search(piece) is not None,
    )


def passage_features(reading: Reading, passage: Passage) -> Iterator[str]:
    """How much of what is asked a passage says: all that it can, half of it, or little."""
    asked = reading.asked.content
    if len(asked) > 1:
        said = len(content(reading.text[passage.start : passage.end]) & asked) / len(asked)
        yield "says_asked" if said >= _MUCH else "says_some" if said >= _MUCH / 2 else "says_little"


def own_features(reading: Reading, number: Number, passage: Passage, signs: Signs) -> Iterator[str]:
    """The features of one value that depend on nothing but its passage, the question and the calculations."""
    text, end = reading.text, passage.end
    before = text[max(passage.start, number.start - 40) : number.start]
    after = text[number.end : min(end, number.end + 48)]
    if signs.operators:
        yield from _calculation(number, before, after, checking="check" in passage.kinds)
    yield from _origin(reading, number, checking="check" in passage.kinds)
    yield _leads_in(before)
    if reading.asked.kind:
        yield from _unit(number, after, reading.asked)
    for begin, stop in reading.bold:
        if begin <= number.start and number.end <= stop + 1:
            yield "bold_alone" if stop - begin <= number.end - number.start + _NEAR else "bold"
            break
    if signs.parentheses:
        yield from _in_parentheses(text, number, passage)
    if signs.clauses:
        yield from _subordinate(text, number, passage)
    if signs.rates and not reading.asked.rate and _RATE_AFTER.match(after) is not None:
        yield "rate"


def _subordinate(text: str, number: Number, passage: Passage) -> Iterator[str]:
    """Whether a value stands in a clause that explains or qualifies: before the main clause, or behind its value."""
    clause = max(passage.start, number.start - 200, text.rfind(",", passage.start, number.start))
    if _REASON.search(text, clause, number.start) is not None:
        yield "reason"
    for opener in _EXPLAINING.finditer(text, max(passage.start, number.start - 200), number.start):
        if _FIGURE.search(text, passage.start, opener.start()) is not None:
            yield "explaining" if opener[0][0] in "bsBS" else "relative"
            return


def _calculation(number: Number, before: str, after: str, *, checking: bool) -> Iterator[str]:
    """What part a value plays in a calculation beside it; a check has no results."""
    if _OPERATOR_AFTER.match(after) is not None or _OPERATOR_BEFORE.search(before[-14:]) is not None:
        yield "operand"
    elif not checking and _EQUALS_BEFORE.search(before[-5:]):
        yield "result"
    if ("=" in after or "≈" in after) and _EQUALS_AFTER.match(after):
        yield "left_of_equals"


def _origin(reading: Reading, number: Number, *, checking: bool) -> Iterator[str]:
    """Whether a value was calculated or given; a check has no results."""
    value = number.value.as_integer_ratio()
    given = (value, number.percent) in reading.asked.given
    if not checking and value in reading.results:
        yield "given_calculated" if given else "calculated"
        if reading.results[-1] == value:
            yield "last_result"
    elif given:
        yield "given"
    elif value[1] == 1 and reading.asked.kind in {"count", ""} and _rounds(value[0], reading.results):
        yield "rounded_result"


def _rounds(whole: int, results: list[Ratio]) -> bool:
    """True where a whole number is the result of a calculation, rounded up or down."""
    return any(low > 1 and abs(top - whole * low) < low for top, low in results)


def _leads_in(before: str) -> str:
    """What kind of word leads in to a value."""
    words = [word.lower() for word in _WORDS_BEFORE.findall(before)[-6:]]
    while words and words[-1] in _SKIPPED:
        words.pop()
    if not words:
        return "opens"
    word = words[-1]
    if word in _AMOUNTS or (word == "of" and len(words) > 1 and words[-2] in _AMOUNTS):
        return "of_amount"
    if len(words) > 1 and words[-2] == "to" and word.isalpha():
        return "stated" if len(words) > 2 and words[-3] in _OBLIGING else "purpose"
    if word == "with" and not _LEAVING.isdisjoint(words):
        return "stated"
    if word.endswith("ing") and word not in _LEAVING:
        return "doing"
    if word in _DETERMINERS:
        return "determiner"
    if word in _PREPOSITIONS:
        return f"after_{word}" if word in _NAMED else "after_preposition"
    if word in _LABELLING:
        return "after_label"
    return _AFTER_SIGN.get(word, "stated" if word.isalpha() else "after_sign")


def _unit(number: Number, after: str, asked: Asked) -> Iterator[str]:
    """Whether the unit of a value is the one asked for."""
    match = _NEXT.match(after)
    following = [stem(word) for word in match.groups() if word] if match else []
    noun = following[0] if following and following[0] not in _NO_UNIT else ""
    noun = unit_name(noun, asked.nouns) or noun
    money = not _CURRENCY.isdisjoint(number.text) or noun in {"dollar", "cent"}
    if asked.kind == "count":
        if noun in asked.nouns and noun:
            yield "unit_asked"
        elif not asked.nouns.isdisjoint(following):
            yield "unit_near"
        elif money or number.percent or (noun in UNITS and not asked.nouns.isdisjoint(UNITS)):
            yield "unit_other_kind"
        elif noun:
            yield "unit_other"
    elif asked.kind == "fraction":
        yield "unit_asked" if number.value.denominator > 1 else "unit_other_kind"
    elif asked.kind:
        same = money if asked.kind == "money" else number.percent if asked.kind == "percent" else noun in _TIMES
        if same:
            yield "unit_asked"
        elif money or number.percent or noun in _TIMES:
            yield "unit_other_kind"
        elif noun:
            yield "unit_other"


def _in_parentheses(text: str, number: Number, passage: Passage) -> Iterator[str]:
    """Whether a value is an aside in parentheses, or alone in them behind the words it is the value of."""
    opened = text.rfind("(", passage.start, number.start)
    if opened < 0 or text.find(")", opened, number.start) >= 0:
        return
    closed = text.find(")", number.end, passage.end)
    if closed - opened - 1 <= len(number.text) + 1 and text[opened - 2 : opened - 1].isalpha():
        yield "apposition"
    elif closed >= 0 and passage.end - passage.start > len(number.text) + 8:
        yield "parenthesis"


def label_fit(reading: Reading, passage: Passage, number: Number, previous: int) -> int:
    """How well the label of a value fits what is asked; 0 = not at all.

    The label of a point of a list is how it opens, else what stands between the value before and the clause's end.
    Words asked for count ten, each word costs one; who is spoken to tells only the points of a list apart.
    """
    if "point" in passage.kinds:
        words = content(_OPENING.match(reading.text, passage.start, passage.end).group())  # type: ignore[union-attr]
    else:
        begin = max(passage.start, previous, number.start - 120)
        after = _CLAUSE_END.split(reading.text[number.end : min(passage.end, number.end + 30)], maxsplit=1)[0]
        words = content(reading.text[begin : number.start] + after)
    shared = words & reading.asked.content
    telling = shared if "point" in passage.kinds else shared - {"you"}
    return max(1, 10 * len(shared) - len(words)) if telling else 0
