"""Types and suites made from a TableSpec: they pass what the spec allows and name what it does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from lic_pipeline.config import Home
from lic_pipeline.lake.tables import read_all
from lic_pipeline.tables import Column, TableSpec
from lic_pipeline.tables.scores import SCORES
from resources.frames import as_specified, frame_faults, frame_type
from resources.tables import MOST_ROWS, column_schema, records_table
from resources.validation import validate_frame, validate_tables, write_validation

SPEC = TableSpec(
    "grades",
    "One grade.",
    (
        Column("id", "string", "Id"),
        Column("part", "int", "Part", minimum=1),
        Column("score", "float", "Score", nullable=True, minimum=0, maximum=100),
        Column("kind", "string", "Kind", choices=("right", "wrong")),
        Column("final", "bool", "Final", nullable=True),
        Column("at", "timestamp", "When", nullable=True),
    ),
    ("id", "part"),
)
ROWS: list[dict[str, Any]] = [
    {"id": "a", "part": 1, "score": 100.0, "kind": "right", "final": True, "at": pd.Timestamp("2030-01-01", tz="UTC")},
    {"id": "a", "part": 2, "score": None, "kind": "wrong", "final": None, "at": None},
    {"id": "b", "part": 1, "score": 100 + 4e-14, "kind": "right", "final": False, "at": None},
]
FAULTS = [
    ({"score": 100.5}, "score"),
    ({"score": -1.0}, "score"),
    ({"kind": "odd"}, "kind"),
    ({"kind": None}, "kind"),
    ({"part": 0}, "part"),
    ({"part": 2}, "id, part"),
]


def stored(rows: list[dict[str, Any]], spec: TableSpec = SPEC) -> pd.DataFrame:
    """The rows as DuckDB hands them out: NULL integers as floats, timestamps in microseconds."""
    with duckdb.connect() as connection:
        table = spec.arrow_schema.empty_table() if not rows else spec.arrow_table(rows)
        connection.register("rows", table)
        return connection.execute("SELECT * FROM rows").df()


def changed(change: dict[str, Any]) -> pd.DataFrame:
    frame = stored(ROWS)
    for name, value in change.items():
        frame[name] = frame[name].astype(object)
        frame.loc[0, name] = value
    return frame


@pytest.mark.parametrize("rows", [ROWS, ROWS[:1], []], ids=["three", "one", "none"])
def test_a_frame_from_duckdb_is_of_its_type(rows: list[dict[str, Any]]) -> None:
    assert frame_faults(SPEC, stored(rows)) == []


@pytest.mark.parametrize(("change", "where"), FAULTS)
def test_the_type_names_what_breaks_it(change: dict[str, Any], where: str) -> None:
    (fault,) = frame_faults(SPEC, changed(change))
    assert where in fault


@pytest.mark.parametrize(
    "frame",
    [
        stored(ROWS).drop(columns="final"),
        stored(ROWS).assign(more=1),
        stored(ROWS)[["part", "id", "score", "kind", "final", "at"]],
        changed({"part": "first"}),
    ],
    ids=["missing", "unknown", "order", "no_integer"],
)
def test_other_columns_are_refused(frame: pd.DataFrame) -> None:
    assert len(frame_faults(SPEC, frame)) == 1


def test_null_stays_null_and_the_type_is_described() -> None:
    ready = as_specified(SPEC, stored(ROWS))
    assert ready["final"].isna().tolist() == [False, True, False]
    found = frame_type(SPEC)
    assert found.unique_name == "Grades"
    assert "score" in str(found.description)
    assert frame_type(SPEC) is found


def test_a_suite_passes_what_the_spec_allows() -> None:
    found = validate_frame(SPEC, stored(ROWS))
    assert found.passed
    assert (found.rows, found.failures) == (3, ())
    assert validate_frame(SPEC, stored([])).passed


@pytest.mark.parametrize(("change", "where"), FAULTS)
def test_a_suite_names_column_and_value(change: dict[str, Any], where: str) -> None:
    found = validate_frame(SPEC, changed(change))
    assert len(found.failures) == 1
    assert where in found.failures[0]


def test_scores_of_an_empty_lake_validate(tmp_path: Path) -> None:
    assert validate_frame(SCORES, read_all(tmp_path, SCORES).to_pandas()).passed


def test_the_summary_names_failures_and_missing_tables(tmp_path: Path) -> None:
    home = Home(tmp_path)
    with duckdb.connect() as connection:
        connection.register("bad", changed({"kind": "odd"}))
        connection.execute("CREATE TABLE grades AS SELECT * FROM bad")
        other = TableSpec("absent", "Not there.", SPEC.columns, SPEC.key)
        found = validate_tables(connection, [SPEC, other])
    summary, page = write_validation(home, found)
    document = json.loads(summary.read_text(encoding="utf-8"))
    assert document["passed"] is False
    assert [(table["name"], table["passed"]) for table in document["tables"]] == [("grades", False), ("absent", False)]
    text = page.read_text(encoding="utf-8")
    assert "## grades" in text
    assert "odd" in text
    assert "run job `publish`" in text


def test_what_dagster_shows_of_a_table() -> None:
    columns = {column.name: column for column in column_schema(SPEC).columns}
    assert columns["score"].constraints.other == ["0 to 100"]
    assert columns["part"].constraints.other == ["at least 1"]
    assert columns["kind"].constraints.other == ["one of right, wrong"]
    assert columns["at"].constraints.nullable
    table = records_table(("name", "n", "share"), [(f"r{n}", n, n / 2) for n in range(MOST_ROWS + 20)])
    assert len(table.records) == MOST_ROWS
    assert [column.type for column in table.schema.columns] == ["string", "int", "float"]
    assert records_table(("name",), []).records == []
