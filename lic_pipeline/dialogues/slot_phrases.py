"""A booking told in a sentence: "a table for four on May 7 at 7:30 pm". Each slot by the phrases that name it.

A range or an alternative is lifted as a whole ("7-8 pm"), so that its normal form says that it is no single value.
"""

from __future__ import annotations

import re

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_ORDINAL = (
    r"(?:(?:twenty|thirty)[-\s])?(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth)"
    r"|tenth|eleventh|twelfth|(?:thir|four|fif|six|seven|eigh|nine)teenth|twentieth|thirtieth"
)
_DAY = rf"(?:\d{{1,2}}(?:st|nd|rd|th)?|{_ORDINAL})\b(?!\s*(?:people|guests?|persons?|[ap]\.?m\b|:\d|/))"
_SECOND_DAY = rf"(?:\s*(?:-|–|to|or|through|until)\s*(?:the\s)?(?:{_MONTH}\s+)?{_DAY})?"
_COUNT = (
    r"(?:\d{1,3}|(?:(?:twenty|thirty|forty|fifty)[-\s]?)?(?:one|two|three|four|five|six|seven|eight|nine)|ten|eleven"
    r"|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|twenty|thirty|forty|fifty)\b"
)
_COUNTS = rf"(?:{_COUNT}\s*(?:-|–|to|or)\s*)?{_COUNT}"
_PERSONS = r"(?:people|persons?|guests?|adults?|diners?|pax|attendees?|individuals?|friends|of\sus)\b"
_HOUR = r"(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_HALF_OF_DAY = r"(?:,?\s(?:in\sthe\s(?:morning|afternoon|evening)|at\snight))"
_AM = r"\s*[ap]\.?\s?m\b\.?"
_CLOCK = rf"\d{{1,2}}(?:[:.]\d\d)?(?:{_AM})?"

_DATES = re.compile(
    rf"\b(?:\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}(?!\d)|\d{{1,2}}/\d{{1,2}}(?:/\d{{2,4}})?(?![\d/])"
    rf"|\d{{1,2}}[-.]\d{{1,2}}[-.]\d{{4}}(?!\d)"
    rf"|{_DAY}\s(?:of\s)?{_MONTH}(?:,?\s\d{{4}}\b)?|{_MONTH}\s(?:the\s)?{_DAY}{_SECOND_DAY}(?:,?\s\d{{4}}\b)?"
    r"|today|tonight|tomorrow)",
    re.IGNORECASE,
)
_TIMES = re.compile(
    rf"\b(?:(?:{_CLOCK}\s*(?:-|–|to|or|and)\s*)?\d{{1,2}}(?:[:.]\d\d)?{_AM}|{_HOUR}(?:\s(?:thirty|fifteen|forty-five))?{_AM}"
    rf"|(?:(?:a\s)?quarter|half|five|ten|twenty|twenty-five)\s(?:past|to|after|before)\s{_HOUR}(?:{_AM}|{_HALF_OF_DAY})?"
    rf"|{_HOUR}\so'?clock(?:{_AM}|{_HALF_OF_DAY})?|(?:\d{{1,2}}:\d\d\s*(?:-|–|to|or)\s*)?\d{{1,2}}:\d\d(?!\d){_HALF_OF_DAY}?"
    rf"|{_HOUR}{_HALF_OF_DAY}|(?:12\s)?(?:noon|midday|midnight))",
    re.IGNORECASE,
)
_BARE_HOUR = re.compile(
    r"\bat\s(\d{1,2})(?=[.,;!)]?(?:\s|$))(?!\s\w+\s(?:street|st|road|avenue|lane)\b)", re.IGNORECASE
)
_PEOPLE = re.compile(
    rf"\b{_COUNTS}\s(?:\w+\s)?{_PERSONS}(?:\s(?:and|plus)\s{_COUNT}\s\w+)?"
    rf"|\b(?:party|group|table|seats?|reservation|booking)\s(?:of|for)\s(?P<named>{_COUNTS})(?!:\d|/|{_AM}|\s(?:hours?|hrs?|nights?|days?|minutes?)\b)"
    rf"|\b(?:people|guests|persons|size)\s?[:=]\s?(?P<labelled>{_COUNTS})"
    rf"|\bfor\s(?P<bare>{_COUNTS})(?=\s*(?:$|[.,;!?)]|(?:on|at|this|tomorrow|today|tonight|next|in\sthe)\b))",
    re.IGNORECASE,
)


def phrases(text: str) -> dict[str, list[str]]:
    """What a text says of date, time and people, each in order of mention and as it is written there."""
    plain = " ".join(text.replace("’", "'").replace("*", "").split())
    times = [match.group() for match in _TIMES.finditer(plain)]
    return {
        "date": [match.group() for match in _DATES.finditer(plain)],
        "time": times or _BARE_HOUR.findall(plain),
        "people": [match[match.lastgroup or 0] for match in _PEOPLE.finditer(plain)],
    }
