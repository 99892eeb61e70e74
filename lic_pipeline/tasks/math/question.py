"""What a question gives and what it asks for: its values, the thing counted, and the kind of amount.

A value that the question already gives is seldom its answer, and an answer carries the unit that was asked for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from lic_pipeline.tasks.math.numbers.convertible_units import UNITS, asking
from lic_pipeline.tasks.math.numbers.number_grammar import normalise, numbers
from lic_pipeline.tasks.math.numbers.number_words import number_words

_HOW_MANY = re.compile(
    r"\b(?:how many|number of)\s"
    r"((?:(?!(?:of|are|is|did|do|does|will|can|were|was|has|have)\b)[A-Za-z-]+\s?){1,4})",
    re.IGNORECASE,
)
_MONEY = re.compile(
    r"how much (?:money|does? (?:it|he|she|they|\w+) (?:cost|pay|earn|make|spend|owe|save)|will|did|do|profit|change"
    r"|more money|is|was|are|were|in|would|has|have|had)\b|\$"
    r"|\b(?:cost|price|profit|earn|paid|pay|spend|spent|dollars?|cents?|money|salary|bill|wage|charge|revenue|income"
    r"|rent)\b",
    re.IGNORECASE,
)
_PERCENT = re.compile(
    r"\b(?:what|which) (?:\w+ )?percent(?:age)?\b|\bin percent\b|\bpercentage\b|\bpercent (?:of|is|are|more|less)\b",
    re.IGNORECASE,
)
_RATE = re.compile(r"\b(?:per|each|every|an? (?:hour|day|week|month|year|minute|second))\b", re.IGNORECASE)
_FRACTION = re.compile(r"\bwhat (?:fraction|part|share)\b|\bas a fraction\b", re.IGNORECASE)
_TIME = re.compile(
    r"\bhow (?:long|old|many (?:\w+ )?(?:hours?|minutes?|days?|weeks?|months?|years?|seconds?))\b|\bage\b|\bwhen\b",
    re.IGNORECASE,
)
_ENDING = re.compile(r"(?<=[a-z]{3})(?:ing|e?d|e?s|e)$")
_UNITS = frozenset(_ENDING.sub("", name) for name in UNITS)
_QUANTIFIERS = frozenset({"more", "total", "whole", "full", "extra", "additional", "new", "fewer", "les"})
_CONDITION = re.compile(r"\bif\b[^,?.]*", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]+")
_SAME = {
    "i": "you", "my": "you", "me": "you", "mine": "you", "your": "you", "old": "age", "aged": "age",
    "leaving": "left", "leaves": "left", "leave": "left", "remaining": "left", "remains": "left", "remain": "left",
    "keeps": "keep", "keep": "keep", "paid": "pay", "pays": "pay", "cost": "pay", "costs": "pay", "price": "pay",
    "earned": "earn", "earns": "earn", "made": "make", "makes": "make", "spent": "spend", "spends": "spend",
    "percentage": "percent",
}  # fmt: skip
_EMPTY = frozenset(
    """a an the is are was were be been being has have had do does did will would can could should of in on at to for
    from by with and or but if then so thus therefore hence that this these those it its as we us our s t re ve ll
    d m how much many what which who when where why now after all each every per there here not no yes also he she they
    her his their him them calculate find determine compute answer result final approximately about exactly""".split()  # noqa: SIM905 - reads as a list
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What one question gives and asks for.

    ``given``: its values, each with whether it is a percentage; ``nouns``: stems of the things counted; ``kind``:
    ``count``, ``money``, ``percent``, ``fraction``, ``time`` or "" where nothing tells; ``content``: the words that say
    what is asked, without their endings; ``rate``: whether an amount per something is asked for.
    """

    given: frozenset[tuple[tuple[int, int], bool]]
    nouns: frozenset[str]
    kind: str
    content: frozenset[str]
    rate: bool


def content(text: str) -> frozenset[str]:
    """The roots of the words of a text that carry meaning, words that say the same taken for one."""
    return frozenset(filter(None, map(_root, _WORD.findall(text))))


@lru_cache(maxsize=16_384)
def _root(word: str) -> str:
    """A word without its ending; "" where it carries no meaning of its own."""
    lowered = word.lower()
    lowered = _SAME.get(lowered, lowered)
    return "" if lowered in _EMPTY else _ENDING.sub("", lowered)


def stem(word: str) -> str:
    """A word in lower case without its plural."""
    word = word.lower()
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


@lru_cache(maxsize=4096)
def asked(question: str) -> Asked:
    """What a question gives and asks for."""
    plain = normalise(question[-8000:])
    found = [*numbers(plain), *number_words(plain, 0, len(plain))]
    given = {(number.value.as_integer_ratio(), number.percent) for number in found}
    sentence = asking(plain)
    counted = _HOW_MANY.search(sentence)
    words = [stem(word) for word in re.findall(r"[A-Za-z]+", counted[1])] if counted is not None else []
    if _PERCENT.search(sentence):
        kind = "percent"
    elif _FRACTION.search(sentence):
        kind = "fraction"
    elif counted is not None:
        kind = "money" if {"dollar", "cent"} & set(words) else "count"
    elif _TIME.search(sentence):
        kind = "time"
    elif _MONEY.search(sentence):
        kind = "money"
    else:
        kind = ""
    telling = content(_CONDITION.sub(" ", sentence)) - _UNITS
    return Asked(frozenset(given), frozenset(words) - _QUANTIFIERS, kind, telling, _RATE.search(sentence) is not None)
