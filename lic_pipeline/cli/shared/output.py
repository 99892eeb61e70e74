"""How commands show what they found: one table or one JSON document on stdout, messages on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_WIDE = 200
"""Columns where stdout is no terminal, so that no cell is cut."""


def print_json(document: Mapping[str, Any]) -> None:
    """Print one JSON document with its schema version on one line, escaped where stdout is not UTF-8. Refuses NaN."""
    escaped = (sys.stdout.encoding or "utf-8").lower().replace("-", "") != "utf8"
    print(json.dumps({"schema": 1, **document}, allow_nan=False, ensure_ascii=escaped))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table; texts are shown as they are, never as markup or terminal codes."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from lic_pipeline.report.render import harmless

    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    listed = [[_shown(value) for value in row] for row in rows]
    for place, name in enumerate(columns):
        numeric = bool(listed) and all(_is_number(row[place]) for row in listed)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in listed:
        table.add_row(*(Text(harmless(value)) for value in row))
    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console = Console(markup=False, highlight=False, emoji=False, width=_WIDE)
    console.print(table)


def say(message: str) -> None:
    """A message for the person, on stderr."""
    print(message, file=sys.stderr, flush=True)


def counted(counts: Mapping[str, int]) -> str:
    """``3 error:timeout, 1 no_reference``; empty when there is nothing to count."""
    return ", ".join(f"{number} {name}" for name, number in sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def money(usd: float | None, *, free: bool = False) -> str:
    """USD for people: ``free`` for personas, ``unknown`` where a price is."""
    if free:
        return "free"
    if usd is None:
        return "unknown"
    return f"${usd:.4f}" if 0 < usd < 1 else f"${usd:.2f}"


def _shown(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _is_number(text: str) -> bool:
    return text.replace(",", "").replace(".", "").lstrip("-$").isdigit()
