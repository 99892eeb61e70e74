"""Great Expectations suites made from TableSpecs, and the summary of what they found in the published tables.

The base of a suite is the spec: columns in order, nulls, ranges, choices, unique key. Great Expectations works here on
pandas frames in an ephemeral context: nothing is stored, nothing leaves the machine. It and pandas are imported inside
functions only, for they take seconds that every code server, worker and command would pay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from lic_pipeline.config import Home
from lic_pipeline.lake.files import write_json, write_text
from lic_pipeline.tables import TableSpec

if TYPE_CHECKING:
    import pandas as pd

_MOST_VALUES = 5


@dataclass(frozen=True)
class TableValidation:
    """What was found in one table: rows, expectations held against it, and the failures in words."""

    name: str
    rows: int
    expectations: int
    failures: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """True when nothing failed."""
        return not self.failures


def suite_of(spec: TableSpec) -> Any:
    """The Great Expectations suite of a table."""
    import great_expectations as gx
    from great_expectations import expectations

    gxe: Any = expectations  # its classes are not exported for type checkers
    rounding = 1e-9
    held: list[Any] = [
        gxe.ExpectTableColumnsToMatchOrderedList(column_list=[column.name for column in spec.columns]),
        gxe.ExpectCompoundColumnsToBeUnique(column_list=list(spec.key))
        if len(spec.key) > 1
        else gxe.ExpectColumnValuesToBeUnique(column=spec.key[0]),
    ]
    for column in spec.columns:
        if not column.nullable:
            held.append(gxe.ExpectColumnValuesToNotBeNull(column=column.name))
        if column.minimum is not None or column.maximum is not None:
            low = None if column.minimum is None else column.minimum - rounding
            high = None if column.maximum is None else column.maximum + rounding
            held.append(gxe.ExpectColumnValuesToBeBetween(column=column.name, min_value=low, max_value=high))
        if column.choices:
            held.append(gxe.ExpectColumnValuesToBeInSet(column=column.name, value_set=list(column.choices)))
    return gx.ExpectationSuite(name=spec.name, expectations=held)


def validate_frame(spec: TableSpec, frame: pd.DataFrame) -> TableValidation:
    """Hold one frame against its dagster-pandas type and its suite."""
    from resources.frames import as_specified, frame_faults

    faults = frame_faults(spec, frame)
    suite = suite_of(spec)
    try:
        ready = as_specified(spec, frame)
    except ValueError:  # said by the type already; the suite then judges the frame as it is
        ready = frame
    results = _batch(ready).validate(suite).to_json_dict()["results"]
    failures = [_in_words(result) for result in results if not result["success"]]
    # The type checks what the suite checks and dtypes besides; a fault both find is told once.
    told = failures or faults
    return TableValidation(spec.name, len(frame), len(results) + 1, tuple(told))


def validate_tables(connection: duckdb.DuckDBPyConnection, specs: Sequence[TableSpec]) -> list[TableValidation]:
    """Validate these tables of the published warehouse; one that is not there is a failure."""
    known = {row[0] for row in connection.execute("SELECT table_name FROM information_schema.tables").fetchall()}
    found = []
    for spec in specs:
        if spec.name in known:
            found.append(validate_frame(spec, connection.execute(f'SELECT * FROM "{spec.name}"').df()))
        else:
            found.append(TableValidation(spec.name, 0, 1, ("the table is missing; run job `publish`",)))
    return found


def write_validation(home: Home, found: Sequence[TableValidation]) -> tuple[Path, Path]:
    """Write ``validation/validation.json`` and ``validation/validation.md``; returns both paths."""
    document = {
        "schema": 1,
        "passed": all(table.passed for table in found),
        "tables": [{**asdict(table), "failures": list(table.failures), "passed": table.passed} for table in found],
    }
    lines = [
        "# Validation of the published tables",
        "",
        "| table | rows | expectations | result |",
        "|---|--:|--:|---|",
    ]
    lines += [
        f"| {table.name} | {table.rows} | {table.expectations} | "
        f"{'passed' if table.passed else f'**{len(table.failures)} failed**'} |"
        for table in found
    ]
    for table in found:
        if table.failures:
            lines += ["", f"## {table.name}", "", *(f"- {failure}" for failure in table.failures)]
    paths = home.validation / "validation.json", home.validation / "validation.md"
    write_json(paths[0], document)
    write_text(paths[1], "\n".join([*lines, ""]))
    return paths


def _batch(frame: pd.DataFrame) -> Any:
    import great_expectations as gx

    context: Any = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    asset = context.data_sources.add_pandas("frames").add_dataframe_asset("table")
    return asset.add_batch_definition_whole_dataframe("whole").get_batch({"dataframe": frame})


def _in_words(result: dict[str, Any]) -> str:
    config, found = result["expectation_config"], result.get("result") or {}
    settings = config["kwargs"]
    what = config["type"].removeprefix("expect_").replace("_", " ")
    where = settings.get("column") or ", ".join(settings.get("column_list") or [])
    problem = (result.get("exception_info") or {}).get("exception_message")
    values = (found.get("partial_unexpected_list") or [])[:_MOST_VALUES]
    seen = f": {found.get('unexpected_count')} rows, for example {values}" if values else ""
    limits = ", ".join(
        f"{name} {settings[name]}" for name in ("min_value", "max_value", "value_set") if name in settings
    )
    return f"{what} ({where}){f' [{limits}]' if limits else ''}{seen or (f': {problem}' if problem else '')}"
