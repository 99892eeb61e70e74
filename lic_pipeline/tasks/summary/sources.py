"""Lines of a summary that only name documents: the sources of the bullet above, or a list of all at the end.

A line names sources when nothing is left of it but words like "Sources used:" once its citations are taken out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from lic_pipeline.tasks.summary.citations import LABELS, cited, without_mentions

_WORD_LIST = """
citation citations cited cite cites bibliography footnote footnotes evidence support supported supporting based found
mentioned reported used consulted listed list key main primary relevant works
a all also and are by following for from here in is of on only per see the these this to via
"""
_WORDS = LABELS | frozenset(_WORD_LIST.split())
_WORD = re.compile(r"[^\W_]+")
_DEFINITION = re.compile(r"\[\^?\d{1,4}\]:\s")
_HEADING = re.compile(r"#{1,6}\s")


def names_sources(line: str) -> bool:
    """True for a line with citations, or with a word for them, and nothing else."""
    words = [word.casefold() for word in _WORD.findall(without_mentions(line))]
    return len(words) <= 8 and all(word in _WORDS for word in words) and bool(words or cited(line))


def labelled(line: str) -> bool:
    """True when a line names sources by a word, too."""
    return _WORD.search(without_mentions(line)) is not None


def without_final_list(lines: Iterable[str]) -> Iterator[str]:
    """The lines but for lists of references and definitions of footnotes, which repeat what bullets cite.

    A heading opens such a list once something is cited, unless it stands right under a bullet that cites nothing.
    """
    listed = anything = above = False
    blank = True
    for line in lines:
        text = line.strip()
        cites = bool(cited(text))
        if text and not cites and names_sources(text) and not line[:1].isspace() and anything and (blank or above):
            listed = True
        elif listed and _HEADING.match(text):
            listed = False
        if not listed and not _DEFINITION.match(text):
            yield line
        anything, above, blank = anything or cites, cites, not text
