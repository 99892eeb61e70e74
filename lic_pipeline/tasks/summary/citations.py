"""Which documents a piece of text cites: the forms models write, read as numbers.

Read: ``[3]``, ``[3, 5]``, ``[3][5]``, ``[3-5]``, ``[Document 3; Document 5]``, ``[[3]]``, ``[^3]``, ``【3†source】``,
``(Article 3)``, ``(docs 3 and 5)``, and in running prose ``Document 3`` / ``Docs 3 and 5``. Words such as *article* or
*source* count only inside brackets ("Article 5 of the treaty" is no citation), a bare number in round brackets never
does, nor decimals, percentages or signed numbers. Linear in the length of the text, for any text.
"""

from __future__ import annotations

import re

_SQUARE = re.compile(r"[\[【]([^\[\]【】\n]{1,400})[\]】]")
_ROUND = re.compile(r"\(([^()\n]{1,400})\)")
_PROSE = re.compile(
    r"\b(?:documents?|docs?\.?)\s{0,3}#?(\d{1,4}(?:(?:\s{0,3}(?:,|;|&|and|-|–|,\s{0,3}and)\s{0,3})#?\d{1,4}){0,60})"
    r"(?![\w%]|\.\d)",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"\d+(?:\.\d+)*|[^\W\d_]+|[^\s\w]|_")
_LABEL_LIST = """
document documents doc docs article articles source sources reference references ref refs text texts file files no nos
number numbers id ids
"""
LABELS = frozenset(_LABEL_LIST.split())
_JOINERS = frozenset({"and", "to", "see", "also", "e", "g"})
_MARKS = frozenset(",;/&|#^.:†+")
_DASHES = frozenset("-–—")
_LONGEST_RANGE = 200


def cited(text: str) -> tuple[int, ...]:
    """Document numbers cited in the text, each once, in order of first mention."""
    found: list[int] = []
    for match in _SQUARE.finditer(text):
        found += _numbers(match[1], label_needed=False) or ()
    for match in _ROUND.finditer(text):
        found += _numbers(match[1], label_needed=True) or ()
    for match in _PROSE.finditer(text):
        found += _numbers(match[1], label_needed=False) or ()
    return tuple(dict.fromkeys(found))


def without_citations(text: str) -> str:
    """The text without its bracketed citations, spaces tidied; mentions in running prose stay."""
    text = _SQUARE.sub(lambda match: match[0] if _numbers(match[1], label_needed=False) is None else " ", text)
    text = _ROUND.sub(lambda match: match[0] if _numbers(match[1], label_needed=True) is None else " ", text)
    return re.sub(r"\s+([.,;:!?](?:\s|$))", r"\1", " ".join(text.split()))


def without_mentions(text: str) -> str:
    """The text without any of its citations, those in running prose too."""
    return _PROSE.sub(" ", without_citations(text))


def _numbers(inner: str, *, label_needed: bool) -> list[int] | None:
    """The numbers of a list like ``3, 5-7`` or ``Docs 3 and 5``; None when it is anything else."""
    numbers: list[int] = []
    labelled = dashed = False
    for token in _TOKEN.findall(inner):
        word = token.casefold()
        if token.isdecimal() and len(token) <= 4:
            numbers += _reach(numbers, int(token)) if dashed else [int(token)]
            dashed = False
        elif token in _DASHES or word == "to":
            if not numbers:
                return None
            dashed = True
        elif word in LABELS:
            labelled = True
        elif word not in _JOINERS and token not in _MARKS:
            return None
    if not numbers or dashed or (label_needed and not labelled) or "+" in inner:
        return None
    return numbers


def _reach(numbers: list[int], end: int) -> list[int]:
    """What a range adds behind its start; a backward or absurdly long one adds its end only."""
    start = numbers[-1]
    return list(range(start + 1, end + 1)) if start < end <= start + _LONGEST_RANGE else [end]
