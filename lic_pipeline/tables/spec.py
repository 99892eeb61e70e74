"""One TableSpec per table: columns, types, ranges, keys, descriptions, written once.

From a spec come the Arrow schema here, and in ``resources`` Dagster's column schema, the dagster-pandas type and the
base of the Great Expectations suite. The specs themselves stand beside the code that fills them and register here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

ColumnType = Literal["string", "int", "float", "bool", "json", "timestamp"]

_ARROW: dict[str, pa.DataType] = {
    "string": pa.string(),
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "json": pa.string(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}


@dataclass(frozen=True)
class Column:
    """One column. ``json`` is a JSON document stored as text; ranges are inclusive."""

    name: str
    type: ColumnType
    description: str
    nullable: bool = False
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableSpec:
    """One table: its grain in words, its columns in order, its unique key."""

    name: str
    description: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names):
            raise ValueError(f"table {self.name}: a column stands twice")
        missing = set(self.key) - set(names)
        if missing:
            raise ValueError(f"table {self.name}: key columns {sorted(missing)} are no columns")

    @property
    def arrow_schema(self) -> pa.Schema:
        """The Arrow schema, with descriptions as field metadata."""
        return pa.schema(
            pa.field(c.name, _ARROW[c.type], nullable=c.nullable, metadata={"description": c.description})
            for c in self.columns
        )

    def arrow_table(self, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
        """Rows as an Arrow table of exactly this schema. Raises ValueError naming row and column that do not fit."""
        listed = list(rows)
        try:
            return pa.Table.from_pylist([self._complete(row) for row in listed], schema=self.arrow_schema)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise ValueError(f"table {self.name}: {error}") from error

    def _complete(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        names = [column.name for column in self.columns]
        unknown = set(row) - set(names)
        if unknown:
            raise ValueError(f"table {self.name}: unknown columns {sorted(unknown)}")
        for column in self.columns:
            if row.get(column.name) is None and not column.nullable:
                raise ValueError(f"table {self.name}: column {column.name} is missing in row {dict(row)!r:.200}")
        return row


_SPECS: dict[str, TableSpec] = {}


def register(spec: TableSpec) -> TableSpec:
    """Make a spec known by its name; registering the same name twice with another content is an error."""
    if _SPECS.get(spec.name, spec) != spec:
        raise ValueError(f"table {spec.name} is specified twice")
    _SPECS[spec.name] = spec
    return spec


def registered() -> Mapping[str, TableSpec]:
    """All registered specs by name."""
    return dict(_SPECS)
