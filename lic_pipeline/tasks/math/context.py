"""What stands around a number: tokens that are no values (rates, list marks, cited years) and weak ones.

A weak value (a duration, a comparison, a label) answers a question only when nothing better stands beside it.
"""

from __future__ import annotations

import re

_UNITS_OF_TIME = (
    r"(?:years?|yrs?|months?|weeks?|days?|hours?|hrs?|minutes?|mins?|seconds?|decades?|quarters?|semesters?|seasons?)\b"
)
_DURATION_AFTER = re.compile(rf"[\s-]*(?:\w+\s)?{_UNITS_OF_TIME}", re.IGNORECASE)
_DURATION_BEFORE = re.compile(
    r"\b(?:over|across|during|throughout|for|in|within|after|every|of|the|next|last|past|first|these|those|all)"
    r"(?:\s(?:the|a|all|next|last|past|first|these|those|about|every)){0,2}\s$",
    re.IGNORECASE,
)
_BASIS_BEFORE = re.compile(r"(?:\b(?:per|every|each)\s|[A-Za-z]\s?/\s?)$", re.IGNORECASE)
_DENIED_BEFORE = re.compile(r"\b(?:(?:is|was|are|were)\s?not|(?:is|was|are|were)n't)\s$", re.IGNORECASE)
_VARIABLE_BEFORE = re.compile(r"(?<![A-Za-z\\])[A-Za-wyzB-Z]\)?\s?[-+]\s?$")
_VARIABLE_AFTER = re.compile(r"\s?[-+]\s?\d{0,3}[A-Za-z](?![A-Za-z])")
_LABELS = frozenset(
    """step steps part parts case cases option options equation equations eq. question questions problem problems
    year years week weeks day days month months chapter chapters figure figures table tables grade grades scenario
    scenarios round rounds line lines section sections stage stages phase phases item items no. number numbers solution
    solutions method methods note notes""".split()  # noqa: SIM905 - reads as a list
)
_LABEL_BEFORE = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(_LABELS)))})\s[#(]?$", re.IGNORECASE)
_TELLING = _LABELS | frozenset(
    """of than from given with to not since until before by over across during throughout for in within after every the
    a an all about next last past first these those her his their its total""".split()  # noqa: SIM905
)
_WEAK_BEFORE = re.compile(
    r"(?:\b(?:out of|instead of|rather than|than|from|compared to|given|with|as opposed to|not|since|until|before)"
    r"(?:\s(?:the|a|all|an|about))?|\d%?\s(?:\w+\s)?of(?:\s(?:the|all|those|these|her|his|their|its|total|a))*)\s$",
    re.IGNORECASE,
)
_SPREAD_BEFORE = re.compile(r"\b(?:over|across|during|throughout|for all)\s(?:the\s|all\s)?$", re.IGNORECASE)
_RATE_AFTER = re.compile(
    r"\s?(?:[A-Za-z]+\s){0,2}?(?:per|each|every)\s[a-z]|\s?[A-Za-z]+\s?/\s?[a-z]|\s?/\s?[a-z]{2,}"
    r"|\s(?:[a-z]+\s)?each\b|\stimes\s(?:as|more|less|the|larger|greater|bigger|that)\b"
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_YEAR_BEFORE = re.compile(r"\b(?:in|by|since|until|before|after|during)\s$", re.IGNORECASE)
_YEAR_AFTER = re.compile(r"\s*(?:[.,;:!?)\n]|$|(?:and|but|when|while|because|is|was|will|would)\b)")
_PART_AFTER = re.compile(r"\s(?:of|the)\s")
_LIST_NUMBER = re.compile(r"\n[ \t>#*]*\(?$")
_CITED_YEAR = re.compile(r"\([A-Z][^()\n]{0,60}?,?\s?$|\[[^\]\n]{0,40}$")


def is_no_value(match: re.Match[str], before: str, text: str) -> bool:
    """True for a number token that is no value: the basis of a rate, part of a formula, a list mark, a cited year."""
    last = before.rstrip()[-1:]
    if last in "ryhRYH/+-" and (_BASIS_BEFORE.search(before) or _VARIABLE_BEFORE.search(before)):
        return True
    if _VARIABLE_AFTER.match(text, match.end()):
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


def weakness(match: re.Match[str], before: str, text: str, stop: int) -> int:
    """0 = strong, 1 = a duration or comparison, 2 = a rate, a label, an ordinal, the spread of a total."""
    if match["ordinal"]:
        return 2
    if _RATE_AFTER.match(text, match.end(), stop) or (match["over"] and _PART_AFTER.match(text, match.end(), stop)):
        return 2
    # The word before decides whether any of the slower patterns can match at all.
    word = before.rstrip(" #(").rpartition(" ")[2].rpartition("\n")[2].lower()
    if word not in _TELLING:
        return 0
    if (word in _LABELS and _LABEL_BEFORE.search(before)) or _SPREAD_BEFORE.search(before):
        return 2
    if _WEAK_BEFORE.search(before) or _is_year(match, before, text, stop):
        return 1
    return int(bool(_DURATION_BEFORE.search(before) and _DURATION_AFTER.match(text, match.end(), stop)))


def _is_year(match: re.Match[str], before: str, text: str, stop: int) -> bool:
    """True for "in 2024" with nothing counted behind it."""
    return (
        _YEAR.fullmatch(match.group()) is not None
        and _YEAR_BEFORE.search(before) is not None
        and _YEAR_AFTER.match(text, match.end(), stop) is not None
    )
