"""English number words as exact values ("one hundred and twenty-two", "two and a half", "a dozen").

Only whole phrases are read; words inside a duration or a rate ("over four years", "every two days") are no values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from lic_pipeline.tasks.math.numbers.convertible_units import asked_measure, is_part_of_unit, part_in_asked_unit
from lic_pipeline.tasks.math.numbers.number_grammar import Number, canonical
from lic_pipeline.tasks.reply_reading import holds_any

_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen""".split()  # noqa: SIM905 - reads as a list
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()  # noqa: SIM905
_SMALL = {word: n for n, word in enumerate(_ONES)} | {word: 10 * n for n, word in enumerate(_TENS, 2)} | {"fourty": 40}
_SCALE = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_WORD = "|".join([*sorted(_SMALL, key=len, reverse=True), "hundred", "dozen", *_SCALE])
_STEMS = """zero one two three four five six seven eight nine ten eleven twel thir fif twenty hundred thousand
    illion dozen""".split()  # noqa: SIM905 - reads as a list; a part of every number word
_PARTS = {"half": 2, "third": 3, "quarter": 4, "fourth": 4} | {
    f"{stem}th": n for n, stem in enumerate(("fif", "six", "seven", "eigh", "nin", "ten"), 5)
}
_PHRASE = re.compile(
    rf"(?<![\w-])(?P<sign>(?:negative|minus)\s)?(?P<phrase>(?:an?\s(?=hundred|thousand|million|dozen))?(?:{_WORD})"
    rf"(?:(?:[\s-]|,\s|\sand\s)(?:{_WORD})){{0,14}})(?:[\s-](?P<part>halves|(?:{'|'.join(_PARTS)})s?)|(?P<half>\sand\sa\s(?:half|quarter)))?(?![\w-])(?P<percent>\spercent|\s?%)?",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"\b(?:over|across|during|per|every|each|within|in|for|after|the|these|those|all|both|between|first|last|next|past"
    r"|step|part|case|option|grade)\s(?:the\s|all\s|these\s)?$",
    re.IGNORECASE,
)
_CLOCK = re.compile(r"\bquarter\s(?:to|till)\s$", re.IGNORECASE)
_AFTER = re.compile(
    r"[\s-]*(?:\w+\s)?(?:years?|months?|weeks?|days?|hours?|minutes?|seconds?|steps?|parts?|cases?)\b", re.IGNORECASE
)
# "half" or "a quarter" on its own: as a whole answer it may say of what, within a sentence it must end one. "A third
# day" counts days, "a quarter past" is a time of day.
_LONE_PART = re.compile(
    rf"(?<![\w-])(?:(?:half\sa|a\shalf)\s(?P<dozen>dozen)|(?:an?[\s-])?(?P<half>half)"
    rf"|an?[\s-](?P<part>{'|'.join(_PARTS)}))(?![\w-])"
    r"(?P<of>\s(?!(?:past|to|till|until|after|before)\b)(?:of\s)?(?:(?:an?|the|his|her|their|my|your|its|all|that|it|them)\b\s?)?"
    r"(?:(?:whole|entire|original|total|full|remaining|initial)\s)?[a-z]*)?"
    r"[\s!*_)}\"']*(?:$|[.;,\n])",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"\s(?!(?:of|an?|the|his|her|their|my|your|its|all|that|it|them)\b)[a-z]", re.IGNORECASE)
_STATED = re.compile(
    r"\b(?:is|are|was|were|equals|be|becomes|to|exactly|about|left with|ate|gets|got|has|leaves)\s[*_\"'$(]{0,4}$",
    re.IGNORECASE,
)
_LONE = frozenset({"one", "zero", "two"})
_AROUND = " .;,!*_)}\"'\n"


def number_words(text: str, start: int, end: int, question: str = "") -> list[Number]:
    """The values spelled in words between two places of a normalised text, in order.

    A part of a unit ("half an hour") is a value only where the question asks for a unit of that kind, and in that unit.
    """
    lowered = text[start:end].lower()
    found = list(_phrases(text, start, end, question)) if holds_any(lowered, _STEMS) else []
    return found if found or not holds_any(lowered, _PARTS) else _lone_part(text, start, end, question)


def _lone_part(text: str, start: int, end: int, question: str) -> list[Number]:
    """The first half, quarter or the like that answers on its own, as a list of at most one."""
    for match in _LONE_PART.finditer(text, start, end):
        before = text[max(start, match.start() - 24) : match.start()]
        if before.strip(" *_:#\n\t\"'$(") and (match["of"] or not _STATED.search(before)):
            continue
        if match["dozen"]:
            return [Number(Fraction(6), match.start(), match.end(), match.group().strip(_AROUND), word=True)]
        name = (match["half"] or match["part"]).lower()
        if match["of"] and name not in {"half", "quarter"} and _ORDINAL.match(match["of"]):
            continue
        stop = match.start("of") if match["of"] else match.end()
        words = text[match.start() : stop].strip(_AROUND)
        return _measured(
            Number(Fraction(1, _PARTS[name]), match.start(), match.end(), words, word=True), text, stop, question
        )
    return []


def _measured(part: Number, text: str, place: int, question: str) -> list[Number]:
    """A part with what it measures after it: itself, or its value in the unit asked for, or nothing."""
    if not is_part_of_unit(text, place):
        return [part]
    value = part_in_asked_unit(text, place, part.value, question)
    return [] if value is None else [replace(part, value=value, text=canonical(value))]


def _phrases(text: str, start: int, end: int, question: str) -> Iterator[Number]:
    measured = asked_measure(question) is not None
    for match in _PHRASE.finditer(text, start, end):
        before = text[max(start, match.start() - 24) : match.start()]
        at_start = not before.strip(" *_:#\n\t")
        if (
            before.lower().endswith("half ")
            or _BEFORE.search(before)
            or (not match["part"] and _CLOCK.search(before))
            or (not at_start and not measured and _AFTER.match(text, match.end(), end))
        ):
            continue
        if (
            not match["part"]
            and not match["half"]
            and match["phrase"].lower() in _LONE
            and not (at_start or re.search(r"\b(?:is|are|was|equals|be)\s$", before))
        ):
            continue
        value = _with_part(match["phrase"], match["part"].lower()) if match["part"] else _parse(match["phrase"])
        if value is None:
            continue
        if match["half"]:
            value += Fraction(1, 2) if "half" in match["half"].lower() else Fraction(1, 4)
        number = Number(
            -value if match["sign"] else value,
            match.start(),
            match.end(),
            match.group().strip(),
            percent=bool(match["percent"]),
            word=True,
        )
        yield from _measured(number, text, match.end(), question) if match["part"] else (number,)


def _with_part(phrase: str, part: str) -> Fraction | None:
    """The value of "two thirds" or "one and two thirds"."""
    whole, _, count = phrase.lower().rpartition(" and ")
    values = _parse(whole) if whole else Fraction(0), _parse(count)
    if values[0] is None or values[1] is None:
        return None
    fraction = _part(values[1], part)
    return None if fraction is None else values[0] + fraction


def _part(count: Fraction, part: str) -> Fraction | None:
    """The value of "two thirds"; None where the words are an ordinal ("twenty-third") and no fraction."""
    singular = {"halves": "half"}.get(part, part.removesuffix("s"))
    return count / _PARTS[singular] if count and (count == 1) == (part == singular) else None


def _parse(phrase: str) -> Fraction | None:
    """The value of one phrase, None where the words do not form a single number ("two three")."""
    total = group = 0
    previous = 10**6
    for word in re.findall(r"[a-z]+", phrase.lower()):
        if word in {"and", "a", "an"}:
            continue
        if word in {"hundred", "dozen"}:
            group = max(group, 1) * (100 if word == "hundred" else 12)
            previous = 100
        elif word in _SCALE:
            total += max(group, 1) * _SCALE[word]
            group, previous = 0, 10**6
        else:
            number = _SMALL[word]
            if not (previous >= 100 or (previous >= 20 and previous % 10 == 0 and 0 < number < 10)):
                return None
            group += number
            previous = number
    return Fraction(total + group)
