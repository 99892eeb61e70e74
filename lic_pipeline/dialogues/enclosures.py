"""Quotations and brackets of a line of prose: where they open and close. No sentence is counted here."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter

_SIGNS = re.compile(r"[\"'“”„«»‘’()\[\]「」]")
_CLOSERS = {"”": "“", "»": "«", ")": "(", "]": "[", "」": "「"}
_MARKS = ".!?,…"
_BEFORE_OPENING = frozenset(" ([{—–*_/")


class Enclosures:
    """The outermost pairs of a line, found in one pass; a sign without its partner encloses nothing."""

    def __init__(self, text: str) -> None:
        self._pairs = _outermost(_paired(text))
        self._opens = [opening for opening, _ in self._pairs]

    def around(self, place: int) -> tuple[int, int] | None:
        """The pair that encloses a place, None when there is none."""
        found = bisect_right(self._opens, place) - 1
        return self._pairs[found] if found >= 0 and self._pairs[found][1] >= place else None


def _paired(text: str) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    waiting: list[tuple[str, int]] = []
    count: Counter[str] = Counter()
    for sign in _SIGNS.finditer(text):
        kind, opens = _read(text, sign.start(), count)
        if opens:
            waiting.append((kind, sign.start()))
            count[kind] += 1
        elif kind and count[kind]:
            while True:  # signs opened after it were never closed
                name, opening = waiting.pop()
                count[name] -= 1
                if name == kind:
                    break
            pairs.append((opening, sign.start()))
    return pairs


def _read(text: str, place: int, count: Counter[str]) -> tuple[str, bool]:
    """The kind of a sign (its opening form; "" = an apostrophe, an inch, a smiley), and whether it opens."""
    sign, before, after = text[place], text[place - 1 : place], text[place + 1 : place + 2]
    free = not before or before in _BEFORE_OPENING
    if sign in "“«([「„":
        if sign == "“" and count["„"]:
            return "„", False
        return ("" if before == ":" and not after.isalnum() else sign), before != ":" or after.isalnum()
    if sign in _CLOSERS:
        return _CLOSERS[sign], False
    if sign == '"':
        return sign, free and not after.isspace() and bool(after)
    if sign == "‘":
        return sign, True
    if sign == "’":
        return ("" if after.isalnum() else "‘"), False
    if free:
        return (sign, True) if after.isalnum() else ("", False)
    return ("'" if before in _MARKS and not after.isalnum() else ""), False


def _outermost(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    kept: list[tuple[int, int]] = []
    for pair in sorted(pairs):
        if not kept or pair[0] > kept[-1][1]:
            kept.append(pair)
    return kept
