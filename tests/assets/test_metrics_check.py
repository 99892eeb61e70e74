"""Every relation between metric columns is a rule of some table, and finds a row that breaks it."""

from __future__ import annotations

import duckdb
import pytest

from assets.checks.metrics import RELATIONS, _rules, metrics_check
from lic_pipeline.metrics.metric_tables import METRIC_TABLES
from lic_pipeline.tables import Column, TableSpec


@pytest.mark.parametrize("rule", sorted(RELATIONS))
def test_every_relation_belongs_to_a_published_table(rule: str) -> None:
    assert any(rule in _rules(spec) for spec in METRIC_TABLES)


_NAMES = ("P", "P_if_missing_0", "P_if_missing_100", "U90_10", "R")


@pytest.mark.parametrize(
    ("row", "broken"),
    [
        ((50.0, 40.0, 60.0, 30.0, 70.0), ""),
        ((39.0, 40.0, 60.0, 30.0, 70.0), "P_within_bounds"),
        ((61.0, 40.0, 60.0, 30.0, 70.0), "P_within_bounds"),
        ((50.0, 40.0, 60.0, 30.0, 71.0), "R_is_100_minus_U"),
    ],
)
def test_a_row_that_breaks_a_relation_fails_the_check(row: tuple[float, ...], broken: str) -> None:
    columns = (Column("cell", "int", "cell"), *(Column(name, "float", name, nullable=True) for name in _NAMES))
    spec = TableSpec("relations_under_test", "one cell a row", columns, ("cell",))
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE {spec.name} (cell BIGINT, {', '.join(f'{name} DOUBLE' for name in _NAMES)})")
        connection.execute(f"INSERT INTO {spec.name} VALUES (1, ?, ?, ?, ?, ?)", list(row))
        result = metrics_check(connection, spec)
    assert result.passed == (not broken)
    assert broken in (result.description or "")
