"""Builds the metric tables of a warehouse from ``planned`` and ``scores``: the SQL files in order, and between them
the helper tables that Python computes (weights, intervals, tests). One thread, so the same rows give the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import resources
from math import comb

import duckdb
import pyarrow as pa

from lic_pipeline.metrics.cell_values import (
    Row,
    degradation_interval_rows,
    model_interval_rows,
    pair_test_rows,
    read_cells,
    read_pairs,
    task_interval_rows,
)
from lic_pipeline.metrics.metric_tables import METRIC_TABLES
from lic_pipeline.metrics.simulator_health import SIMULATOR_EVENTS
from lic_pipeline.metrics.statistics.run_subsets import percentile_weights
from lic_pipeline.tables.scores import PLANNED, SCORES

_CELL = {name: pa.string() for name in ("experiment", "condition", "task", "model", "setting")}
_MODEL = {name: kind for name, kind in _CELL.items() if name != "task"}
_METRICS = {
    **{f"{metric}_{end}": pa.float64() for metric in ("P", "P_runs", "A90", "U90_10") for end in ("low", "high")},
    "P_method": pa.string(),
    "aptitude_method": pa.string(),
}
_DROP = {"drop_low": pa.float64(), "drop_high": pa.float64(), "drop_method": pa.string(), "p_value": pa.float64()}
_RATIO = {"ratio_low": pa.float64(), "ratio_high": pa.float64(), "ratio_method": pa.string(), "p_holm": pa.float64()}
_TESTS = {"n_common": pa.int64(), "reason": pa.string(), "differs": pa.string()}


def build_metrics(connection: duckdb.DuckDBPyConnection, targets: Mapping[str, int] | None = None) -> None:
    """Create or replace every metric table (``METRIC_TABLES``) from the tables ``planned`` and ``scores``.

    ``targets`` gives the target N per experiment; without one it is the smallest number of runs planned for any
    instruction of the cell. Without a table ``planned``, the rows of ``scores`` are taken for the plan. Raises
    ValueError naming a conversation when a score is NaN or outside 0..100 or a row stands twice.
    """
    connection.execute("SET threads = 1")
    _check_input(connection)
    targets_rows = [{"experiment": name, "n_target": n} for name, n in sorted((targets or {}).items())]
    _fill(connection, "experiment_targets", targets_rows, {"experiment": pa.string(), "n_target": pa.int64()})
    for name in ("runs", "instruction_runs", "cell_signatures"):
        _run(connection, name)
    _fill_weights(connection)
    _run(connection, "reliability_by_instruction")
    cells = read_cells(connection)
    _fill(connection, "task_intervals", task_interval_rows(cells), {**_CELL, **_METRICS})
    _fill(connection, "model_intervals", model_interval_rows(cells), {**_MODEL, **_METRICS})
    for name in ("reliability_by_task", "reliability_by_model", "setting_pairs"):
        _run(connection, name)
    pairs = read_pairs(connection, cells)
    _fill(connection, "pair_tests", pair_test_rows(pairs), {**_CELL, **_DROP, **_TESTS})
    _fill(connection, "degradation_intervals", degradation_interval_rows(pairs), {**_MODEL, **_DROP, **_RATIO})
    for name in ("degradation_by_task", "degradation", "missing", "attempts", "flags", "pass_at_k", "simulator_health"):
        _run(connection, name)
    _refuse_nan(connection)


def sql_text(name: str) -> str:
    """The SQL file of a metric table. Raises FileNotFoundError when there is none of this name."""
    return resources.files("lic_pipeline.metrics").joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")


def _run(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    connection.execute(sql_text(name))


def _fill(
    connection: duckdb.DuckDBPyConnection, name: str, rows: Iterable[Row], columns: Mapping[str, pa.DataType]
) -> None:
    schema = pa.schema(list(columns.items()))
    filled = pa.Table.from_pylist([{column: row.get(column) for column in columns} for row in rows], schema=schema)
    connection.register("filled_rows", filled)
    try:
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM filled_rows")
    finally:
        connection.unregister("filled_rows")


def _fill_weights(connection: duckdb.DuckDBPyConnection) -> None:
    """Weights of sorted runs for the numbers of runs that occur, and the chances of k draws being solved."""
    sizes = connection.execute(
        "SELECT DISTINCT n_scored, n_target FROM instruction_runs WHERE n_scored >= n_target ORDER BY ALL"
    ).fetchall()
    weights = [
        {"n_scored": m, "n_target": n, "position": i + 1, "weight_10": float(low), "weight_90": float(high)}
        for m, n in sizes
        if m > n
        for i, (low, high) in enumerate(zip(percentile_weights(m, n, 10), percentile_weights(m, n, 90), strict=True))
    ]
    solved = connection.execute(
        "SELECT DISTINCT n_scored, n_solved, n_target FROM instruction_runs WHERE n_scored >= n_target ORDER BY ALL"
    ).fetchall()
    draws = {(m, c, k) for m, c, n in solved for k in range(1, n + 1)}
    shares = [
        {"n_scored": m, "n_solved": c, "k": k}
        | {"any_solved": 1 - comb(m - c, k) / comb(m, k), "all_solved": comb(c, k) / comb(m, k)}
        for m, c, k in sorted(draws)
    ]
    counts = {name: pa.int64() for name in ("n_scored", "n_target", "position")}
    _fill(connection, "percentile_weights", weights, {**counts, "weight_10": pa.float64(), "weight_90": pa.float64()})
    counts = {name: pa.int64() for name in ("n_scored", "n_solved", "k")}
    _fill(connection, "subset_solved", shares, {**counts, "any_solved": pa.float64(), "all_solved": pa.float64()})


def _check_input(connection: duckdb.DuckDBPyConnection) -> None:
    names = {row[0] for row in connection.execute("SELECT table_name FROM information_schema.tables").fetchall()}
    if "scores" not in names:
        raise ValueError("the warehouse holds no table scores; score conversations first")
    if "planned" not in names:
        known = {column.name for column in SCORES.columns}
        columns = [c.name if c.name in known else f"CAST(NULL AS VARCHAR) AS {c.name}" for c in PLANNED.columns]
        connection.execute(f"CREATE OR REPLACE TEMP VIEW planned AS SELECT {', '.join(columns)} FROM scores")
    if SIMULATOR_EVENTS.name not in names:  # score rows from elsewhere come without conversations
        _fill(
            connection, SIMULATOR_EVENTS.name, [], {field.name: field.type for field in SIMULATOR_EVENTS.arrow_schema}
        )
    for column in (column.name for column in SCORES.columns if column.type == "float"):
        bad = connection.execute(
            f"SELECT conversation_id, {column} FROM scores WHERE NOT (CAST({column} AS DOUBLE) BETWEEN 0 AND 100)"
            " ORDER BY ALL LIMIT 1"
        ).fetchall()
        if bad:
            raise ValueError(f"scores: {column} of conversation {bad[0][0]} is {bad[0][1]}, not a number in 0..100")
    for table in ("scores", "planned"):
        twice = connection.execute(
            f"SELECT experiment, conversation_id FROM {table} GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL LIMIT 1"
        ).fetchall()
        if twice:
            raise ValueError(f"{table}: conversation {twice[0][1]} stands twice in experiment {twice[0][0]!r}")


def _refuse_nan(connection: duckdb.DuckDBPyConnection) -> None:
    for spec in METRIC_TABLES:
        floats = [column.name for column in spec.columns if column.type == "float"]
        if not floats:
            continue
        tests = " OR ".join(f"NOT isfinite({name})" for name in floats)
        found = connection.execute(f"SELECT count(*) FROM {spec.name} WHERE {tests}").fetchall()
        if found[0][0]:
            raise ValueError(f"table {spec.name} holds {found[0][0]} rows with a value that is no number")
