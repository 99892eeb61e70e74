"""Stray end marks: what a chat template, a prompt or a wrapper closes a reply with, and what its author did not write.

End tokens (``</s>``, ``<end_of_turn>``, ``[/INST]``), and closing tags without an opening one (``</code>``). A tag that
was opened in the same text is left to whoever reads tags. Everything is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

_MARK = re.compile(r"<(/?)([A-Za-z][\w:.-]{0,40})(?:[\s=][^<>\n]*)?>|\[/[A-Z][A-Z_]{1,20}\]")
_TOKEN = re.compile(r"s|bos|eo[a-z]|pad|unk|sep|end|end_\w+|endof\w+|\w+_end", re.IGNORECASE)
_LONG_QUOTE = re.compile("\"\"\"|'''")


def without_end_marks(text: str) -> str:
    """The text without the stray marks at its end."""
    begin, last = None, 0
    for start, end in _stray(text):
        if begin is None or text[last:start].strip():
            begin = start
        last = end
    return text if begin is None or text[last:].strip() else text[:begin].rstrip()


def until_end_mark(text: str) -> str:
    """The text up to the first stray mark that ends a line; one inside of a long string is a part of the string."""
    quotes = last = 0
    for start, end in _stray(text):
        quotes += len(_LONG_QUOTE.findall(text, last, start))
        last = end
        stop = text.find("\n", end)
        if quotes % 2 == 0 and not text[end : stop if stop >= 0 else len(text)].strip():
            return without_end_marks(text[:end])
    return text


def _stray(text: str) -> Iterator[tuple[int, int]]:
    """Where end tokens stand, and closing tags that nothing opened."""
    if "<" not in text and "[/" not in text:
        return
    opened: Counter[str] = Counter()
    for mark in _MARK.finditer(text):
        name = (mark[2] or "").lower()
        if not name or _TOKEN.fullmatch(name):
            yield mark.span()
        elif not mark[1]:
            opened[name] += 1
        elif opened[name]:
            opened[name] -= 1
        else:
            yield mark.span()
