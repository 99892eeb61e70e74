"""Citations as models write them, put into the plain forms that ``citations`` reads.

``\\[1\\]``, ``[cite: 1, 2]``, ``[doc_1]``, ``<sup>1</sup>``, "Documents: 1, 2" or "Sources: 1, 2" at the end of
a line, ranges over several brackets or in words (``[4] to [6]``, "Documents 4 through 6"). For the robust policy only.
Linear in the length of the text.
"""

from __future__ import annotations

import re

from lic_pipeline.tasks.summary.citations import cited

_LABEL = (
    r"(?:(?:source\s|supporting\s|relevant\s)?documents?|docs?\.?|articles?|sources?|references?|refs?\.?|citations?)"
)
_COUNT = r"(?:\s?(?:ids?|numbers?|nos?\.?)(?=[\s:#]))"
_NUMBER = rf"(?:{_LABEL}[ _-]?)?#?\d{{1,4}}"
_REACH = r"\s{0,2}(?:-|–|—|…|\.{2,3}|\bto\b|\bthrough\b|\bthru\b)\s{0,2}"
_AND = r"\s{0,2}(?:,\s?and\b|,|;|&|\band\b)\s{0,2}"
_END = r"(?!\w|\.\d|\s?(?:%|percent\b))"

_ESCAPED = re.compile(r"\\(?=[\[\]()])")
_BRACKETS = str.maketrans("［］（）⟦⟧〔〕", "[]()[][]")
_PLURAL = re.compile(r"(?<=[a-z])\(s\)(?=:?\s?[#\d\[])", re.IGNORECASE)
_START_MARK = re.compile(r"\[cite_start\]\s?", re.IGNORECASE)
_RAISED = re.compile(r"<sup>\s?\[?([\d,; –-]{1,60})\]?\s?</sup>", re.IGNORECASE)
_BRACKETED = re.compile(r"\[[^\[\]\n]{1,400}\]|\([^()\n]{1,400}\)")
_CITING = re.compile(r"\bcit(?:e[sd]?|ing|ations?)\b(?:\s(?:in|by|from)\b)?[.:]?", re.IGNORECASE)
_JOINED = re.compile(r"(?<=[a-z])[_-](?=\d)", re.IGNORECASE)
_THROUGH = re.compile(r"(?<=\d)\s{0,2}(?:\bthrough\b|\bthru\b|…|\.{2,3})\s{0,2}(?=\d)", re.IGNORECASE)
_LETTER = re.compile(r"\bD(?=\d)")
_PLACE_IN_DOCUMENT = re.compile(r"【(\d{1,4})†[^【】\n]{0,60}】")
_APART = re.compile(rf"\[\s?({_NUMBER})\s?\]{_REACH}\[\s?({_NUMBER})\s?\]", re.IGNORECASE)
_PROSE = re.compile(
    rf"\b(?:documents?|docs?\.?){_COUNT}?\s{{0,2}}#?\d{{1,4}}(?:(?:{_AND}|{_REACH}){_NUMBER}){{0,60}}{_END}",
    re.IGNORECASE,
)
_PROSE_COUNT = re.compile(_COUNT, re.IGNORECASE)
_PROSE_REACH = re.compile(rf"(?<=\d){_REACH}(?:{_LABEL}[ _-]?)?(?=#?\d)", re.IGNORECASE)
_MARKS = r"[*_]{0,3}"
_BEFORE = r"(?:^[ \t>]{0,20}|(?<=[.!?;,:|*_(—–-])|(?<=[.!?;,:|*_(—–-] ))"
_AT_END_OF_LINE = re.compile(
    rf"({_BEFORE}{_MARKS}{_LABEL}{_COUNT}?{_MARKS}:{_MARKS}[ \t]{{0,3}})"
    rf"(#?\d{{1,4}}(?:(?:{_AND}|{_REACH})#?\d{{1,4}}){{0,60}})(?=[.)|*_ \t]{{0,6}}$)",
    re.IGNORECASE | re.MULTILINE,
)


def plain_form(text: str) -> str:
    """The text with such citations in plain forms; all else stays as it is."""
    text = _PLURAL.sub("s", _ESCAPED.sub("", text.translate(_BRACKETS)))
    text = _PLACE_IN_DOCUMENT.sub(r"[\1]", _START_MARK.sub("", text))
    text = _RAISED.sub(r"[\1]", text)
    text = _BRACKETED.sub(_without_words, text)
    text = _APART.sub(r"[\1 to \2]", text)
    text = _PROSE.sub(_with_dashes, text)
    return _AT_END_OF_LINE.sub(r"\1[\2]", text)


def _without_words(match: re.Match[str]) -> str:
    """A bracket with its words for citing made one label; as it is where no citation comes of it."""
    text = _LETTER.sub("source ", match[0]) if match[0][0] == "[" else match[0]
    plain = _THROUGH.sub(" to ", _JOINED.sub(" ", _CITING.sub("source ", text)))
    return plain if plain != match[0] and cited(plain) else match[0]


def _with_dashes(match: re.Match[str]) -> str:
    return _PROSE_REACH.sub("-", _PROSE_COUNT.sub("", match[0]))
