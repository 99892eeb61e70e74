"""Values as text: numbers with their intervals, names made harmless, and the rule that no number stands alone.

A cell without n, N, interval and signature cannot be rendered. Nothing here knows where the text goes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from lic_pipeline.records import Setting

Row = Mapping[str, Any]
DASH = "–"
_SETTINGS = [setting.value for setting in Setting]
PERSONA_PREFIX = "sim/"
BANNER = (
    "Models named sim/... are personas: calibration instruments with declared probabilities, not language models. "
    "Their numbers check this tool and say nothing about any model."
)
INTERVALS = (
    'Intervals are 95%. Unless another name stands beside them they answer "on instructions like these": percentile '
    "bootstrap over instructions within each task where every task has 30 or more, else Student t; for A90 and U90-10 "
    "Student t with one pseudo-value at each end of the scale. The ratio to FULL uses a paired bootstrap within task."
)


def rows_of(connection: duckdb.DuckDBPyConnection, table: str) -> list[Row]:
    """All rows of a metric table, settings in their usual order; an absent table has none."""
    known = connection.execute("SELECT 1 FROM information_schema.tables WHERE table_name = ?", [table]).fetchall()
    if not known:
        return []
    cursor = connection.execute(f"SELECT * FROM {table}")
    names = [column[0] for column in cursor.description or []]
    rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return sorted(rows, key=_place)


def _place(row: Row) -> tuple[object, ...]:
    setting = str(row.get("setting", ""))
    rank = _SETTINGS.index(setting) if setting in _SETTINGS else len(_SETTINGS)
    names = tuple(str(row.get(name, "")) for name in ("experiment", "task", "model"))
    return (*names, rank, setting, str(row.get("condition", "")))


def fixed(value: float, digits: int) -> str:
    """The number with so many decimals; never ``-0.0``."""
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def value_with_interval(row: Row, metric: str, digits: int = 1) -> str:
    """``63.4 [58.9, 67.7]``, or a dash where the value is NULL. Raises ValueError when the value stands alone."""
    value = row[metric]
    if value is None:
        return DASH
    require_context(row, metric)
    low, high = row[f"{metric}_low"], row[f"{metric}_high"]
    return f"{fixed(value, digits)} [{fixed(low, digits)}, {fixed(high, digits)}]"


def require_context(row: Row, metric: str) -> None:
    """Raises ValueError naming what a value lacks of n, N, interval and signature."""
    n = row.get("n_common") if "n_common" in row else row.get("n_instructions")
    named = {
        "n": n,
        "N": row.get("n_target") if "n_tasks" not in row else (row.get("n_target") or "differs"),
        "interval": None if row.get(f"{metric}_low") is None or row.get(f"{metric}_high") is None else True,
        "signature": row.get("signature"),
    }
    lacking = [name for name, value in named.items() if not value]
    if lacking:
        raise ValueError(f"{metric} of {row.get('model')}, {row.get('setting')} has no {', '.join(lacking)}; not shown")


def number(value: float | None, digits: int = 1, unit: str = "") -> str:
    """A plain number, or a dash."""
    return DASH if value is None else fixed(value, digits) + unit


def setting_label(row: Row) -> str:
    """The setting with its condition columns, ``SHARDED (temperature=0.5)``."""
    condition = json.loads(row.get("condition") or "{}")
    inner = ", ".join(f"{name}={condition[name]}" for name in sorted(condition))
    return f"{row['setting']} ({inner})" if inner else str(row["setting"])


def runs_label(row: Row) -> str:
    """N, or that the tasks differ in it."""
    return "differs" if row["n_target"] is None else str(row["n_target"])


def instructions_label(row: Row) -> str:
    """n, marked when it is below 10."""
    return f"{row['n_instructions']}{'*' if row.get('few_instructions') else ''}"


def note(row: Row) -> str:
    """Why values are NULL, and bounds that missing runs leave open."""
    parts = [row.get("reason") or row.get("reason_aptitude") or ""]
    if row.get("n_target") == 1 and row.get("U90_10") is not None:
        parts.append("one run shows no spread")
    if row.get("bounds_differ"):
        parts.append(f"P lies in {row['P_if_missing_0']:.1f}..{row['P_if_missing_100']:.1f} whatever is missing")
    return "; ".join(part for part in parts if part)


def harmless(text: object) -> str:
    """Text with control characters written out, so that a name cannot steer a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(text))


def markdown(text: object) -> str:
    """Text as literal markdown: nothing in it is a table cell border, emphasis, link or HTML."""
    escaped = harmless(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(f"\\{c}" if c in "\\`*_{}[]#|~!$" else c for c in escaped)


def has_personas(rows: Sequence[Row]) -> bool:
    """True when a row belongs to a persona."""
    return any(str(row["model"]).startswith(PERSONA_PREFIX) for row in rows)
