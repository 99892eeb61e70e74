"""Numbers in running text: the grammar of values, as exact rationals.

``normalise`` brings typography and LaTeX into one plain form, ``without_bold`` takes marks of bold off; ``numbers``
finds the values of a normalised text. Which value answers a question is decided in ``extract.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from lic_pipeline.tasks.math.numbers.number_context import is_no_value

_TYPOGRAPHY = str.maketrans(
    {
        "\u2212": "-", "\ufe63": "-", "\uff0d": "-", "\u2010": "-", "\u2011": "-", "\u2013": "-",
        "\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2007": " ", "\u2006": " ", "\u2005": " ", "\u3000": " ",
        "\u200b": "", "\u2060": "", "\ufeff": "", "\u200e": "", "\u200f": "",
        "\u2044": "/", "\u2215": "/", "\u2019": "'", "\u2018": "'", "\u00d7": "*", "\u22c5": "*", "\u00b7": "*",
        "\u2248": "≈", "\uff0c": ",", "\uff0e": ".", "\uff05": "%", "\u066a": "%", "\uff1a": ":", "\uff1d": "=",
        **{chr(0xFF10 + digit): str(digit) for digit in range(10)},
    }
)  # fmt: skip
_VULGAR = {
    "½": " 1/2", "⅓": " 1/3", "⅔": " 2/3", "¼": " 1/4", "¾": " 3/4", "⅕": " 1/5", "⅖": " 2/5", "⅗": " 3/5",
    "⅘": " 4/5", "⅙": " 1/6", "⅚": " 5/6", "⅛": " 1/8", "⅜": " 3/8", "⅝": " 5/8", "⅞": " 7/8", "⅐": " 1/7",
    "⅑": " 1/9", "⅒": " 1/10",
}  # fmt: skip
_VULGAR_FRACTION = re.compile(rf"(?:(?<=\d)[ -])?([{''.join(_VULGAR)}])")
_PART = r"\s*(-?[\d,.]{1,40})\s*"
_SEPARATOR = re.compile(r"[{\\,~](?<=\d.)(?:(?<=\{)\\?,\}|(?<=\\)[,!;: ]|(?<=,)\\!|(?<=~))\s?(?=\d{3}(?!\d))")
_FRACTION = re.compile(rf"\\[dtc]?frac\s*(?:\{{{_PART}\}}\s*\{{{_PART}\}}|(\d)(\d)(?!\d))")
_LATEX_FONT = re.compile(r"\\(?:text|math)?(?:bf|rm|it)?(?:(?<=text)|(?<=bf)|(?<=rm)|(?<=it))\s?\{([^{}]{0,200})\}")
_BRACED = re.compile(r"(?<=\d)\{(-?\d{1,9}/\d{1,9})\}")
_LATEX_SIGN = re.compile(
    r"\\(?:(?:(times|cdot|ast)|(approx|simeq)|left|right|displaystyle|q?quad|large|Large|[,;:! ])(?![A-Za-z])"
    r"|[()\[\]]|([$%#&]))|(?<=\d)~(?=\d)"
)
_PLAIN_FORM = {chr(code): str(plain) for code, plain in _TYPOGRAPHY.items()}
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_SUPERSCRIPT = re.compile(r"(?<!\d)10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3})")
_CENTS = re.compile(r"(\d[\d,]*) (dollars?|euros?|pounds?) and (\d{1,2}) (?:cents?|pence)\b")
_AND_OVER = re.compile(r" and \d{1,3}/")
_WITH_AND = re.compile(r"(?<![/\d.,])(\d{1,6}) and (\d{1,3})/(\d{1,3})(?![\d/])")
_ZERO = re.compile(r"\bzero\b(?![-\s]{0,2}(?:dollars? and|point))")
_AND_A = {"half": "1/2", "quarter": "1/4", "third": "1/3"}
_AND_A_PART = re.compile(r"(?<![\d.,/])(\d{1,6})[ -]and a[ -](half|quarter|third)\b", re.IGNORECASE)
_WITH_HYPHEN = re.compile(r"(?<![\d/.,)%-])(\d{1,3})-(\d{1,2})/(\d{1,2})(?![\d/]|\s?[=+*/^)-])")
_POWER_OF_TWO_STARS = re.compile(r"\*\*(?<=\d\*\*)\d")
_UNIT_POWER = re.compile(r"\s?\^(?:(?<=[A-Za-z)}]\^)|(?<=[A-Za-z)}]\s\^))\s?\{?-?\d{1,3}\}?")

_GROUPED = (
    r"\d{1,3}(?:\.\d{3})+,\d{1,2}(?!\d)"  # 1.234,56
    r"|(?:\d{1,3}(?:,\d{3})+|\d{1,2}(?:,\d{2})+,\d{3}|[1-9]\d{0,2}(?:\ \d{3})+|\d{1,3}(?:'\d{3})+|\d{1,3}(?:_\d{3})+)"
    r"(?![\d])(?:\.\d+)?"
    r"|\d+,\d{1,2}(?![\d,])"  # 12,5
)
_NUMBER = re.compile(
    rf"""
    (?<![A-Za-z0-9^])(?<!\d[.:])(?<![A-Za-z0-9]_)(?<!\^[{{-])
    (?P<sign>(?<![)\]}}%])(?:(?<![0-9)%]\ )-|(?<==)-\ |(?<==\ )-\ |\b[Nn]egative\ ))?
    (?P<currency>(?:[$€£¥₹₱]|US\$|USD\ ?|EUR\ ?|GBP\ ?|Rs\.?\ ?)\ ?)?
    (?P<inner>-)?
    (?P<body>\d+(?!\d|[.,'_ ]\d)|{_GROUPED}|\d+(?:\.\d+)?|\.\d+)
    (?:
        (?P<clock>:\d\d(?:\s?[AaPp]\.?[Mm]\b)?)
      | (?P<ratio>:\d+)
      | (?P<date>/\d+/\d+)
      | (?P<mixed>[ ]\d{{1,6}}/\d{{1,6}})(?![\d/])
      | (?P<over>\s?/\s?\d[\d,]*(?:\.\d+)?)(?![\d/]|\s?[*x]\s?\d)
      | (?P<ordinal>st|nd|rd|th)\b
      | (?:[eE](?P<exp>[+-]?\d{{1,4}})\b|\s?[*x]\s?10\s?\^\s?\{{?(?P<ten>[+-]?\d{{1,4}})\}}?)
      | \s?\^\s?\{{?(?P<power>-?\d{{1,3}})\}}?
      | (?P<short>[kK])\b
      | (?P<large>(?:\s|-)?(?:hundred|thousand|million|billion|trillion)\b|(?<=\d)[MB]\b)
      | (?P<letter>[a-zA-Z]\b(?!\.)|\([a-z]\))
    )?
    (?P<percent>\s?%|\s?percent\b|\s?per\ cent\b)?
    """,
    re.VERBOSE,
)
_DIGITS = re.compile(r"[0-9]+")
_PREFIX = re.compile(
    r"(?:-\s?|[Nn]egative\s)?(?:[$€£¥₹₱]|US\$|USD\s?|EUR\s?|GBP\s?|Rs\.?\s?)\s?-?\.?$|(?:-\s?|[Nn]egative\s)\.?$|\.$"
)
_PREFIX_ENDS = frozenset("-.$€£¥₹₱DRPs \t\n\r\f\v")
_LARGE = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12, "m": 6, "b": 9}
_COEFFICIENTS = frozenset("xXyYnNzZpPtTaAbB")
_LONGEST_BOLD = 240
_MAX_DIGITS = 300
_MAX_EXPONENT = 300


@dataclass(slots=True)
class Number:
    """One value of a text, where it stands and how it is written."""

    value: Fraction
    start: int
    end: int
    text: str
    percent: bool = False
    word: bool = False


def normalise(text: str) -> str:
    """Plain form of a text: ASCII minus, digits and spaces, LaTeX separators and fractions resolved; bold stays."""
    if not text.isascii():
        # Few characters of a text are odd, and of few kinds: one replace each is several times faster than translate.
        odd = set(_NOT_ASCII.findall(text))
        for character in odd:
            if character in _PLAIN_FORM:
                text = text.replace(character, _PLAIN_FORM[character])
        if not odd.isdisjoint(_VULGAR):
            text = _VULGAR_FRACTION.sub(lambda m: _VULGAR[m[1]], text)
        if not odd.isdisjoint("⁻⁰¹²³⁴⁵⁶⁷⁸⁹"):
            text = _SUPERSCRIPT.sub(lambda m: "10^" + m[1].translate(_RAISED), text)
    if "\\" in text or "{,}" in text or "~" in text:
        text = _SEPARATOR.sub(",", text)
    if "\\" in text:
        if "frac" in text:
            text = _BRACED.sub(r" \1", _FRACTION.sub(_with_slash, text))
        text = _LATEX_SIGN.sub(_plain_sign, _LATEX_FONT.sub(r"\1", text))
    if "^" in text:
        text = _UNIT_POWER.sub("", text)
    if " and " in text and ("cent" in text or "pence" in text):
        text = _CENTS.sub(lambda m: f"{m[1]}.{m[3]:0>2} {m[2]}", text)
    if "zero" in text:
        text = _ZERO.sub("0", text)
    if "and a " in text:
        text = _AND_A_PART.sub(lambda m: f"{m[1]} {_AND_A[m[2].lower()]}", text)
    if "/" in text and "-" in text:
        text = _WITH_HYPHEN.sub(lambda m: f"{m[1]} {m[2]}/{m[3]}" if int(m[2]) < int(m[3]) else m[0], text)
    if "/" in text and _AND_OVER.search(text) is not None:
        text = _WITH_AND.sub(lambda m: f"{m[1]} {m[2]}/{m[3]}" if int(m[2]) < int(m[3]) else m[0], text)
    return text


def without_bold(text: str) -> tuple[str, list[tuple[int, int]]]:
    """A normalised text without its marks of bold, and where what was bold stands in it."""
    if "__" in text:
        text = text.replace("__", "**")
    if "**" not in text or _POWER_OF_TWO_STARS.search(text) is not None:
        return text, []
    pieces = text.split("**")
    bold: list[tuple[int, int]] = []
    place = 0
    for number, piece in enumerate(pieces):
        if number % 2 and len(piece) <= _LONGEST_BOLD and number + 1 < len(pieces):
            bold.append((place, place + len(piece)))
        place += len(piece)
    return "".join(pieces), bold


def _with_slash(match: re.Match[str]) -> str:
    top, bottom = (match[1], match[2]) if match[1] is not None else (match[3], match[4])
    return f"{' ' if match.string[match.start() - 1 : match.start()].isdigit() else ''}{top}/{bottom}"


def _plain_sign(match: re.Match[str]) -> str:
    return "*" if match[1] else "≈" if match[2] else match[3] or " "


def numbers(text: str, start: int = 0, end: int | None = None) -> Iterator[Number]:
    """The values of a normalised text between two places, in order. Tokens that are no values are left out."""
    stop = len(text) if end is None else end
    position = start
    while (digit := _DIGITS.search(text, position, stop)) is not None:
        first = digit.start()
        begin = max(position, first - 14)
        prefix = _PREFIX.search(text[begin:first]) if text[first - 1 : first] in _PREFIX_ENDS else None
        match = _NUMBER.match(text, begin + prefix.start(), stop) if prefix is not None else None
        match = match or _NUMBER.match(text, first, stop)
        if match is None:
            position = digit.end()
            continue
        position = match.end()
        value = _value(match)
        if value is None:
            continue
        before = text[max(start, match.start() - 40) : match.start()]
        if is_no_value(match, before, text):
            continue
        yield Number(value, match.start(), match.end(), match.group().strip(), percent=match["percent"] is not None)


def _value(match: re.Match[str]) -> Fraction | None:
    """The exact value of a number token, None for tokens that are no values (dates, ratios, coefficients)."""
    if match["ratio"] or match["date"] or (match["letter"] and match["letter"][-1] in _COEFFICIENTS):
        return None
    value = _plain(match["body"])
    if value is None:
        return None
    scaled = _suffix(match, value)
    if scaled is None:
        return None
    negative = bool(match["sign"])
    return -scaled if negative != bool(match["inner"]) else scaled


@lru_cache(maxsize=16_384)
def _plain(body: str) -> Fraction | None:
    if len(body) > _MAX_DIGITS:
        return None
    if "," in body and (len(body) - body.rfind(",") < 4):
        body = body.replace(".", "").replace(",", ".")
    if not body.isdigit():
        body = body.replace(",", "").replace(" ", "").replace("'", "").replace("_", "")
    whole, _, decimals = body.partition(".")
    if not decimals:
        return Fraction(int(whole))
    return Fraction(int(whole + decimals), 10 ** len(decimals))


def _suffix(match: re.Match[str], value: Fraction) -> Fraction | None:
    """The value with what follows it worked in: fraction bar, exponent, power, magnitude word, clock minutes."""
    if match["mixed"] or match["over"]:
        return _with_bar(match["mixed"] or match["over"], value, mixed=bool(match["mixed"]))
    if match["clock"]:
        return value if match["clock"].startswith(":00") else None
    exponent = match["exp"] or match["ten"]
    if exponent:
        return Fraction(value * Fraction(10) ** int(exponent)) if abs(int(exponent)) <= _MAX_EXPONENT else None
    if match["power"]:
        power = int(match["power"])
        return Fraction(value**power) if abs(power) <= 64 and value and len(match["body"]) <= 9 else None
    if match["short"]:
        return value * 1000
    if match["large"]:
        if len(match["large"]) == 1 and match["currency"] is None:
            return None
        return value * int(10 ** _LARGE[match["large"].strip(" -\n\t").lower()])
    return value


def _with_bar(tail: str, value: Fraction, *, mixed: bool) -> Fraction | None:
    top, _, bottom = tail.rpartition("/")
    divisor = _plain(bottom.strip().rstrip(",") or "0")
    if not divisor:
        return None
    if not mixed:
        return value / divisor
    numerator = Fraction(int(top))
    return value + numerator / divisor if value.denominator == 1 and numerator < divisor else None


def canonical(value: Fraction) -> str:
    """The one spelling of a value: an integer, a terminating decimal, else ``a/b``."""
    if value.denominator == 1:
        return str(value.numerator)
    rest = value.denominator
    twos = fives = 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    if rest != 1 or places > 12:
        return f"{value.numerator}/{value.denominator}"
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"
