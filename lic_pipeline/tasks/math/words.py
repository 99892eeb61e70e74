"""English number words as exact values ("one hundred and twenty-two", "two and a half", "a dozen").

Only whole phrases are read; words inside a duration or a rate ("over four years", "every two days") are no values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from lic_pipeline.tasks.math.values import Number
from lic_pipeline.tasks.text import holds_any

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
_AFTER = re.compile(
    r"[\s-]*(?:\w+\s)?(?:years?|months?|weeks?|days?|hours?|minutes?|seconds?|steps?|parts?|cases?)\b", re.IGNORECASE
)
# "half" or "a quarter" on its own: as a whole answer it may say of what, within a sentence it must end one.
_LONE_PART = re.compile(
    rf"(?<![\w-])(?:half\sa\s(?P<dozen>dozen)|(?:an?[\s-])?(?P<half>half)|an?[\s-](?P<part>{'|'.join(_PARTS)}))(?![\w-])"
    r"(?P<of>\s(?:of\s)?(?:(?:an?|the|his|her|their|my|your|its|all|that|it|them)\b\s?)?[a-z]*)?"
    r"[\s!*_)}\"']*(?:$|[.;,\n])",
    re.IGNORECASE,
)
_STATED = re.compile(
    r"\b(?:is|are|was|were|equals|be|becomes|to|exactly|about|left with|ate|gets|got|has|leaves)\s[*_\"'$(]{0,4}$",
    re.IGNORECASE,
)
_LONE = frozenset({"one", "zero", "two"})


def number_words(text: str, start: int, end: int) -> list[Number]:
    """The values spelled in words between two places of a normalised text, in order."""
    lowered = text[start:end].lower()
    found = list(_phrases(text, start, end)) if holds_any(lowered, _STEMS) else []
    return found if found or not holds_any(lowered, _PARTS) else _lone_part(text, start, end)


def _lone_part(text: str, start: int, end: int) -> list[Number]:
    """The first half, quarter or the like that answers on its own, as a list of at most one."""
    for match in _LONE_PART.finditer(text, start, end):
        before = text[max(start, match.start() - 24) : match.start()]
        if before.strip(" *_:#\n\t\"'$(") and (match["of"] or not _STATED.search(before)):
            continue
        value = Fraction(6) if match["dozen"] else Fraction(1, _PARTS[(match["half"] or match["part"]).lower()])
        words = match.group()[: match.start("of") - match.start()] if match["of"] else match.group()
        return [Number(value, match.start(), match.end(), words.strip(" .;,!*_)}\"'\n"), word=True)]
    return []


def _phrases(text: str, start: int, end: int) -> Iterator[Number]:
    for match in _PHRASE.finditer(text, start, end):
        before = text[max(start, match.start() - 24) : match.start()]
        at_start = not before.strip(" *_:#\n\t")
        if (
            before.lower().endswith("half ")
            or _BEFORE.search(before)
            or (not at_start and _AFTER.match(text, match.end(), end))
        ):
            continue
        if (
            not match["part"]
            and match["phrase"].lower() in _LONE
            and not (at_start or re.search(r"\b(?:is|are|was|equals|be)\s$", before))
        ):
            continue
        value = _with_part(match["phrase"], match["part"].lower()) if match["part"] else _parse(match["phrase"])
        if value is None:
            continue
        if match["half"]:
            value += Fraction(1, 2) if "half" in match["half"].lower() else Fraction(1, 4)
        yield Number(
            -value if match["sign"] else value,
            match.start(),
            match.end(),
            match.group().strip(),
            percent=bool(match["percent"]),
            word=True,
        )


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
