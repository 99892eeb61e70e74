"""An instrument for this example, not a language model: it reads the last user message and forgets all others.

It has two skills, both plain rules over the text it is sent; it knows no reference and no benchmark. Given documents it
lifts the sentences that several of them share, with their numbers; shown a table it strings the highlighted cells
together. It is as good at that in the last turn as in the first, so whatever it loses over several turns is memory.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import Any

BULLETS = 5
_DOCUMENT = re.compile(r"^Document \[(\d+)\]\n(.+?)$", re.MULTILINE)
_TABLE = re.compile(r"<table>.*?</table>", re.DOTALL)
_CELL = re.compile(r'<t[dh] class="highlighted">(.*?)</t[dh]>', re.DOTALL)
_TITLE = re.compile(r"title of the page the table stands on is: (.+)")
_WORD = re.compile(r"[a-z0-9][a-z0-9.:]*[a-z0-9]|[0-9]")
_COMMON = """a an and are as at be but by for from had has have in is it its no not of on or said so than that the their
them they this to was were which will with would"""


async def reply(messages: Sequence[Mapping[str, str]], parameters: Mapping[str, Any] | None = None) -> str:
    """What it answers to the last message alone."""
    last = messages[-1]["content"]
    documents = {int(number): text for number, text in _DOCUMENT.findall(last)}
    if documents:
        return summary(documents)
    tables = [table for table in _TABLE.findall(last) if _CELL.search(table)]
    return caption(tables[-1], _TITLE.search(last)) if tables else "I do not know what you are talking about."


def summary(documents: Mapping[int, str]) -> str:
    """Bullets of the sentences that most documents share; without any, the first sentence of each document."""
    sentences = [
        (number, sentence.strip(), _words(sentence))
        for number, text in documents.items()
        for sentence in re.split(r"(?<=[.!?])\s+", text)
    ]
    found: dict[frozenset[int], tuple[float, str]] = {}
    for number, sentence, words in sentences:
        alike = {other: _likeness(words, theirs) for other, _, theirs in sentences if other != number}
        sharing = frozenset({number, *(other for other, value in alike.items() if value >= 0.5)})
        weight = len(sharing) + max(alike.values(), default=0.0)
        if len(sharing) > 1 and weight > found.get(sharing, (0.0, ""))[0]:
            found[sharing] = weight, sentence
    best = sorted(found.items(), key=lambda one: -one[1][0])[:BULLETS]
    if not best:
        firsts = {number: sentence for number, sentence, _ in reversed(sentences)}
        best = [(frozenset({number}), (0.0, firsts[number])) for number in sorted(firsts)[:BULLETS]]
    return "\n".join(f"- {text} {''.join(f'[{n}]' for n in sorted(sharing))}" for sharing, (_, text) in best)


def caption(table: str, title: re.Match[str] | None) -> str:
    """The highlighted cells in a row, after the title of the page where the message gives it."""
    cells = [html.unescape(cell).strip() for cell in _CELL.findall(table)]
    start = f"{title.group(1).strip()}: " if title else ""
    return start + ", ".join(cell for cell in cells if cell) + "."


def _words(sentence: str) -> frozenset[str]:
    return frozenset(_WORD.findall(sentence.lower())) - frozenset(_COMMON.split())


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Shared words as a share of the shorter sentence's (of three words at least)."""
    return len(one & other) / max(3, min(len(one), len(other)))
