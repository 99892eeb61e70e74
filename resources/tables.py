"""From a TableSpec to what Dagster shows of a table: its columns with the asset, counts and a link with each version.

What a table is stands with the asset's definition, once; only what a version holds goes into its event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from lic_pipeline.tables import Column, TableSpec

MOST_ROWS = 50
"""Rows a table in an event's metadata shows at most; whoever wants them all reads the file it links to."""


def column_schema(spec: TableSpec) -> dg.TableSchema:
    """The table's columns as Dagster metadata."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(
                column.name,
                column.type,
                description=column.description,
                constraints=dg.TableColumnConstraints(nullable=column.nullable, other=_ranges(column)),
            )
            for column in spec.columns
        ]
    )


def definition_metadata(spec: TableSpec, table_name: str | None = None) -> dict[str, Any]:
    """Metadata of an asset's definition: its columns, its unique key, and its name where SQL can ask for it."""
    named = {"dagster/table_name": table_name} if table_name else {}
    return {"dagster/column_schema": column_schema(spec), "unique_key": ", ".join(spec.key), **named}


def version_metadata(rows: int, path: Path) -> dict[str, Any]:
    """Metadata of one version: row count and link."""
    return {"dagster/row_count": rows, "path": dg.MetadataValue.path(str(path))}


def status_metadata(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Rows by status, nothing for tables whose rows carry none."""
    if not rows or "status" not in rows[0]:
        return {}
    counts = Counter(str(row["status"]) for row in rows)
    return {"ok": counts.get("ok", 0), "statuses": counts_table("status", counts)}


def counts_table(name: str, counts: Mapping[str, int]) -> dg.TableMetadataValue:
    """Counts as a table, the largest first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return records_table((name, "rows"), ordered)


def records_table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> dg.TableMetadataValue:
    """Rows as a table of at most ``MOST_ROWS`` lines; the columns are there even when no row is."""
    listed = list(rows)[:MOST_ROWS]
    schema = dg.TableSchema(columns=[dg.TableColumn(name, _type(listed, place)) for place, name in enumerate(names)])
    records = [dg.TableRecord(dict(zip(names, row, strict=True))) for row in listed]
    return dg.MetadataValue.table(records, schema=schema)


def _type(rows: Sequence[Sequence[Any]], place: int) -> str:
    kinds = {type(row[place]) for row in rows if row[place] is not None}
    if kinds and kinds <= {int, float}:
        return "int" if kinds == {int} else "float"
    return "string"


def _ranges(column: Column) -> list[str]:
    parts = []
    if column.minimum is not None and column.maximum is not None:
        parts.append(f"{column.minimum:g} to {column.maximum:g}")
    elif column.minimum is not None:
        parts.append(f"at least {column.minimum:g}")
    elif column.maximum is not None:
        parts.append(f"at most {column.maximum:g}")
    if column.choices:
        parts.append(f"one of {', '.join(column.choices)}")
    return parts
