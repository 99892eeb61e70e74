"""Fenced blocks of a reply: where they stand, what language they name, and what of them was written as their text.

``fenced_blocks`` gives them as they stand. ``inner_blocks`` is for readers of programs, queries and calls: blocks
within a block of Markdown in its place, without the marks of a quotation and without stray end marks
(``end_marks.py``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise

from lic_pipeline.tasks.end_marks import until_end_mark, without_end_marks

_FENCE_LINE = re.compile(r"^[ \t>]{0,12}(`{3,}|~{3,})[ \t]*([\w+#.-]*)[^\n`]*$", re.MULTILINE)
_TIGHT_END = re.compile(r"(?<![`~])(?:`{3,}|~{3,})[ \t]*$|(?<!`)``\s*\Z", re.MULTILINE)  # on a line of the text
_QUOTE = re.compile(r"[ \t]{0,3}> ?")
_QUOTATION = re.compile(r"(?:[ \t]{0,3}>[^\n]*(?:\n|\Z))+")
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
    return _blocks(text, 12)


def _blocks(text: str, indent: int) -> list[Fence]:
    """The blocks of a text. ``indent``: how much deeper than its opening a fence may still close a block."""
    if "```" not in text and "~~~" not in text:
        return []
    blocks: list[Fence] = []
    opened: re.Match[str] | None = None
    for line in _FENCE_LINE.finditer(text):
        if opened is None:
            opened = line
        elif (
            line.group(1)[0] == opened.group(1)[0]
            and len(line.group(1)) >= len(opened.group(1))
            and not line.group(2)
            and line.start(1) - line.start() <= opened.start(1) - opened.start() + indent
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
    # As in CommonMark, a fence four columns deeper is text: an example in a docstring.
    for block in _blocks(text, 3):
        offset = text.find(block.body, block.start)
        nested = block.language in _WRAPPERS
        inner = (
            _blocks(block.body, 3) if nested else _reopened(block, block.start - offset, len(_lead(block, text)) + 3)
        )
        blocks += [replace(one, start=one.start + offset, end=one.end + offset) for one in inner] or [block]
    return [_written(block, text) for block in blocks]


def _reopened(block: Fence, start: int, indent: int) -> list[Fence]:
    """The blocks of one in which a fence opens in its own language again: the ones before were never closed.

    Places count from the beginning of its body; ``start``: where, so counted, the block itself begins;
    ``indent``: what an opening fence may be indented by.
    """
    lines = (line for line in _FENCE_LINE.finditer(block.body) if line.start(1) - line.start() <= indent)
    opened = [line for line in lines if line.group(2).lower() == block.language]
    if not opened:
        return []
    first = Fence(block.language, block.body[: opened[0].start()], start, opened[0].start(), closed=False)
    between = [_block(block.body, line, after.start(), after.start(), closed=False) for line, after in pairwise(opened)]
    end = block.end - block.start + start
    return [first, *between, _block(block.body, opened[-1], len(block.body), end, closed=block.closed)]


def _written(block: Fence, text: str) -> Fence:
    """The block with its text alone: a fence that was never closed ends where the reply or its wrapper does."""
    body, end = without_end_marks(block.body), block.end
    quotes = _lead(block, text).count(">")
    if not block.closed:
        quotation = _QUOTATION.match(block.body) if quotes else None
        # A quotation ends its fence; one whose first line bears no mark is none.
        body = until_end_mark(quotation.group() if quotation is not None else block.body)
        tight = _TIGHT_END.search(body)
        body = body[: tight.start()] if tight is not None else body
        end -= len(block.body) - len(body)
    return replace(block, body=unquoted(body, quotes), end=end)


def _lead(block: Fence, text: str) -> str:
    """What stands before the opening fence on its line."""
    line = text[block.start : block.start + 12]
    return line[: len(line) - len(line.lstrip(" \t>"))]


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
