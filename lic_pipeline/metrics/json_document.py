"""The JSON document of ``lic metrics --json``, from score rows; null, never NaN.

Cells, models and comparisons are the rows of the metric tables under the names the contract gives them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb

from lic_pipeline.errors import StorageError
from lic_pipeline.metrics.build import build_metrics, sql_text
from lic_pipeline.metrics.score_lines import ScoreRows, tables_of
from lic_pipeline.metrics.statistics.degradation import FLOOR
from lic_pipeline.metrics.warehouse import store
from lic_pipeline.records import Json

SCHEMA = 1
_NAMED_BAD = 100
_MEMORY = "400MB"


@contextmanager
def compute(rows: ScoreRows) -> Iterator[duckdb.DuckDBPyConnection]:
    """A warehouse of these rows with every metric table, in bounded memory and a temporary folder.

    Raises StorageError when the folder for temporary files cannot be used.
    """
    try:
        with TemporaryDirectory(prefix="lic-metrics-") as folder, _connection(Path(folder)) as connection:
            keys, lines = tables_of(rows)
            store(connection, "score_keys", keys)
            store(connection, "score_rows", lines)
            connection.execute(sql_text("score_rows"))
            build_metrics(connection)
            yield connection
    except (FileNotFoundError, PermissionError, duckdb.IOException) as error:
        raise StorageError(f"no room for temporary files ({error}); set TMPDIR to a writable folder") from error


def _connection(folder: Path) -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"memory_limit": _MEMORY, "temp_directory": str(folder), "threads": 1})


def document(connection: duckdb.DuckDBPyConnection, rows: ScoreRows) -> dict[str, Json]:
    """The document: ``schema``, ``cells``, ``models``, ``comparisons``; bad lines counted, the first ones named."""
    cells = table_rows(connection, "reliability_by_task")
    pairs = table_rows(connection, "degradation_by_task")
    return {
        "schema": SCHEMA,
        "rows": len(rows),
        "bad_lines": len(rows.bad),
        "bad": [{"line": bad.line, "error": str(bad)} for bad in rows.bad[:_NAMED_BAD]],
        "cells": [_cell(row) for row in cells],
        "models": [_model(row, cells) for row in table_rows(connection, "reliability_by_model")],
        "comparisons": [_comparison(row, pairs) for row in table_rows(connection, "degradation")],
    }


def table_rows(connection: duckdb.DuckDBPyConnection, table: str) -> list[dict[str, Any]]:
    """All rows of a metric table as dicts, in the order they were built (by key)."""
    cursor = connection.execute(f"SELECT * FROM {table}")
    names = [column[0] for column in cursor.description or []]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def _values(row: dict[str, Any]) -> dict[str, Json]:
    return {
        "P": row["P"],
        "A90": row["A90"],
        "U90_10": row["U90_10"],
        "R": row["R"],
        "ci": {name: _ends(row, name) for name in ("P", "A90", "U90_10")} | {"R": _mirrored(_ends(row, "U90_10"))},
        "ci_method": {"P": row["P_method"], "A90": row["aptitude_method"], "U90_10": row["aptitude_method"]},
        "bounds": [row["P_if_missing_0"], row["P_if_missing_100"]],
    }


def _ends(row: dict[str, Any], name: str) -> list[float] | None:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return None if low is None or high is None else [low, high]


def _mirrored(ends: list[float] | None) -> list[float] | None:
    return None if ends is None else [100 - ends[1], 100 - ends[0]]


def _cell(row: dict[str, Any]) -> dict[str, Json]:
    return {
        **{name: row[name] for name in ("model", "task", "setting", "n_instructions")},
        "n_runs": row["n_target"],
        "n_compared": row["n_compared"],
        **_values(row),
        "ci_runs": {"P": _ends(row, "P_runs")},
        **{name: row[name] for name in ("always", "sometimes", "never", "sd_within")},
        "missing": row["n_missing"],
        "reason": row["reason"] or row["reason_aptitude"],
        "signature": row["signature"],
    }


def _tasks(row: dict[str, Any], parts: list[dict[str, Any]]) -> list[str]:
    """Tasks of the rows a model-level row was averaged from."""
    return [part["task"] for part in parts if (part["model"], part["setting"]) == (row["model"], row["setting"])]


def _model(row: dict[str, Any], cells: list[dict[str, Any]]) -> dict[str, Json]:
    return {
        **{name: row[name] for name in ("model", "setting")},
        "tasks": _tasks(row, cells),
        "n_instructions": row["n_instructions"],
        "n_runs": row["n_target"],
        **_values(row),
        "missing": row["n_missing"],
        "reason": row["reason"] or row["reason_aptitude"],
        "signature": row["signature"],
    }


def _comparison(row: dict[str, Any], pairs: list[dict[str, Any]]) -> dict[str, Json]:
    return {
        **{name: row[name] for name in ("model", "setting")},
        "against": "FULL",
        "tasks": _tasks(row, pairs),
        "left_out": _tasks(row, [pair for pair in pairs if pair["full_P"] is not None and pair["full_P"] < FLOOR]),
        "n_common": row["n_common"],
        "n_runs": row["n_target"],
        "ratio_percent": row["ratio"],
        "drop_points": row["drop_points"],
        "ci": {"ratio_percent": _ends(row, "ratio"), "drop_points": _ends(row, "drop")},
        "ci_method": {"ratio_percent": row["ratio_method"], "drop_points": row["drop_method"]},
        "p": row["p_value"],
        "p_holm": row["p_holm"],
        "reason": row["reason"],
        "signature": row["signature"],
    }
