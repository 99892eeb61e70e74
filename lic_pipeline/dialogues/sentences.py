"""Counting sentences, for the rule "at most n sentences". The counting is ours; the paper states none.

Counted: what ends in ``.``, ``!``, ``?`` or an ellipsis before a new sentence, and what ends a paragraph without one;
each list item and table row at least once; a fenced block once. A quotation or bracket with words of its sentence
before or behind it is part of that sentence, whatever marks it holds; one that stands alone counts by its own marks.
An ellipsis, a question or an exclamation mark before a small letter ends nothing ("Really? she asked"). A missing
space ("Done.Next") still ends a sentence.
"""

from __future__ import annotations

import re

from lic_pipeline.dialogues.enclosures import Enclosures
from lic_pipeline.dialogues.full_stops import (
    abbreviates,
    is_opening,
    joins,
    known_shortening,
    next_word,
    starts_sentence,
)
from lic_pipeline.dialogues.reply_blocks import EMOJI, reply_blocks

_WINDOW = 60  # characters looked at on either side of a mark
_WORD = re.compile(r"[^\W_]")
_CLOSING = "\"'”’»)\\]*_」"
_END = re.compile(rf"[.!?…‽。！？]+(?: [!?]+)*[{_CLOSING}]*|[{EMOJI}]+")
_ATTRIBUTION = re.compile(
    r"\s(?:[^\W\d_][\w.'’-]{0,30}\s){1,3}"
    r"(?:said|says|asked|asks|replied|cried|shouted|yelled|whispered|answered|called|added|exclaimed|wondered|muttered)\b"
)
_FULL_WIDTH = frozenset("。！？")


def count_sentences(text: str) -> int:
    """Number of sentences of a reply; 0 for a text without any word."""
    fenced, blocks = reply_blocks(text)
    return fenced + sum(_Block(block).count() for block in blocks)


class _Block:
    """One line of prose, read mark by mark from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._enclosures = Enclosures(text)
        self._embedded: dict[int, bool] = {}
        self._numbered = " 2. " in text
        self._number = 0

    def count(self) -> int:
        """Number of sentences."""
        count, start, position, words = 0, 0, 0, False
        for end in _END.finditer(self._text):
            if self._within(end, words, position):
                words = True
                position = end.end()
                continue
            words = words or _WORD.search(self._text, position, end.start()) is not None
            position = end.end()
            if words and not self._is_numbering(end, start) and self._ends(end, start):
                count, start, words = count + 1, end.end(), False
        return count + (words or _WORD.search(self._text, position) is not None)

    def _within(self, end: re.Match[str], words: bool, position: int) -> bool:
        """True for a mark inside a quotation or bracket that is part of a longer sentence."""
        pair = self._enclosures.around(end.start())
        if pair is None or end.end() > pair[1]:
            return False
        opening, closing = pair
        if opening not in self._embedded:
            before = words or _WORD.search(self._text, position, opening) is not None
            self._embedded[opening] = before or self._goes_on(closing)
        return self._embedded[opening]

    def _goes_on(self, closing: int) -> bool:
        """True when the sentence goes on behind a closing sign."""
        rest = self._text[closing + 1 : closing + 1 + _WINDOW]
        finished = self._text[closing - 1] in ".!?…*_"
        return bool(rest.strip()) and (
            not finished or next_word(rest)[:1].islower() or rest[0] in ",;:" or self._attributed(closing + 1)
        )

    def _attributed(self, place: int) -> bool:
        rest = self._text[place : place + 2 * _WINDOW]
        word = next_word(rest)
        return _ATTRIBUTION.match(rest) is not None and (word == "I" or not starts_sentence(word))

    def _is_numbering(self, end: re.Match[str], start: int) -> bool:
        """True for "1." and so on in a line, which numbers what comes and ends nothing."""
        before = self._text[max(start, end.start() - _WINDOW) : end.start()].split()[-2:]
        if end[0] != "." or not before or not before[-1].isdecimal() or len(before[-1]) > 2:
            return False
        first = len(before) == 1 or before[0][-1] in ":;,"
        if first and int(before[-1]) == self._number + 1 and (self._number or self._numbered):
            self._number += 1
            return True
        return False

    def _ends(self, end: re.Match[str], start: int) -> bool:
        mark, rest = end[0], self._text[end.end() : end.end() + _WINDOW]
        if not rest.strip():
            return True
        if _FULL_WIDTH & set(mark):
            return True
        spaced, word = rest[0] == " ", next_word(rest)
        if mark[0] not in ".!?…‽":  # an emoji
            return spaced and starts_sentence(word)
        if rest[0] in ",;:":
            return False
        if mark[0] != "." or mark.startswith(".."):
            quoted = mark[-1] in "\"'”’»"
            return (
                not word[:1].islower()
                and (spaced or word[:1].isupper())
                and not (quoted and self._attributed(end.end()))
            )
        before = self._text[max(0, end.start() - _WINDOW) : end.start()]
        if len(mark.rstrip("*_")) > 1:
            shortened = mark[-1] in ")]" and known_shortening(before)
            return not word[:1].islower() and (spaced or word[:1].isupper()) and not shortened
        if not spaced:
            return not joins(before, rest)
        asked = self._text[max(0, start - 1) : start] == "?"  # an answer may be as short as "At 9 a.m."
        opening = not asked and end.start() - start < _WINDOW and is_opening(self._text[start : end.start()])
        return not abbreviates(before, rest, opening)
