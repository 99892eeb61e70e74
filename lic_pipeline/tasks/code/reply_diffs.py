"""Diffs in replies: telling them from programs, and applying one to the program it was written for.

A diff is no program. One whose old lines stand exactly once in a program shown before it says what to change there;
any other (of a version not shown, or already applied) says nothing.
"""

from __future__ import annotations

import re

LANGUAGES = frozenset({"diff", "patch", "udiff", "git"})
_HEADER = re.compile(r"diff --git |index [0-9a-f]{6,}|--- |\+\+\+ |\\ No newline|(?:new|deleted) file mode")
_HUNK = re.compile(r"@@|\s*\.\.\.\s*$")
_CHANGED = re.compile(r"[+-](?![+-]{2} )")
_MOST_LINES = 5_000
_MOST_HUNKS = 50
Hunk = tuple[list[str], list[str]]


def is_diff(body: str) -> bool:
    """True for a block in which each line is marked as kept, added or taken out, and some line is changed."""
    lines = [line for line in body.split("\n") if line.strip()]
    if not any(_CHANGED.match(line) for line in lines):
        return False
    return all(line[0] in "+- \t" or _HUNK.match(line) or _HEADER.match(line) for line in lines)


def patched(program: str, diff: str) -> str | None:
    """The program with a diff applied; None unless each hunk changes one place that exists exactly once."""
    lines = program.split("\n")
    if len(lines) > _MOST_LINES or diff.count("\n") > _MOST_LINES:
        return None
    for width in (1, 2, 0):
        done = _applied(lines, _hunks(diff, width))
        if done is not None:
            return "\n".join(done)
    return None


def _applied(lines: list[str], hunks: list[Hunk]) -> list[str] | None:
    if not 0 < len(hunks) <= _MOST_HUNKS:
        return None
    for old, new in hunks:
        if not old:
            return None
        bare = [line.rstrip() for line in lines]
        places = [at for at, line in enumerate(bare) if line == old[0] and bare[at : at + len(old)] == old]
        if len(places) != 1:
            return None
        lines = [*lines[: places[0]], *new, *lines[places[0] + len(old) :]]
    return lines


def _hunks(diff: str, width: int) -> list[Hunk]:
    """Old and new lines of each hunk. ``width``: what stands before each line; 0 = kept lines carry no mark."""
    hunks: list[Hunk] = [([], [])]
    for line in diff.rstrip("\n").split("\n"):
        if _HUNK.match(line):
            hunks.append(([], []))
        elif not _HEADER.match(line):
            mark, text = line[:1], line[max(width, 1) :].rstrip()
            if mark not in {"+", "-"} and (width == 0 or mark.strip()):
                text = line.rstrip()
            if mark != "+":
                hunks[-1][0].append(text)
            if mark != "-":
                hunks[-1][1].append(text)
    return [(old, new) for old, new in hunks if old != new]
