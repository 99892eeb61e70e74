"""Summaries written as a table of Markdown: a column of document numbers is one of citations."""

from __future__ import annotations

import re

from lic_pipeline.tasks.summary.sources import names_sources

_RULE_ROW = re.compile(r"[ \t]*\|?[ \t]*:?-+[-:| \t]*$")
_NUMBERS = re.compile(r"\s*#?\d{1,4}(?:\s?[,;&–-]\s?#?\d{1,4})*\s*")


def with_cited_columns(text: str) -> str:
    """The text with bare numbers in brackets where the head of their column names sources."""
    if "|" not in text:
        return text
    lines = text.split("\n")
    columns: set[int] = set()
    for i, line in enumerate(lines):
        if "|" not in line:
            columns = set()
        elif i + 1 < len(lines) and _RULE_ROW.match(lines[i + 1]):
            columns = {place for place, cell in enumerate(line.split("|")) if cell.strip() and names_sources(cell)}
        elif columns:
            cells = line.split("|")
            lines[i] = "|".join(
                f" [{cell.strip()}] " if place in columns and _NUMBERS.fullmatch(cell) else cell
                for place, cell in enumerate(cells)
            )
    return "\n".join(lines)
