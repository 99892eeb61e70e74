"""Which of several labelled values a question asks for, judged by shared words.

"Your age is 13, your brother's age is 16" answers "How old am I?" with 13: the label of a value is compared with the
question. Without a question, totals and the second person count as asked.
"""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"[A-Za-z]+")
_STOP = frozenset(
    """a an the is are was were be been being has have had do does did will would can could should of in on at to for
    from by with and or but if then so thus therefore hence that this these those it its as we us our ours s t re ve ll
    d m how much many what which who when where why now after all each every per there here not no yes also based
    information provided given he she they her his their him them hers theirs calculate find determine compute answer
    result final equal equals text approximately about roughly exactly""".split()  # noqa: SIM905 - reads as a list
)
_CONDITION = re.compile(r"\bif\b[^,?.]*", re.IGNORECASE)
_FIRST_PERSON = frozenset({"i", "my", "me", "mine"})
_SECOND_PERSON = frozenset({"you", "your"})
_TOTAL = frozenset({"total", "altogether", "overall", "sum", "combined", "together"})
_PARTIAL = frozenset(
    """first second third previous other brother sister mom mother father friend initial initially
    rest""".split()  # noqa: SIM905 - reads as a list
)
_NUMBERED_PART = re.compile(r"\b(?:month|year|week|day|part|step|group|person|box|trip)\s\d", re.IGNORECASE)
_HOW_MANY = re.compile(
    r"\bhow many (?:more |total |whole |full |extra |additional |new )?([A-Za-z]{3,})(?![^?]*\bhow many\b)",
    re.IGNORECASE,
)
_SAME = {
    "totals": "total",
    "years": "year",
    "old": "age",
    "aged": "age",
    "ages": "age",
    "percentage": "percent",
    "made": "make",
}


def _stem(word: str) -> str:
    word = _SAME.get(word, word)
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def content_words(text: str) -> frozenset[str]:
    """The lower-case stems of the words that carry meaning."""
    return frozenset(
        _stem(w) for w in map(str.lower, _WORD.findall(text)) if w not in _STOP and (len(w) > 1 or w == "i")
    )


def asking(question: str) -> str:
    """What is asked: the last question of a problem, or its last sentence."""
    sentences = [s for s in re.split(r"(?<=[.?!])\s+", question[-4000:].strip()) if s]
    questions = [
        s
        for s in sentences
        if s.endswith("?") or re.match(r"\W*(?:calculate|find|determine|compute)\b", s, re.IGNORECASE)
    ]
    return (questions or sentences or [""])[-1]


@lru_cache(maxsize=4096)
def asked_words(question: str) -> frozenset[str]:
    """The words of what is asked."""
    text = asking(question)
    text = _CONDITION.sub(" ", text)
    words = content_words(text)
    if _FIRST_PERSON & set(_WORD.findall(text.lower())):
        words = words - _FIRST_PERSON | _SECOND_PERSON
    return words if words else _TOTAL | _SECOND_PERSON


@lru_cache(maxsize=4096)
def asked_unit(question: str) -> str:
    """The stem of the thing counted by "how many ...", "" when the question counts nothing."""
    match = _HOW_MANY.search(question[-4000:])
    return _stem(match[1].lower()) if match is not None else ""


def relevance(label: str, question: str) -> int:
    """How well a label fits the question: shared words count three, foreign words cost one, other parts three.

    0 without a shared word.
    """
    asked = asked_words(question)
    words = content_words(label)
    shared = len(words & asked)
    bonus = 1 if words & _TOTAL else 0
    if not shared and not bonus:
        return 0
    foreign = words - asked - _TOTAL
    parts = len(foreign & _PARTIAL) + 2 * len(_NUMBERED_PART.findall(label))
    return max(1, 3 * shared + bonus - len(foreign) - 3 * parts)
