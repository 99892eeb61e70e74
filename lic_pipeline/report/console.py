"""The tables ``lic`` prints: reliability per model, task and setting, and each setting against FULL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

import duckdb

from lic_pipeline.report.render import (
    BANNER,
    DASH,
    Row,
    harmless,
    has_personas,
    instructions_label,
    note,
    number,
    rows_of,
    runs_label,
    setting_label,
    value_with_interval,
)

if TYPE_CHECKING:
    from rich.table import Table

_WIDE = 200
_CELL_KEY = ("experiment", "condition", "task", "model", "setting")
_MODEL_KEY = ("experiment", "condition", "model", "setting")


def console_tables(connection: duckdb.DuckDBPyConnection) -> list[Table]:
    """Three rich tables from the metric tables: per task, over tasks, and the settings against FULL."""
    cells, models = rows_of(connection, "reliability_by_task"), rows_of(connection, "reliability_by_model")
    by_task = _by_key(rows_of(connection, "degradation_by_task"), _CELL_KEY)
    overall = _by_key(rows_of(connection, "degradation"), _MODEL_KEY)
    several = len({row["experiment"] for row in cells}) > 1
    made = [_reliability("Per task", cells, by_task, _CELL_KEY, several)]
    if any(row["n_tasks"] > 1 for row in models):
        made.append(_reliability("Mean over tasks", models, overall, _MODEL_KEY, several))
    if overall:
        made.append(_against_full(list(overall.values()), several))
    return made


def print_tables(connection: duckdb.DuckDBPyConnection, file: TextIO | None = None) -> None:
    """Print ``console_tables`` with their captions; wide when the output is no terminal."""
    from rich.console import Console

    console = Console(file=file, markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console = Console(file=file, markup=False, highlight=False, emoji=False, width=_WIDE)
    if has_personas(rows_of(connection, "reliability_by_model")):
        console.print(BANNER)
    for table in console_tables(connection):
        console.print(table)
    console.print("95% intervals over instructions; * fewer than 10 instructions; points are setting P - FULL P.")


def _by_key(rows: Sequence[Row], key: tuple[str, ...]) -> dict[tuple[str, ...], Row]:
    return {tuple(row[name] for name in key): row for row in rows}


def _table(title: str, columns: Sequence[str]) -> Table:
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _add(table: Table, values: Sequence[object]) -> None:
    from rich.text import Text

    table.add_row(*(Text(harmless(value)) for value in values))


def _reliability(
    title: str, rows: Sequence[Row], against: dict[tuple[str, ...], Row], key: tuple[str, ...], several: bool
) -> Table:
    with_task = "task" in key
    names = [*(["experiment"] if several else []), "model", *(["task"] if with_task else [])]
    table = _table(title, [*names, "setting", "P", "A90", "U90-10", "n", "N", "points", "% of FULL", "missing", "note"])
    for row in rows:
        drop = against.get(tuple(row[name] for name in key))
        _add(
            table,
            [
                *(row[name] for name in names),
                setting_label(row),
                *(value_with_interval(row, metric) for metric in ("P", "A90", "U90_10")),
                instructions_label(row),
                runs_label(row),
                number(drop["drop_points"]) if drop else DASH,
                number(drop["ratio"]) if drop else DASH,
                row["n_missing"],
                "; ".join(part for part in (note(row), shared_with_full(row, drop)) if part),
            ],
        )
    return table


def _against_full(rows: Sequence[Row], several: bool) -> Table:
    names = [*(["experiment"] if several else []), "model"]
    columns = ["setting", "% of FULL", "points", "n", "N", "p", "p (Holm)", "left out", "note"]
    table = _table("Against FULL, mean over tasks", [*names, *columns])
    for row in rows:
        _add(
            table,
            [
                *(row[name] for name in names),
                setting_label(row),
                against_full(row),
                drop_points(row),
                row["n_common"],
                runs_label(row),
                number(row["p_value"], 4),
                number(row["p_holm"], 4),
                row["left_out"] or DASH,
                row["reason"] or "",
            ],
        )
    return table


def shared_with_full(row: Row, drop: Row | None) -> str:
    """How many of FULL's instructions the comparison is over, where the setting cannot hold all (some lack shards)."""
    of_full = drop and drop.get("full_n_instructions")
    if not drop or not of_full or not drop["n_common"] or of_full <= row["n_instructions"]:
        return ""
    return f"compared with FULL over {drop['n_common']} of its {of_full} instructions"


def against_full(row: Row) -> str:
    """The ratio to FULL with its interval; the interval may be unknown, which is said."""
    if row["ratio"] is not None and row["ratio_low"] is None:
        return f"{row['ratio']:.1f} [no interval]"
    return value_with_interval(row, "ratio")


def drop_points(row: Row) -> str:
    """The drop in points with its interval."""
    if row["drop_points"] is None:
        return DASH
    return value_with_interval({**row, "drop": row["drop_points"]}, "drop")
