"""From a TableSpec to what Dagster shows of a table: column schema, row count, link, counts by status."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from lic_pipeline.tables import Column, TableSpec


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


def table_metadata(spec: TableSpec, rows: Sequence[Mapping[str, Any]], path: Path) -> dict[str, Any]:
    """Row count, schema and link of one written partition."""
    return {
        "dagster/row_count": len(rows),
        "dagster/column_schema": column_schema(spec),
        "path": dg.MetadataValue.path(str(path)),
        **status_metadata(rows),
    }


def status_metadata(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Counts by status, with a table of reasons where something is quarantined."""
    if not rows or "status" not in rows[0]:
        return {}
    counts = Counter(row["status"] for row in rows)
    records = [dg.TableRecord({"status": status, "rows": number}) for status, number in sorted(counts.items())]
    return {"ok": counts.get("ok", 0), "statuses": dg.MetadataValue.table(records)}


def _ranges(column: Column) -> list[str]:
    parts = []
    if column.minimum is not None or column.maximum is not None:
        parts.append(f"between {column.minimum} and {column.maximum}")
    if column.choices:
        parts.append(f"one of {', '.join(column.choices)}")
    return parts
