"""Normal forms of a booking's slots: date, time, number of people. None = not a single clear value.

Dates: ISO, MM/DD with or without year (DD/MM only where the first number exceeds 12), month names, ordinals, and
``today``/``tomorrow`` where a reference date is given. Times: 12 and 24 hours, words, noon and midnight. Ranges,
alternatives and booleans are no value.
"""

from __future__ import annotations

import re
from datetime import date, timedelta

from lic_pipeline.records import Json

_MONTH_LIST = "january february march april may june july august september october november december"
_MONTHS = {name: number for number, name in enumerate(_MONTH_LIST.split(), start=1)}
_SHORT = {name[:3]: number for name, number in _MONTHS.items()} | {"sept": 9}
_UNIT_LIST = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_UNITS = {word: number for number, word in enumerate(_UNIT_LIST.split())}
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50}
_ORDINAL_LIST = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth twentieth"
)
_ORDINALS = {word: number for number, word in enumerate(_ORDINAL_LIST.split(), start=1)} | {"thirtieth": 30}
_WEEKDAY = re.compile(r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:mon|tue|wed|thu|fri|sat|sun)\b\.?", re.I)
_ISO = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[T ].*)?")
_SLASHED = re.compile(r"(\d{1,2})[-/.](\d{1,2})(?:[-/.](\d{4}|\d{2}))?")
_CLOCK = re.compile(r"(\d{1,2})(?:[:.h](\d{2})(?::\d{2})?)?\s*(?:o'?clock)?\s*(am|pm)?")
_PARTS = {"in the morning": "am", "in the afternoon": "pm", "in the evening": "pm", "at night": "pm", "tonight": "pm"}

DateParts = tuple[int | None, int, int]


def normal_date(value: Json, reference: date | None = None) -> DateParts | None:
    """(year or None, month, day) of one date, None for anything else."""
    if not isinstance(value, str):
        return None
    text = _WEEKDAY.sub(" ", value.casefold())
    text = " ".join(re.sub(r"[,]|\bthe\b|\bof\b|\bon\b", " ", text).split()).strip(" .")
    if reference is not None and text in {"today", "tonight", "tomorrow"}:
        named = reference + timedelta(days=text == "tomorrow")
        return named.year, named.month, named.day
    if match := _ISO.fullmatch(text):
        return _valid(int(match[1]), int(match[2]), int(match[3]))
    if match := _SLASHED.fullmatch(text):
        first, second = int(match[1]), int(match[2])
        month, day = (second, first) if first > 12 else (first, second)
        return _valid(_year(match[3]), month, day)
    return _worded_date(text)


def _worded_date(text: str) -> DateParts | None:
    months: list[int] = []
    days: list[int] = []
    years: list[int] = []
    for token in re.sub(r"(?<=[a-z])-(?=[a-z])", " ", text).split():
        word = token.strip(".")
        if word in _MONTHS or word in _SHORT:
            months.append(_MONTHS.get(word) or _SHORT[word])
        elif match := re.fullmatch(r"(\d{1,2})(?:st|nd|rd|th)?", word):
            days.append(int(match[1]))
        elif re.fullmatch(r"\d{4}", word):
            years.append(int(word))
        elif word in _ORDINALS or word in _UNITS:
            small = _ORDINALS.get(word) or _UNITS[word]
            days.append(days.pop() + small if days and days[-1] in {20, 30} and small < 10 else small)
        elif word in _TENS:
            days.append(_TENS[word])
        else:
            return None
    if len(months) != 1 or len(days) != 1 or len(years) > 1:
        return None
    return _valid(years[0] if years else None, months[0], days[0])


def _year(text: str | None) -> int | None:
    return None if text is None else int(text) + (2000 if len(text) == 2 else 0)


def _valid(year: int | None, month: int, day: int) -> DateParts | None:
    try:
        date(2000 if year is None else year, month, day)
    except ValueError:
        return None
    return year, month, day


def same_date(one: DateParts, other: DateParts, reference: date | None = None) -> bool:
    """Equal month and day, and year; a missing year is that of ``reference``, or fits any year without one."""
    years = {part[0] if part[0] is not None else reference and reference.year for part in (one, other)} - {None}
    return one[1:] == other[1:] and len(years) <= 1


def normal_time(value: Json) -> int | None:
    """Minutes after midnight of one time of day, None for anything else. Without am or pm: 24 hours."""
    if not isinstance(value, str):
        return None
    text = " ".join(value.casefold().replace("’", "'").split()).strip(" .").removeprefix("at ")
    half = ""
    for phrase, meaning in _PARTS.items():
        if text.endswith(phrase):
            text, half = text.removesuffix(phrase).strip(" ,"), meaning
    text = re.sub(r"\b([ap])\.?\s?m\b\.?", r"\1m", text)
    if text in {"noon", "12 noon", "midday", "12:00 noon"}:
        return 12 * 60
    if text in {"midnight", "12 midnight"}:
        return 0
    if match := re.fullmatch(r"([01]\d|2[0-3])([0-5]\d)(?: ?(?:h|hrs|hours))?", text):
        return None if half else int(match[1]) * 60 + int(match[2])
    match = _CLOCK.fullmatch(_digits(text))
    if match is None or (match[3] and half and match[3] != half):
        return None
    return _minutes(int(match[1]), int(match[2] or 0), match[3] or half)


def _minutes(hour: int, minute: int, half: str) -> int | None:
    if minute > 59 or hour > 23 or (half == "am" and hour > 12):
        return None
    if half and hour <= 12:
        hour = hour % 12 + (12 if half == "pm" else 0)
    return hour * 60 + minute


def _digits(text: str) -> str:
    """``half past seven pm`` as ``7:30 pm``, ``seven thirty`` as ``7:30``."""
    ending = re.search(r"\s*(?:o'?clock)?\s*(am|pm)?$", text)
    tail = f" {ending[1]}" if ending and ending[1] else ""
    body = text[: ending.start()] if ending else text
    if match := re.fullmatch(r"(half|a? ?quarter|[\w ]+?)(?: minutes?)? (past|after|to|before) ([\w]+)", body):
        minutes = {"half": 30, "quarter": 15, "a quarter": 15}.get(match[1]) or _number(match[1])
        hour = _number(match[3])
        if minutes is None or hour is None or not 0 < minutes < 60:
            return text
        if match[2] in {"to", "before"}:
            minutes, hour = 60 - minutes, (hour - 1) or 12
        return f"{hour}:{minutes:02d}{tail}"
    words = body.replace("-", " ").split()
    if words and words[0] in _UNITS and len(words) <= 3:
        minutes = _number(" ".join(words[1:]).removeprefix("oh ")) if words[1:] else 0
        return text if minutes is None else f"{_UNITS[words[0]]}:{minutes:02d}{tail}"
    return text


def _number(text: str) -> int | None:
    if text.isdecimal() and len(text) <= 4:
        return int(text)
    words = text.replace("-", " ").split()
    match words:
        case [word] if word in _UNITS or word in _TENS:
            return _UNITS.get(word, _TENS.get(word))
        case [tens, unit] if tens in _TENS and 0 < _UNITS.get(unit, 0) < 10:
            return _TENS[tens] + _UNITS[unit]
        case _:
            return None


def normal_people(value: Json) -> int | None:
    """Number of people as a number, a word, or one number with words around ("party of 4"). True is no number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return int(value) if float(value).is_integer() and value > 0 else None
    if not isinstance(value, str):
        return None
    text = value.casefold().strip()
    if re.search(r"\d\s*(?:-|–|to|or|/|\.\d)\s*\d?", text) or re.search(r"\b(?:or|to)\b", text):
        return None
    found = [int(number) for number in re.findall(r"\d{1,4}", text)]
    words = re.findall(r"[a-z]+", text)
    skip = False
    for place, word in enumerate(words):
        if skip:
            skip = False
        elif word in _TENS and place + 1 < len(words) and 0 < _UNITS.get(words[place + 1], 0) < 10:
            found.append(_TENS[word] + _UNITS[words[place + 1]])
            skip = True
        elif word in _UNITS or word in _TENS:
            found.append(_UNITS.get(word, _TENS.get(word, 0)))
    return found[0] if len(found) == 1 and found[0] > 0 else None
