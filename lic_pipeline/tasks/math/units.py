"""One quantity written twice in different units: "75 minutes, or 1 hour and 15 minutes".

Only units that convert by a fixed number are known. A quantity may be spread over several values ("1 hour and 15
minutes"), which are then one quantity and no rivals of each other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from lic_pipeline.tasks.math.asked import asked_unit
from lic_pipeline.tasks.math.values import Number

_UNITS: dict[str, tuple[str, Fraction]] = {
    name: (dimension, Fraction(size))
    for dimension, sizes in {
        "time": {
            "second sec": 1, "minute min": 60, "hour hr": 3600, "day": 86_400, "week": 604_800,
        },
        "span": {"month": 1, "year yr": 12, "decade": 120},
        "length": {"millimeter millimetre mm": 1, "centimeter centimetre cm": 10, "meter metre m": 1000,
                   "kilometer kilometre km": 1_000_000},
        "imperial": {"inch inche in": 1, "foot feet ft": 12, "yard yd": 36, "mile": 63_360},
        "mass": {"milligram mg": 1, "gram g": 1000, "kilogram kg": 1_000_000},
        "weight": {"ounce oz": 1, "pound lb": 16},
        "volume": {"milliliter millilitre ml": 1, "liter litre l": 1000},
        "kitchen": {"cup": 1, "pint": 2, "quart": 4, "gallon": 16},
        "money": {"cent penny pennie": 1, "dollar": 100},
    }.items()
    for names, size in sizes.items()
    for name in names.split()
}  # fmt: skip
_UNIT = re.compile(r"[\s-]{0,2}([A-Za-z]{1,12})\b")
_AND = re.compile(r"\s?,?\s(?:and\s)?")
_AGAIN = re.compile(
    r"[.]?\s?[,;(]?\s?(?:or|i\.e\.|that is|that's|in other words|or equivalently|equivalently|or simply)[,:]?\s"
    r"(?:exactly\s|simply\s|just\s|about\s)?[$]?\s?$",
    re.IGNORECASE,
)
# Of two single values an equation's last one is its result; a quantity of several values is only spelt out.
_SPELT_OUT = re.compile(
    r"\s?[,(]?\s?(?:(?:=|≈|which\s(?:is|equals)|equals|is)(?:\s(?:equal|equivalent)\sto|\sthe\ssame\sas)?)?\s?[$]?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Quantity:
    """Neighbouring values that are one amount: the dimension, the amount in its smallest unit, the largest unit."""

    numbers: tuple[Number, ...]
    dimension: str
    amount: Fraction
    unit: str
    end: int


def without_restatements(text: str, found: list[Number], question: str) -> list[Number]:
    """The values without those that say a neighbouring quantity again in another unit.

    Of the two the one in the unit asked for stays, else the one that is a single value, else the first.
    """
    if len(found) < 2:
        return found
    dropped: set[int] = set()
    for left, right in pairwise(_quantities(text, found)):
        if left.dimension != right.dimension or left.amount != right.amount:
            continue
        spelt_out = len(left.numbers) != len(right.numbers) and _SPELT_OUT.fullmatch(
            text, left.end, right.numbers[0].start
        )
        if spelt_out or _AGAIN.fullmatch(text, left.end, right.numbers[0].start):
            dropped |= {number.start for number in _worse(left, right, question).numbers}
    return [number for number in found if number.start not in dropped] if dropped else found


def _worse(left: _Quantity, right: _Quantity, question: str) -> _Quantity:
    single = len(left.numbers) == 1, len(right.numbers) == 1
    if single[0] != single[1]:
        return right if single[0] else left
    return left if single[0] and right.unit == asked_unit(question) != left.unit else right


def _quantities(text: str, found: list[Number]) -> list[_Quantity]:
    quantities: list[_Quantity] = []
    for number in found:
        unit, end = _unit_of(text, number)
        if not unit:
            continue
        dimension, size = _UNITS[unit]
        last = quantities[-1] if quantities else None
        if (
            last is not None
            and last.dimension == dimension
            and _UNITS[_unit_of(text, last.numbers[-1])[0]][1] > size
            and _AND.fullmatch(text, last.end, number.start)
        ):
            amount = last.amount + number.value * size
            quantities[-1] = _Quantity((*last.numbers, number), dimension, amount, last.unit, end)
        else:
            quantities.append(_Quantity((number,), dimension, number.value * size, unit, end))
    return quantities


def _unit_of(text: str, number: Number) -> tuple[str, int]:
    """The known unit of a value, "" without one, and where value and unit end."""
    match = _UNIT.match(text, number.end)
    if match is not None:
        word = match[1].lower()
        for name in (word, word.removesuffix("s")):
            if name in _UNITS:
                return name, match.end()
    return ("dollar", number.end) if number.text.startswith("$") else ("", number.end)
