"""The same scores give the same digits: no name enters an interval or a p value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np

from lic_pipeline.metrics.build import build_metrics

Row = dict[str, Any]


def _table(connection: duckdb.DuckDBPyConnection, name: str) -> list[Row]:
    cursor = connection.execute(f"SELECT * FROM {name}")
    names = [column[0] for column in cursor.description or []]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def test_equal_scores_have_equal_digits_whatever_the_experiment_is_called(
    memory: duckdb.DuckDBPyConnection, make_row: Callable[..., Row], put_rows: Callable[..., None]
) -> None:
    rng = np.random.default_rng(3)
    scores = {
        (s, i, run): 100.0 * (rng.random() < 0.6) for s in ("FULL", "SHARDED") for i in range(40) for run in (0, 1)
    }
    put_rows(memory, [
        make_row(f"math/{i}", run, score, setting=setting, experiment=name)
        for name in ("main", "adhoc-1f") for (setting, i, run), score in scores.items()
    ])  # fmt: skip
    build_metrics(memory)
    for name in ("reliability_by_task", "reliability_by_model", "degradation_by_task", "degradation"):
        rows = _table(memory, name)
        main, adhoc = (
            [row | {"experiment": ""} for row in rows if row["experiment"] == e] for e in ("main", "adhoc-1f")
        )
        assert main == adhoc
    rows = _table(memory, "degradation")
    assert all(0 < row["p_value"] < 1 for row in rows if row["setting"] == "SHARDED")
    methods = {row["P_method"] for row in _table(memory, "reliability_by_model")}
    assert methods == {"bootstrap over instructions"}
