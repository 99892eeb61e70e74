"""A summary as bullets: finding them in a reply and trimming them to the word limit.

A bullet is a marked line (``-``, ``*``, ``•``, ``1.``, ``a)``) with the lines that continue it, or an unmarked
paragraph that cites something. Where nothing is marked, every line that is no heading is a bullet. Introductions,
headings, rules and code fences are none. Bullets count from 1. Nothing here judges.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lic_pipeline.tasks.summary.citations import cited, without_citations
from lic_pipeline.tasks.summary.sources import labelled, names_sources, without_final_list

WORD_LIMIT = 300

_MARKER = re.compile(
    r"(?:[-*+–—·]\s+|[•‣◦▪●○∙]\s*|-(?=[^\W\d_]|[\"'*“])|\(?\d{1,3}[.)]\s+|\*\*\d{1,3}[.)]\*\*\s*|\(?[a-z]\)\s+)"
)
_RULE = re.compile(r"(?:[-*_=]\s*){3,}|(?:`{3,}|~{3,})\w*")
_BOLD_LINE = re.compile(r"(?:\*\*|__).*(?:\*\*|__):?")


@dataclass(frozen=True)
class Bullet:
    """One finding: its words without bracketed citations, and the documents it cites."""

    text: str
    citations: tuple[int, ...]

    @property
    def words(self) -> list[str]:
        """Its words; citations are none."""
        return self.text.split()


@dataclass
class _Block:
    """Lines that belong together, whether a marker opened them, and how far it was indented."""

    lines: list[str]
    marked: bool
    indent: int


def parse_bullets(text: str, *, sources: bool = True) -> tuple[str, ...]:
    """The bullets of a reply as raw strings, markers removed, citations in place. Empty for a text without any.

    ``sources``: a line that only names sources is no bullet but belongs to the one above, a final list of them to none.
    """
    found: list[_Block] = []
    blank, of_above = True, False
    lines = text.splitlines()
    for raw in without_final_list(lines) if sources else lines:
        line = raw.strip()
        if not line or _RULE.fullmatch(line):
            blank, of_above = True, False
        elif sources and found and names_sources(_body(line)):
            if cited(line):
                of_above = (of_above and not labelled(line)) or _sources_of(found[-1], raw, line, blank)
                found[-1].lines += [_body(line)] if of_above else []
                blank = not of_above
        else:
            _read(found, raw, line, blank)
            blank, of_above = False, False
    joined = [(" ".join(block.lines), block.marked) for block in found]
    any_marked = any(marked for _, marked in joined)
    return tuple(body for body, marked in joined if marked or not any_marked or cited(body))


def _body(line: str) -> str:
    marker = _MARKER.match(line)
    return line[marker.end() :].strip() if marker else line


def _read(found: list[_Block], raw: str, line: str, blank: bool) -> None:
    """Add one line to the blocks: it opens one, continues the last, or is a heading."""
    marked = _MARKER.match(line) is not None
    body = _body(line)
    if marked and not body:
        marked, body = False, line
    if not marked and _is_heading(line):
        return
    if not marked and found and found[-1].marked and _continues(raw, line, blank):
        found[-1].lines.append(line)
    else:
        found.append(_Block([body], marked, len(raw) - len(raw.lstrip())))


def _sources_of(block: _Block, raw: str, line: str, blank: bool) -> bool:
    """True when a line of sources is about the bullet above, not a list of all that were used."""
    below = len(raw) - len(raw.lstrip()) > block.indent
    follows = not (blank or _MARKER.match(line) or labelled(line))
    return below or follows or not any(cited(part) for part in block.lines)


def _continues(raw: str, line: str, blank: bool) -> bool:
    only_citations = bool(cited(line)) and not re.search(r"\w", without_citations(line))
    return not blank or raw[:1].isspace() or only_citations


def _is_heading(line: str) -> bool:
    if line.startswith("#") or line.rstrip("*_ ").endswith(":"):
        return True
    return _BOLD_LINE.fullmatch(line) is not None and not cited(line)


def read_bullets(raw: Sequence[str], limit: int = WORD_LIMIT) -> tuple[Bullet, ...]:
    """Bullets trimmed to ``limit`` words in all, each in proportion to its length, every citation kept."""
    bullets = [Bullet(without_citations(text), cited(text)) for text in raw]
    lengths = [len(bullet.words) for bullet in bullets]
    if sum(lengths) <= limit:
        return tuple(bullets)
    shares = proportional(lengths, limit)
    return tuple(
        Bullet(" ".join(bullet.words[:share]), bullet.citations) for bullet, share in zip(bullets, shares, strict=True)
    )


def read_bullets_losing_citations(raw: Sequence[str], limit: int = WORD_LIMIT) -> tuple[Bullet, ...]:
    """Reference policy: citations are words like others, so those at the end of a trimmed bullet are lost."""
    lengths = [len(text.split()) for text in raw]
    if sum(lengths) > limit:
        raw = [
            " ".join(text.split()[: length * limit // sum(lengths)]) for text, length in zip(raw, lengths, strict=True)
        ]
    return tuple(Bullet(without_citations(text), cited(text)) for text in raw)


def proportional(lengths: Sequence[int], limit: int) -> list[int]:
    """Shares of exactly ``limit`` in proportion to ``lengths`` (largest remainders first, then the earlier one).

    ``sum(lengths)`` is at least ``limit``; no share exceeds its length.
    """
    total = sum(lengths)
    shares = [length * limit // total for length in lengths]
    order = sorted(range(len(lengths)), key=lambda place: (-(lengths[place] * limit % total), place))
    for place in order[: limit - sum(shares)]:
        shares[place] += 1
    return shares
