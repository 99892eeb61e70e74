"""Shards as the CONCAT messages of a log list them: the only place they stand when no shard file is at hand."""

from __future__ import annotations

import re

_BULLET = re.compile(r"^[ \t]*- ", re.MULTILINE)
_ASKED = re.compile(r"\AQ:\s*")
_ANSWER = re.compile(r"\s*\nA:\s*\Z")


def shard_texts(message: str) -> tuple[str, ...]:
    """The shards of a CONCAT message in order; empty when it is no bullet list.

    Understood: an opening ``Q:`` and closing ``A:``, a first shard without its bullet, a lead-in that ends in a colon.
    """
    body = _ANSWER.sub("", _ASKED.sub("", message.strip()))
    starts = [found.start() for found in _BULLET.finditer(body)]
    if not starts:
        return ()
    ends = [*starts[1:], len(body)]
    texts = [_BULLET.sub("", body[start:end], count=1).strip() for start, end in zip(starts, ends, strict=True)]
    before = body[: starts[0]].strip()
    if before and not before.endswith(":"):
        texts.insert(0, before)
    return tuple(text for text in texts if text)
