"""What a message must carry over word for word: numbers, quoted strings, identifiers. For the user role's fidelity.

Numbers are compared as exact rationals; words (twelve, half, twice), percent forms and digits are equal. Number words
alone prove nothing new ("one thing"), so they count where something must be present, not where something was added.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

_NUMBER = re.compile(
    r"(?<![\w.])-?\$?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?:\s*/\s*(\d+)(?![\d/]))?\s*(%|percent\b)?"
)
_QUOTED = re.compile(r"\"([^\"\n]{1,80})\"|“([^”\n]{1,80})”|`([^`\n]{1,80})`|(?<!\w)'([^'\n]{1,80})'(?!\w)")
_IDENTIFIER = re.compile(r"\b(?:[A-Za-z]+_\w+|[a-z]+[A-Z]\w*|\w+\.\w*[A-Za-z_]\w*(?:\.\w+)*\(|[A-Za-z_]\w*(?=\())")
_WORD = re.compile(r"[a-z]+")
_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS = {
    **{word: Fraction(number) for number, word in enumerate(_UNITS)},
    **{word: Fraction(10 * number) for number, word in enumerate(_TENS, start=2)},
    "half": Fraction(1, 2), "halves": Fraction(1, 2), "third": Fraction(1, 3), "thirds": Fraction(1, 3),
    "quarter": Fraction(1, 4), "quarters": Fraction(1, 4), "fourth": Fraction(1, 4), "fifth": Fraction(1, 5),
    "once": Fraction(1), "single": Fraction(1), "twice": Fraction(2), "double": Fraction(2), "doubled": Fraction(2),
    "thrice": Fraction(3), "triple": Fraction(3), "dozen": Fraction(12),
    "hundred": Fraction(100), "thousand": Fraction(1000), "million": Fraction(1_000_000),
}  # fmt: skip
_SCALES = {"hundred": 100, "thousand": 1000, "million": 1_000_000}


@dataclass(frozen=True, slots=True)
class Literals:
    """Literals of a text. ``lower`` = the text itself, for names.

    ``spoken`` = values of number words and of their parts; ``meant`` = those that clearly are quantities.
    """

    numbers: frozenset[Fraction]
    spoken: frozenset[Fraction]
    meant: frozenset[Fraction]
    names: frozenset[str]
    lower: str

    def has_number(self, number: Fraction) -> bool:
        """True when the number occurs as digits or words, as itself or as a percentage of it."""
        forms = _forms(number)
        said_so = not (forms.isdisjoint(self.numbers) and forms.isdisjoint(self.spoken))
        return said_so or bool(self.spoken and self._as_product(number))

    def has_name(self, name: str) -> bool:
        """True when the name occurs, whatever its quotes and case."""
        return name in self.lower

    def _as_product(self, number: Fraction) -> bool:
        """3/4 said as "three quarters", 2,000 as "2 thousand"."""
        return any(a * b == number for a in self.numbers | self.spoken for b in self.spoken)


@lru_cache(maxsize=4096)
def _forms(number: Fraction) -> frozenset[Fraction]:
    return frozenset({number, number / 100, number * 100})


@lru_cache(maxsize=4096)
def literals(text: str) -> Literals:
    """The literals of a text; shards and earlier turns are asked about again and again."""
    plain = text.replace("−", "-").replace("’", "'")
    numbers = set()
    for found in _NUMBER.finditer(plain):
        value = Fraction(found.group(1).replace(",", ""))
        if found.group(2) and int(found.group(2)):
            value /= int(found.group(2))
        numbers.add(value)
    names = {_name(next(group for group in found.groups() if group)) for found in _QUOTED.finditer(plain)}
    names |= {found.group(0).rstrip("(").lower() for found in _IDENTIFIER.finditer(plain)}
    quoted_numbers = {name for name in names if re.fullmatch(r"[\d.,%$ ]+", name)}
    lower = " ".join(plain.lower().split())
    spoken, wholes = _spoken(lower)
    meant = wholes - {Fraction(0), Fraction(1)}
    names -= quoted_numbers | {""}
    return Literals(frozenset(numbers), frozenset(spoken), frozenset(meant), frozenset(names), lower)


def _name(text: str) -> str:
    return " ".join(text.lower().split()).strip(" .,;:!?")


def _spoken(lower: str) -> tuple[set[Fraction], set[Fraction]]:
    """Values of number words, parts of compounds included, and the values of whole numbers ("twenty-five" = 25)."""
    parts: set[Fraction] = set()
    wholes: list[Fraction] = []
    previous: Fraction | None = None
    for word in _WORD.findall(lower):
        value = _WORDS.get(word)
        if value is not None:
            parts.add(value)
            combined = None
            if previous is not None and previous in _TEN_VALUES and 0 < value < 10 and value.denominator == 1:
                combined = previous + value
            elif previous is not None and word in _SCALES:
                combined = previous * _SCALES[word]
            if combined is None:
                wholes.append(value)
            else:
                wholes[-1] = value = combined
                parts.add(combined)
        previous = value
    return parts, set(wholes)


_TEN_VALUES = frozenset(Fraction(10 * number) for number in range(2, 10))
