"""Reasoning inside a reply's text, told apart from the answer. Separate reasoning fields are read in ``replies``."""

from __future__ import annotations

import re

TRUNCATED_REASONING = "truncated_reasoning"

_THINK = re.compile(r"<(/?)(?:think|thinking)>|\[(/?)THINK\]", re.IGNORECASE)
_ANY = re.compile(
    r"<(/?)(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis)>|\[(/?)THINK\]", re.IGNORECASE
)


def split_reasoning(text: str) -> tuple[str, str, bool]:
    """Answer, reasoning, and True when an opened tag never closes: everything after it then counts as reasoning.

    ``<think>`` marks reasoning wherever it stands; words that an answer may well use as a tag of its own (analysis,
    reflection, ...) only where they open the reply. A closing tag without an opening one ends reasoning that began in
    the prompt.
    """
    if "<" not in text and "[" not in text:
        return text, "", False
    pattern = _ANY if _ANY.match(text.lstrip()) else _THINK
    kept: list[str] = []
    thought: list[str] = []
    position = depth = 0
    for tag in pattern.finditer(text):
        passage = text[position : tag.start()]
        (thought if depth else kept).append(passage)
        if not (tag.group(1) or tag.group(2)):
            depth += 1
        elif depth:
            depth -= 1
        else:
            thought += kept
            kept = []
        position = tag.end()
    if position == 0:
        return text, "", False
    (thought if depth else kept).append(text[position:])
    reasoning = "\n\n".join(part.strip() for part in thought if part.strip())
    return "".join(kept).strip(), reasoning, depth > 0
