"""A reply -> its paragraphs, list items and table rows as plain lines of prose. No sentence is counted here.

Left out: headings, rules, fenced blocks. Code spans, addresses and links lose the marks inside them, citation marks go.
"""

from __future__ import annotations

import re

from lic_pipeline.tasks.fenced_blocks import fenced_blocks, without_fences

EMOJI = "\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
"""Ranges of a character class."""

_HEADING = re.compile(r"#{1,6}\s|(?:\*\*|__)[^*_]*[^*_.!?…](?:\*\*|__):?\s*$")
_ITEM = re.compile(
    rf"(?:[-*+•‣◦▪●–—]|\(?\d{{1,3}}[.)]|\(?[a-zA-Z]\)|\(?[ivx]{{1,5}}\)|\d\u20e3|[{EMOJI}]+|\|)\s+|[•‣◦▪●]|\|"
)
_BREAK = re.compile(r"<(?:br|p|li)\s*/?>", re.IGNORECASE)
_UNSEEN = dict.fromkeys(map(ord, "\u200b\u200d\u2060\ufeff\ufe0f"))
_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\([^()\s]{1,500}(?: [^()\n]{0,200})?\)")
_CITATION = re.compile(r"\[\d{1,3}(?:[,–-] ?\d{1,3}){0,9}\]|(?<=[.!?…])[¹²³⁰⁴-⁹]+")
_OPAQUE = re.compile(
    r"`[^`\n]+`|(?:https?://|www\.)[^\s)\]>]*[^\s)\]>.,;:!?]|(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,60}\.[\w.-]{0,60}\w"
)
_SPACED = re.compile(r"(?<![.\w])\.(?: \.){2,}")


def reply_blocks(text: str) -> tuple[int, list[str]]:
    """Number of fenced blocks, and the other blocks in order, each on one line."""
    prose = _BREAK.sub("\n", without_fences(text)).translate(_UNSEEN)
    return len(fenced_blocks(text)), [_plain(" ".join(lines)) for lines in _blocks(prose)]


def _blocks(text: str) -> list[list[str]]:
    blocks: list[list[str]] = []
    open_block = False
    for raw in text.splitlines():
        line = raw.strip().lstrip(">").strip()
        if not line or _is_rule(line) or _HEADING.match(line):
            if line and set(line) <= set("=-") and open_block and len(blocks[-1]) == 1:
                blocks.pop()  # the line above an underline is a heading
            open_block = False
            continue
        item = _ITEM.match(line)
        if item or not open_block:
            blocks.append([line[item.end() :] if item else line])
        else:
            blocks[-1].append(line)
        open_block = True
    return blocks


def _is_rule(line: str) -> bool:
    """True for a line across the page, and for the one below the head of a table."""
    signs = set(line) - {" ", "\t"}
    return (signs <= set("-*_=") and len(line) - line.count(" ") >= 3) or (signs <= set("|:-") and "--" in line)


def _plain(block: str) -> str:
    """One line with single spaces; what a reader takes for one name is one word."""
    text = _CITATION.sub("", _LINK.sub(r"[\1]", block))
    return _SPACED.sub("…", " ".join(_OPAQUE.sub("Placeholder", text).split()))
