"""Content words of English text as rough stems, for comparing texts by their words.

Not a dictionary: a suffix table that maps the forms of a word together often enough (*regulations*, *regulatory*).
"""

from __future__ import annotations

import re
from functools import lru_cache

_FUNCTION_WORDS = """
a an the and or but if of in on at to for from by with about into over after before between through during without
within along across behind beyond plus is are was were be been being am do does did doing have has had having will
would can could should may might must shall this that these those it its they them their theirs he she his her him we
us our you your i me my as than then so such not no nor only own same too very just also both each few more most other
some any all how what which who whom when where why there here up down out off again further once while because until
against among per via like including include includes included specific specifically often various etc
"""
_SUFFIX_LIST = """
ization isation ational ations ation ments ment ingly edly ities ity ives ive ies ied ings ing ions ion ers er ors or
als al ness ed es ly s e y
"""
_NUMBER_LIST = "zero one two three four five six seven eight nine ten eleven twelve"
_STOP = frozenset(_FUNCTION_WORDS.split())
_SUFFIXES = tuple(_SUFFIX_LIST.split())
_TO_Y = frozenset({"ies", "ied"})
_SMALL_NUMBERS = {word: str(number) for number, word in enumerate(_NUMBER_LIST.split())}
_WORD = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")
_POSSESSIVE = re.compile(r"['’]s\b")


def content_words(text: str) -> list[str]:
    """Stems and numbers of the text in order, without function words; small number words become digits."""
    lowered = _THOUSANDS.sub("", _POSSESSIVE.sub("", text.casefold()))
    numbered = (_SMALL_NUMBERS.get(word, word) for word in _WORD.findall(lowered))
    return [stem(word) for word in numbered if word not in _STOP]


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A rough stem: one suffix off, a doubled last consonant made single. Numbers and short words stay."""
    if len(word) <= 3 or word[0].isdigit():
        return word
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)] + ("y" if suffix in _TO_Y else "")
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word[-1] in "ey" else word
