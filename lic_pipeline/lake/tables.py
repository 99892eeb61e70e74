"""The lake's table files: one Parquet file per table and partition, replaced as a whole, read by DuckDB or Arrow.

Conversations are the exception (append-only, many files): they live in ``conversations``. A partition is written as
``<table>/<key>=<value>/.../part.parquet`` with encoded values, and read back exactly as specified by its TableSpec;
a nullable column the file is too old to have is NULL.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from lic_pipeline.errors import StorageError
from lic_pipeline.lake.files import read_parquet, safe_part, write_parquet
from lic_pipeline.tables import TableSpec

_FILE = "part.parquet"
_WAY_ON = "remove that file and run the command again: it is made anew"


def partition_path(lake: Path, table: str, partition: Mapping[str, str]) -> Path:
    """Where one partition of a table is stored."""
    folder = lake / table
    for key, value in partition.items():
        folder /= f"{key}={safe_part(value)}"
    return folder / _FILE


def write_partition(
    lake: Path, spec: TableSpec, partition: Mapping[str, str], rows: Iterable[Mapping[str, Any]]
) -> Path:
    """Replace one partition of a table by these rows. Raises StorageError, ValueError for rows that do not fit."""
    path = partition_path(lake, spec.name, partition)
    write_parquet(path, spec.arrow_table(rows))
    return path


def read_partition(lake: Path, spec: TableSpec, partition: Mapping[str, str]) -> list[dict[str, Any]] | None:
    """Rows of one partition, None when it was never written."""
    path = partition_path(lake, spec.name, partition)
    if not path.is_file():
        return None
    rows: list[dict[str, Any]] = _with_later_columns(_read(path), spec).to_pylist()
    return rows


def read_all(lake: Path, spec: TableSpec) -> pa.Table:
    """All partitions of a table in path order, empty with the right schema when there is none. Raises StorageError."""
    files = sorted((lake / spec.name).glob(f"**/{_FILE}"))
    if not files:
        return spec.arrow_schema.empty_table()
    return pa.concat_tables([_as_specified(file, spec) for file in files])


def _as_specified(path: Path, spec: TableSpec) -> pa.Table:
    table = _with_later_columns(_read(path), spec)
    try:
        return table.cast(spec.arrow_schema)
    except (pa.ArrowException, ValueError) as error:
        said = str(error).splitlines()[0]
        raise StorageError(f"{path} holds other columns than {spec.name} has now ({said}); {_WAY_ON}") from error


def _with_later_columns(table: pa.Table, spec: TableSpec) -> pa.Table:
    """A file written before a nullable column came says nothing of it: NULL."""
    later = [column.name for column in spec.columns if column.nullable and column.name not in table.column_names]
    for name in later:
        kind = spec.arrow_schema.field(name)
        table = table.append_column(kind, pa.nulls(table.num_rows, kind.type))
    order = [name for name in spec.arrow_schema.names if name in table.column_names]
    others = [name for name in table.column_names if name not in order]
    return table.select([*order, *others]) if later else table


def _read(path: Path) -> pa.Table:
    try:
        return read_parquet(path)
    except StorageError as error:
        raise StorageError(f"{error}; {_WAY_ON}") from error
