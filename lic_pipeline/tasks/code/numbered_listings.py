"""Listings with line numbers ("12 | return x"): the program without them.

Only a text of which each line carries the number after the one before is a listing; others stay as they are.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from lic_pipeline.tasks.code.program_syntax import parse

_NUMBERED = re.compile(r"[ \t]*(?:[Ll]ine[ \t]+|L)?(\d{1,5})(?!\d)")
_MARKS = ("|", ":", ".", ")", "│", "┃", "→", "┆")
_FEWEST = 2


def unnumbered(text: str) -> str | None:
    """The program of a listing; None when a line lacks its number, or what is left is no program."""
    lines = text.strip("\n").rstrip().split("\n")
    numbers = [_NUMBERED.match(line) for line in lines]
    found = [match for match in numbers if match is not None]
    if len(lines) < _FEWEST or len(found) < len(lines):
        return None
    first = int(found[0][1])
    if any(int(match[1]) != first + place for place, match in enumerate(found)):
        return None
    rests = [line[match.end() :] for line, match in zip(lines, found, strict=True)]
    if not any(rest.strip() for rest in rests):
        return None
    column = max(match.end() for match in found)
    # Numbers may be padded to one width on the right; then the code begins in one column.
    padded = (
        [line[column:] for line in lines]
        if not any(line[m.end() : column].strip() for line, m in zip(lines, found, strict=True))
        else rests
    )
    for candidate in (rests, padded):
        program = textwrap.dedent("\n".join(_unmarked(candidate)))
        tree = parse(program)
        if tree is not None and tree.body:
            return program
    return None


def _unmarked(rests: list[str]) -> list[str]:
    """The lines without the mark that stands between each number and its line."""
    for mark in _MARKS:
        marked = [rest.lstrip(" \t").startswith(mark) or not rest.strip() for rest in rests]
        if all(marked) and any(rest.strip() for rest in rests):
            return [rest.lstrip(" \t")[len(mark) :] for rest in rests]
    return rests


def listings_in(text: str) -> Iterator[str]:
    """The programs of the listings that stand in an open text, in order."""
    run: list[str] = []
    last = 0
    for line in [*text.split("\n"), ""]:
        match = _NUMBERED.match(line)
        number = int(match[1]) if match is not None else None
        if run and number == last + 1:
            run.append(line)
        else:
            if len(run) >= _FEWEST and (program := unnumbered("\n".join(run))) is not None:
                yield program
            run = [line] if number is not None else []
        last = number if number is not None else 0
