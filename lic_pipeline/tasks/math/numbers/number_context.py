"""What stands around a number and makes it no value: the basis of a rate, a formula, a list mark, a cited year."""

from __future__ import annotations

import re

_BASIS_BEFORE = re.compile(r"(?:\b(?:per|every|each)\s|[A-Za-z]\s?/\s?)$", re.IGNORECASE)
_DENIED_BEFORE = re.compile(r"\b(?:(?:is|was|are|were)\s?not|(?:is|was|are|were)n't)\s$", re.IGNORECASE)
_VARIABLE_BEFORE = re.compile(r"(?<![A-Za-z\\])[A-Za-wyzB-Z]\)?\s?[-+]\s?$")
_VARIABLE_AFTER = re.compile(r"\s?[-+]\s?\d{0,3}[A-Za-z](?![A-Za-z])")
_LIST_NUMBER = re.compile(r"\n[ \t>#*]*\(?$")
_CITED_YEAR = re.compile(r"\([A-Z][^()\n]{0,60}?,?\s?$|\[[^\]\n]{0,40}$")


def is_no_value(match: re.Match[str], before: str, text: str) -> bool:
    """True for a number token that is no value: the basis of a rate, part of a formula, a list mark, a cited year."""
    near = before[-10:]
    if near.rstrip()[-1:] in "ryhRYH/+-" and (_BASIS_BEFORE.search(near) or _VARIABLE_BEFORE.search(near)):
        return True
    if text[match.end() : match.end() + 2].lstrip()[:1] in "+-" and _VARIABLE_AFTER.match(text, match.end()):
        return True
    if before.endswith(("not ", "n't ")) and _DENIED_BEFORE.search(before):
        return True
    following = text[match.end() : match.end() + 2]
    bare = match["currency"] is None and match.end() - match.start() <= 3
    if bare and following[:1] in {".", ")"} and following[1:2] in {" ", "\n", ""} and _opens_line(text, match.start()):
        # "3. Add the totals" numbers a step; "3." alone on its line is an answer.
        return following[1:2] == " " and bool(text[match.end() + 1 : match.end() + 80].strip())
    return bool(match.end() - match.start() == 4 and following[:1] in {")", "]"} and _CITED_YEAR.search(before))


def _opens_line(text: str, place: int) -> bool:
    """True when nothing but list and quote marks stands between the start of the line and a place."""
    begin = max(0, place - 12)
    return _LIST_NUMBER.search(("\n" if begin == 0 else "") + text[begin:place]) is not None
