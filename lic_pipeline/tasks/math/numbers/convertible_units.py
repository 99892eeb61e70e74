"""Units that convert by a fixed number, the one a question asks for, and parts of one ("a quarter of an hour").

Where amounts stand in a text, and which of them say the same, is found in ``units``.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

UNITS: dict[str, tuple[str, Fraction]] = {
    name: (dimension, Fraction(size))
    for dimension, sizes in {
        "time": {
            "second sec": 1, "minute min": 60, "hour hr": 3600, "day": 86_400, "week": 604_800,
        },
        "span": {"month": 1, "year yr": 12, "decade": 120, "century centurie": 1200},
        "length": {"millimeter millimetre mm": 1, "centimeter centimetre cm": 10, "meter metre m": 1000,
                   "kilometer kilometre km": 1_000_000},
        "imperial": {"inch inche in": 1, "foot feet ft": 12, "yard yd": 36, "mile": 63_360},
        "mass": {"milligram mg": 1, "gram g": 1000, "kilogram kg": 1_000_000},
        "weight": {"ounce oz": 1, "pound lb": 16, "ton": 32_000},
        "volume": {"milliliter millilitre ml": 1, "liter litre l": 1000},
        "kitchen": {"teaspoon": 1, "tablespoon": 3, "cup": 48, "pint": 96, "quart": 192, "gallon": 768},
        "money": {"cent penny pennie": 1, "dollar": 100},
        "land": {"acre": 1},
    }.items()
    for names, size in sizes.items()
    for name in names.split()
}  # fmt: skip
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+")
_ASKS = re.compile(r"\W*(?:calculate|find|determine|compute)\b", re.IGNORECASE)
_MORE = r"(?:(?:more|total|whole|full|extra|additional|new)\s)?"
_HOW_MANY = re.compile(rf"\b(?:how many|number of)\s{_MORE}([A-Za-z]{{2,}})", re.IGNORECASE)
_EXPRESSED_IN = re.compile(rf"\bin\s{_MORE}([A-Za-z]{{3,}}s|feet)\b", re.IGNORECASE)
# A plural after "the" is a set to take a part of ("a third of the days"), a singular the unit itself.
_PART_OF_UNIT = re.compile(
    r"[\s-](?:of\s)?(?:(?:an?|the|one|each|every|this|that)\s)?(?:(?:whole|full|single)\s)?"
    rf"({'|'.join(sorted((name for name in UNITS if len(name) > 2 or name == 'hr'), key=len, reverse=True))})\b",
    re.IGNORECASE,
)


def asking(question: str) -> str:
    """What is asked: the last question of a problem, or its last sentence."""
    sentences = [s for s in _SENTENCE_END.split(question[-4000:].strip()) if s]
    questions = [s for s in sentences if s.endswith("?") or _ASKS.match(s)]
    return (questions or sentences or [""])[-1]


@lru_cache(maxsize=4096)
def asked_measure(question: str) -> tuple[str, Fraction] | None:
    """Dimension and size of the unit that a question asks for ("how many minutes", "in hours"), None without one."""
    sentence = asking(question)
    for pattern in (_HOW_MANY, _EXPRESSED_IN):
        words = pattern.findall(sentence)
        if words:
            word = words[-1].lower()
            return UNITS.get(word) or UNITS.get(word.removesuffix("s"))
    return None


def unit_name(word: str, names: frozenset[str]) -> str:
    """Which of these names is the unit that a word means ("m": "meter"), "" where none is."""
    unit = UNITS.get(word)
    return next((name for name in names if unit is not None and UNITS.get(name) == unit), "")


def is_part_of_unit(text: str, place: int) -> bool:
    """True when a fraction in words that ends at a place measures a unit: "of an hour", "mile"."""
    return _PART_OF_UNIT.match(text, place) is not None


def part_in_asked_unit(text: str, place: int, part: Fraction, question: str) -> Fraction | None:
    """What a part of a unit is in the unit asked for ("half an hour": 30 minutes), None where another one is asked."""
    match = _PART_OF_UNIT.match(text, place)
    asked = asked_measure(question)
    if match is None or asked is None:
        return None
    dimension, size = UNITS[match[1].lower()]
    return part * size / asked[1] if dimension == asked[0] else None
