"""One quantity written twice in different units: "75 minutes, or 1 hour and 15 minutes".

Only units that convert by a fixed number are known. A quantity may be spread over several values ("1 hour and 15
minutes"), which are then one quantity and no rivals of each other. What a question asks for is in ``asked_measure``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from lic_pipeline.tasks.math.measures import UNITS, asked_measure
from lic_pipeline.tasks.math.values import Number, canonical

_UNIT = re.compile(r"[\s-]{0,2}([A-Za-z]{1,12})\b")
_AND = re.compile(r"\s{0,2},?\s{1,2}(?:and\s{1,2})?")
_ONE_MORE = re.compile(r"\b(?:an?|one)\s([A-Za-z]{3,12})\s(?:and\s)?$", re.IGNORECASE)
_RATE = re.compile(r"\s?/|\s(?:an?|per|each|every)\b", re.IGNORECASE)
_AGAIN = re.compile(
    r"[.]?\s?[,;(]?\s?(?:or|i\.e\.|that is|that's|in other words|or equivalently|equivalently|or simply)[,:]?\s"
    r"(?:exactly\s|simply\s|just\s|about\s)?[$]?\s?$",
    re.IGNORECASE,
)
# Of two single values an equation's last one is its result, unless the other is in the unit asked for; a quantity of
# several values is only spelt out.
_SPELT_OUT = re.compile(
    r"\s?[,(]?\s?(?:(?:=|≈|which\s(?:is|equals)|equals|is)(?:\s(?:equal|equivalent)\sto|\sthe\ssame\sas)?)?\s?[$]?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Quantity:
    """Neighbouring values that are one amount: the dimension, the amount in its smallest unit, the units named."""

    numbers: tuple[Number, ...]
    dimension: str
    amount: Fraction
    sizes: tuple[Fraction, ...]
    end: int

    @property
    def single(self) -> bool:
        """True for one value with one unit."""
        return len(self.sizes) == 1

    @property
    def start(self) -> int:
        """Where its first value stands."""
        return self.numbers[0].start

    def is_in(self, size: Fraction | None) -> bool:
        """True for one value in the unit of that size."""
        return self.single and self.sizes[0] == size


def without_restatements(text: str, found: list[Number], question: str) -> list[Number]:
    """The values without those that say a neighbouring quantity again in another unit.

    Of the two the one in the unit asked for stays, else the one that is a single value, else the first. An amount
    spread over the unit asked for and others ("1 hour and 15 minutes") becomes one value in that unit, unless another
    amount of its kind stands beside it.
    """
    if not found or (len(found) == 1 and not _follows_one(text, found[0])):
        return found
    quantities = _quantities(text, found)
    if not quantities:
        return found
    asked = asked_measure(question)
    dropped: set[int] = set()
    replaced: dict[int, Number] = {}
    for left, right in pairwise(quantities):
        if not _says_again(text, left, right, asked):
            continue
        worse = _worse(left, right, asked)
        dropped |= {number.start for number in worse.numbers}
        if worse is left and right.single and "(" in text[left.end : right.start]:
            # What stays is the value of the sentence, no aside in parentheses.
            replaced[right.start] = replace(right.numbers[0], start=left.start)
    spelt = _in_asked_unit(text, quantities, asked)
    if spelt is not None:
        dropped |= {number.start for quantity in quantities for number in quantity.numbers if _alike(quantity, asked)}
        replaced = {spelt.start: spelt}
        dropped.discard(spelt.start)
    if not dropped and not replaced:
        return found
    return [replaced.get(number.start, number) for number in found if number.start not in dropped]


def _says_again(text: str, left: _Quantity, right: _Quantity, asked: tuple[str, Fraction] | None) -> bool:
    if left.dimension != right.dimension or left.amount != right.amount:
        return False
    if _AGAIN.fullmatch(text, left.end, right.start):
        return True
    size = asked[1] if asked is not None and asked[0] == left.dimension else None
    telling = left.single != right.single or left.is_in(size) != right.is_in(size)
    return telling and _SPELT_OUT.fullmatch(text, left.end, right.start) is not None


def _worse(left: _Quantity, right: _Quantity, asked: tuple[str, Fraction] | None) -> _Quantity:
    if left.single != right.single:
        return right if left.single else left
    size = asked[1] if asked is not None and asked[0] == left.dimension else None
    return left if right.is_in(size) and not left.is_in(size) else right


def _alike(quantity: _Quantity, asked: tuple[str, Fraction] | None) -> bool:
    return asked is not None and quantity.dimension == asked[0]


def _in_asked_unit(text: str, quantities: list[_Quantity], asked: tuple[str, Fraction] | None) -> Number | None:
    """The one amount of a passage as a value in the unit asked for, where it is only spelt out in that unit."""
    alike = [quantity for quantity in quantities if _alike(quantity, asked)]
    spread = next((quantity for quantity in alike if not quantity.single), None)
    if asked is None or spread is None or asked[1] not in spread.sizes or any(q.is_in(asked[1]) for q in alike):
        return None
    if any(q.amount != spread.amount or _RATE.match(text, q.end) for q in alike):
        return None
    if any(not _says_again(text, left, right, asked) for left, right in pairwise(alike)):
        return None
    if any(q.numbers[-1].value * q.sizes[-1] >= q.sizes[-2] for q in alike if not q.single):
        return None  # "5 days, 30 hours" is a list of amounts
    value = spread.amount / asked[1]
    first = alike[0].numbers[0]
    return replace(first, value=value, end=alike[-1].numbers[-1].end, text=canonical(value))


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
