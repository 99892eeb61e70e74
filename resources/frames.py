"""dagster-pandas types made from TableSpecs: what a frame of a table must look like, as Dagster checks and shows it.

A frame is brought to the spec's dtypes first (``as_specified``): DuckDB hands out integers with NULLs as floats and
timestamps in microseconds, which the column types of dagster-pandas would refuse for their dtype, not their content.
Imported only inside functions elsewhere: pandas and dagster-pandas cost more than Dagster itself to load.
"""

from __future__ import annotations

from functools import cache
from math import inf
from typing import Any, cast

import dagster as dg
import dagster_pandas
import pandas as pd
from dagster_pandas import constraints

from lic_pipeline.tables import Column, TableSpec

# dagster-pandas carries no annotations; ``Any`` keeps that from spreading.
_KINDS: Any = constraints
_PANDAS: Any = dagster_pandas

ROUNDING = 1e-9
"""What a sum of floats may be off a bound."""

_DTYPES = {"string": "object", "json": "object", "int": "Int64", "float": "float64", "bool": "boolean",
           "timestamp": "datetime64[ns, UTC]"}  # fmt: skip


class UniqueKeyConstraint(constraints.DataFrameConstraint):
    """No two rows share the values of the table's key."""

    def __init__(self, key: tuple[str, ...]) -> None:
        self.key = list(key)
        super().__init__(  # type: ignore[no-untyped-call]
            error_description=f"{', '.join(key)} is unique", markdown_description=", ".join(key)
        )

    def validate(self, dataframe: pd.DataFrame) -> None:
        """Raise when rows share a key."""
        again = int(dataframe.duplicated(self.key).sum())
        if again:
            raise _violation(self.name, f"{again} rows repeat a key ({', '.join(self.key)})")


def as_specified(spec: TableSpec, frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with the dtypes of its spec; NULL stays NULL. Raises ValueError naming a column that cannot be cast."""
    columns = {column.name: column for column in spec.columns if column.name in frame.columns}
    ready = {}
    for name, column in columns.items():
        try:
            ready[name] = frame[name].astype(cast(Any, _DTYPES[column.type]))
        except (TypeError, ValueError) as error:
            raise ValueError(f"table {spec.name}: column {name} holds no {column.type} ({error})") from error
    return frame.assign(**ready)


@cache
def frame_type(spec: TableSpec) -> dg.DagsterType:
    """The dagster-pandas type of a table: exact columns, dtypes, ranges, choices, nulls and the unique key."""
    found: dg.DagsterType = _PANDAS.create_dagster_pandas_dataframe_type(
        name="".join(part.capitalize() for part in spec.name.split("_")),
        description=spec.description,
        columns=[_PANDAS.PandasColumn(column.name, constraints=_constraints(column)) for column in spec.columns],
        dataframe_constraints=[
            _PANDAS.StrictColumnsConstraint([column.name for column in spec.columns], enforce_ordering=True),
            UniqueKeyConstraint(spec.key),
        ],
    )
    return found


def frame_faults(spec: TableSpec, frame: pd.DataFrame) -> list[str]:
    """What keeps this frame from being of its table's type, [] when nothing does."""
    try:
        ready = as_specified(spec, frame)
    except ValueError as error:
        return [str(error)]
    checked: Any = frame_type(spec).type_check(None, ready)  # type: ignore[arg-type]
    return [] if checked.success else [str(checked.description)]


def _constraints(column: Column) -> list[Any]:
    found = [_KINDS.ColumnDTypeInSetConstraint({_DTYPES[column.type]})]
    if not column.nullable:
        found.append(_KINDS.NonNullableColumnConstraint())
    if column.minimum is not None or column.maximum is not None:
        low = -inf if column.minimum is None else column.minimum - ROUNDING
        high = inf if column.maximum is None else column.maximum + ROUNDING
        found.append(_KINDS.InRangeColumnConstraint(low, high, ignore_missing_vals=True))
    if column.choices:
        found.append(_KINDS.CategoricalColumnConstraint(set(column.choices), ignore_missing_vals=True))
    return found


def _violation(name: str, description: str) -> Exception:
    found: Exception = _KINDS.DataFrameConstraintViolationException(name, description)
    return found
