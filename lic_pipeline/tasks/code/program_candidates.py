"""The parts of a reply that may be programs, fenced or in JSON, without what replies wrap around code.

Which of them is the program is decided in ``extract``.
"""

from __future__ import annotations

import json
import re

from lic_pipeline.tasks.code.program_syntax import parse
from lic_pipeline.tasks.code.reply_diffs import LANGUAGES, is_diff, patched
from lic_pipeline.tasks.fenced_blocks import Fence, inner_blocks, unquoted

MAX_LOOSE = 100_000
_MOST = 20  # diffs applied, and programs each is tried on
STARTS_CODE = re.compile(r"(?:from\s+[\w.]+\s+import\b|import\s+\w|def\s+\w+\s*\(|async\s+def\s|class\s+\w+|@\w)")
_PYTHON = frozenset({"", "python", "python3", "py", "py3", "python2", "code", "pycon", "ipython", "sage"})
_SECOND_FENCE = re.compile(r"\A\s*(?:`{3,}|~{3,})[ \t]*\w*[ \t]*\n")
_PROGRAM_KEYS = ("code", "solution", "program", "python", "function", "answer", "final_answer", "completion")


def fenced(text: str) -> list[str]:
    """The blocks called Python or nothing, else all others. A diff is none of them, but what it makes of one is."""
    python: list[str] = []
    others: list[str] = []
    diffs = 0
    for block in inner_blocks(text):
        body = clean(block.body)
        if _is_diff(block):
            diffs += 1
            if diffs <= _MOST:
                _change(python or others, body)
        elif body.strip():
            (python if block.language in _PYTHON else others).append(body)
    return python or others


def without_diffs(text: str) -> str:
    """The text with each block that is a diff replaced by an empty line."""
    parts: list[str] = []
    position = 0
    for block in inner_blocks(text):
        if _is_diff(block):
            parts.append(text[position : block.start])
            position = block.end
    return "\n".join([*parts, text[position:]])


def _is_diff(block: Fence) -> bool:
    return block.language in LANGUAGES or is_diff(block.body)


def _change(bodies: list[str], diff: str) -> None:
    """Put the last of these programs that a diff fits into the form it gives it."""
    for place in range(len(bodies) - 1, max(-1, len(bodies) - 1 - _MOST), -1):
        program = patched(bodies[place], diff)
        if program is not None and parse(program) is not None:
            bodies[place] = program
            return


def from_json(text: str) -> str | None:
    """The program of a reply that is one JSON object with the program as a value, fenced or not."""
    blocks = inner_blocks(text)
    stripped = (blocks[0].body if len(blocks) == 1 and blocks[0].language in {"", "json"} else text).strip()
    if not (stripped.startswith("{") and stripped.endswith("}")) or len(stripped) > MAX_LOOSE:
        return None
    try:
        value = json.loads(stripped)
    except (ValueError, RecursionError):
        return None
    found = {str(key).lower(): inner for key, inner in value.items() if isinstance(inner, str)}
    return next((found[key] for key in _PROGRAM_KEYS if STARTS_CODE.search(found.get(key, ""))), None)


def clean(body: str) -> str:
    """Without a second opening fence, quote marks, doctest prompts or carriage returns."""
    body = body.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "").lstrip("\ufeff")
    body = _SECOND_FENCE.sub("", body)
    body = unquoted(body)
    lines = body.split("\n")
    if any(line.startswith(">>> ") for line in lines) and not any(STARTS_CODE.match(line) for line in lines):
        lines = [line[4:] for line in lines if line.startswith((">>> ", "... "))]
        body = "\n".join(lines)
    return body
