"""One quantity written twice in different units: "75 minutes, or 1 hour and 15 minutes".

Only units that convert by a fixed number are known. A quantity may be spread over several values ("1 hour and 15
minutes"), which are then one quantity and no rivals of each other. What a question asks for is in ``asked_measure``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

from lic_pipeline.tasks.math.numbers.convertible_units import UNITS, asked_measure
from lic_pipeline.tasks.math.numbers.number_grammar import Number, canonical

_UNIT = re.compile(r"[\s-]{0,2}([A-Za-z]{1,12})\b")
_AND = re.compile(r"\s{0,2},?\s{1,2}(?:and\s{1,2})?")
_ONE_MORE = re.compile(r"\b(?:an?|one)\s([A-Za-z]{3,12})\s(?:and\s)?$", re.IGNORECASE)
_RATE = re.compile(r"\s?/|\s(?:an?|per|each|every)\b", re.IGNORECASE)
_CALCULATED = re.compile(r"[-+*/÷][^=≈]*[=≈]|[=≈][^=≈]*[=≈]")
_ASIDE = re.compile(r"\s?\(")
_NEAR = 60

Measure = tuple[str, Fraction]


@dataclass(frozen=True, slots=True)
class _Quantity:
    """Neighbouring values that are one amount: the dimension, the amount in its smallest unit, the units named."""

    numbers: tuple[Number, ...]
    dimension: str
    amount: Fraction
    sizes: tuple[Fraction, ...]
    end: int

    @property
    def start(self) -> int:
        """Where its first value stands."""
        return self.numbers[0].start

    def is_in(self, asked: Measure | None) -> bool:
        """True for one value in the unit asked for."""
        return len(self.sizes) == 1 and asked == (self.dimension, self.sizes[0])


def without_restatements(text: str, found: list[Number], question: str) -> list[Number]:
    """The values without those that say a neighbouring quantity again in another unit.

    Of the two the one in the unit asked for stays, else the one that is a single value, else the first. An amount
    spread over the unit asked for and others ("1 hour and 15 minutes") becomes one value in that unit, unless another
    amount of its kind stands beside it.
    """
    if not found or (len(found) == 1 and not _follows_one(text, found[0])):
        return found
    quantities = _quantities(text, found)
    asked = asked_measure(question)
    dropped: set[int] = set()
    places: dict[int, int] = {}
    for left, right in combinations(quantities, 2):
        if _says_again(text, left, right):
            worse = _worse(text, left, right, asked)
            dropped |= {number.start for number in worse.numbers}
            if worse is left and "(" in text[left.end : right.start]:
                places[right.start] = left.start  # the value of the sentence, no aside in parentheses
        elif left.dimension == right.dimension and _ASIDE.fullmatch(text, left.end, right.start):
            dropped |= {number.start for number in right.numbers}  # an aside that contradicts what it restates
    spelt = _in_asked_unit(text, quantities, asked)
    if spelt is None:
        kept = [number for number in found if number.start not in dropped]
        return [replace(number, start=places.get(number.start, number.start)) for number in kept] if places else kept
    dropped |= {number.start for quantity in quantities for number in quantity.numbers if _alike(quantity, asked)}
    dropped.discard(spelt.start)
    return [spelt if number.start == spelt.start else number for number in found if number.start not in dropped]


def _says_again(text: str, left: _Quantity, right: _Quantity) -> bool:
    same = left.dimension == right.dimension and left.amount == right.amount and left.sizes != right.sizes
    return same and right.start - left.end <= _NEAR


def _worse(text: str, left: _Quantity, right: _Quantity, asked: Measure | None) -> _Quantity:
    if left.is_in(asked) != right.is_in(asked):
        return right if left.is_in(asked) else left
    if len(left.sizes) != len(right.sizes):
        return right if len(left.sizes) < len(right.sizes) else left
    return left if _CALCULATED.search(text, left.end, right.start) else right


def _alike(quantity: _Quantity, asked: Measure | None) -> bool:
    return asked is not None and quantity.dimension == asked[0]


def _in_asked_unit(text: str, quantities: Sequence[_Quantity], asked: Measure | None) -> Number | None:
    """The one amount of a passage as a value in the unit asked for, where it is only spelt out in that unit."""
    alike = [quantity for quantity in quantities if _alike(quantity, asked)]
    spread = next((quantity for quantity in alike if len(quantity.sizes) > 1), None)
    if asked is None or spread is None or asked[1] not in spread.sizes or any(q.is_in(asked) for q in alike):
        return None
    if any(q.amount != spread.amount or _RATE.match(text, q.end) for q in alike):
        return None
    if any(q.numbers[-1].value * q.sizes[-1] >= q.sizes[-2] for q in alike if len(q.sizes) > 1):
        return None  # "5 days, 30 hours" is a list of amounts
    value = spread.amount / asked[1]
    return replace(alike[0].numbers[0], value=value, end=alike[-1].numbers[-1].end, text=canonical(value))


def _quantities(text: str, found: list[Number]) -> list[_Quantity]:
    quantities: list[_Quantity] = []
    for number in found:
        unit, end = _unit_of(text, number)
        if not unit:
            continue
        dimension, size = UNITS[unit]
        last = quantities[-1] if quantities else None
        if (
            last is not None
            and last.dimension == dimension
            and last.sizes[-1] > size
            and _AND.fullmatch(text, last.end, number.start)
        ):
            amount = last.amount + number.value * size
            quantities[-1] = _Quantity((*last.numbers, number), dimension, amount, (*last.sizes, size), end)
            continue
        larger = _one_before(text, number, dimension, size)
        sizes = (size,) if larger is None else (larger, size)
        quantities.append(_Quantity((number,), dimension, number.value * size + (larger or 0), sizes, end))
    return quantities


def _follows_one(text: str, number: Number) -> re.Match[str] | None:
    return _ONE_MORE.search(text[max(0, number.start - 24) : number.start])


def _one_before(text: str, number: Number, dimension: str, size: Fraction) -> Fraction | None:
    """The size of the larger unit of "an hour and 15 minutes", where no digit tells of it."""
    match = _follows_one(text, number)
    unit = UNITS.get(match[1].lower()) if match is not None else None
    return unit[1] if unit is not None and unit[0] == dimension and unit[1] > size else None


def _unit_of(text: str, number: Number) -> tuple[str, int]:
    """The known unit of a value, "" without one, and where value and unit end."""
    match = _UNIT.match(text, number.end)
    if match is not None:
        word = match[1].lower()
        for name in (word, word.removesuffix("s")):
            if name in UNITS:
                return name, match.end()
    return ("dollar", number.end) if number.text.startswith("$") else ("", number.end)
