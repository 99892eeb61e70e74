"""Makers of score rows and warehouses for the tests of metrics and reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import duckdb
import pytest

from lic_pipeline.metrics.warehouse import store
from lic_pipeline.tables.scores import PLANNED, SCORES

Row = dict[str, Any]


def score_row(instruction: str, run: int, score: float | None, **other: Any) -> Row:
    """A row of ``scores`` with everything filled in."""
    row: Row = {
        "experiment": "main",
        "task": "math",
        "model": "m",
        "setting": "FULL",
        "condition": "{}",
        "instruction_id": instruction,
        "run": run,
        "score": score,
        "score_max": score,
        "n_shards": 4,
        "n_turns": 1,
        "state": "done",
        "stop_reason": "single_turn",
        "n_attempts": 1,
        "flags": "[]",
        "approval": "authored",
        "scorer_version": 1,
        "missing_reason": None if score is not None else "context",
        **other,
    }
    parts = (row[name] for name in ("experiment", "condition", "model", "task", "setting", "instruction_id", "run"))
    row.setdefault("conversation_id", "/".join(str(part) for part in parts))
    row.setdefault("signature", f"task:{row['task']}|setting:{row['setting']}|policy:robust")
    return row


def planned_row(row: Row) -> Row:
    """The planned conversation of a row of ``scores``."""
    return {column.name: row.get(column.name) for column in PLANNED.columns}


def fill(connection: duckdb.DuckDBPyConnection, rows: Iterable[Row], planned: Iterable[Row] | None = None) -> None:
    """Put the two input tables into a connection."""
    listed = list(rows)
    plan = listed if planned is None else list(planned)
    store(connection, "scores", SCORES.arrow_table(listed))
    store(connection, "planned", PLANNED.arrow_table(planned_row(row) for row in plan))


@pytest.fixture
def make_row() -> Callable[..., Row]:
    """``score_row``."""
    return score_row


@pytest.fixture
def put_rows() -> Callable[..., None]:
    """``fill``."""
    return fill


@pytest.fixture
def memory() -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty in-memory warehouse."""
    with duckdb.connect() as connection:
        yield connection
