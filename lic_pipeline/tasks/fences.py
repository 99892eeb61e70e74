"""Fenced blocks of a reply: where they stand, what language they name, and what of them was written as their text.

``fenced_blocks`` gives them as they stand. ``inner_blocks`` is for readers of programs, queries and calls: blocks
within a block of Markdown in its place, without the marks of a quotation and without stray end marks
(``end_marks.py``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from lic_pipeline.tasks.end_marks import until_end_mark, without_end_marks

_FENCE_LINE = re.compile(r"^[ \t>]{0,12}(`{3,}|~{3,})[ \t]*([\w+#.-]*)[^\n`]*$", re.MULTILINE)
_QUOTE = re.compile(r"[ \t]{0,3}> ?")
_FEWEST = 2
_WRAPPERS = frozenset({"", "markdown", "md", "text", "txt", "plaintext", "mdx"})


@dataclass(frozen=True, slots=True)
class Fence:
    """One fenced block: its language tag, its text, where the whole block stands, and whether it was closed."""

    language: str
    body: str
    start: int
    end: int
    closed: bool


def fenced_blocks(text: str) -> list[Fence]:
    """All fenced blocks in order; the last one may be unclosed (a reply cut by the token limit)."""
    if "```" not in text and "~~~" not in text:
        return []
    blocks: list[Fence] = []
    opened: re.Match[str] | None = None
    for line in _FENCE_LINE.finditer(text):
        if opened is None:
            opened = line
        elif (
            line.group(1)[0] == opened.group(1)[0] and len(line.group(1)) >= len(opened.group(1)) and not line.group(2)
        ):
            blocks.append(_block(text, opened, line.start(), line.end(), closed=True))
            opened = None
    if opened is not None:
        blocks.append(_block(text, opened, len(text), len(text), closed=False))
    return blocks


def _block(text: str, opened: re.Match[str], body_end: int, end: int, *, closed: bool) -> Fence:
    body = text[min(opened.end() + 1, body_end) : body_end]
    return Fence(opened.group(2).lower(), body, opened.start(), end, closed)


def without_fences(text: str) -> str:
    """The text with every fenced block replaced by one line break."""
    parts: list[str] = []
    position = 0
    for block in fenced_blocks(text):
        parts.append(text[position : block.start])
        position = block.end
    parts.append(text[position:])
    return "\n".join(parts)


def inner_blocks(text: str) -> list[Fence]:
    """All fenced blocks, with those inside a block of Markdown in its place (a whole reply put into one fence)."""
    blocks: list[Fence] = []
    for block in fenced_blocks(text):
        inner = fenced_blocks(block.body) if block.language in _WRAPPERS else []
        offset = text.find(block.body, block.start)
        blocks += [replace(one, start=one.start + offset, end=one.end + offset) for one in inner] or [block]
    return [_written(block, text) for block in blocks]


def _written(block: Fence, text: str) -> Fence:
    """The block with its text alone: a fence that was never closed ends where the reply or its wrapper does."""
    body = without_end_marks(block.body) if block.closed else until_end_mark(block.body)
    end = block.end if block.closed else block.end - (len(block.body) - len(body))
    lead = text[block.start : block.start + 12]
    quotes = lead[: len(lead) - len(lead.lstrip(" \t>"))].count(">")
    return replace(block, body=unquoted(body, quotes), end=end)


def unquoted(text: str, depth: int = 0) -> str:
    """The text without the marks of a quotation, when each of its lines bears them; else as it stands.

    ``depth``: how many marks stand before each line. 0 = not known, and a line of several marks is a prompt (``>>>``).
    """
    lines = text.split("\n")
    for _ in range(depth or 1):
        written = [line for line in lines if line.strip()]
        marked = [_QUOTE.match(line) for line in written]
        if (depth == 0 and len(lines) < _FEWEST) or not written or None in marked:
            break
        if depth == 0 and any(line.lstrip().startswith(">>") for line in written):
            break
        lines = [_QUOTE.sub("", line, count=1) if line.strip() else line for line in lines]
    return "\n".join(lines)
