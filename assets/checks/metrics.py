"""The check of metric tables: ranges, keys, no NaN, and the relations between P, A90, U90-10 and R."""

from __future__ import annotations

import dagster as dg
import duckdb

from lic_pipeline.tables import TableSpec
from resources.tables import counts_table

RELATIONS = {
    "R_is_100_minus_U": ("R", "U90_10", "abs(R - (100 - U90_10)) > 1e-9"),
    "P_within_bounds": ("P", "P_if_missing_0", "P < P_if_missing_0 - 1e-9 OR P > P_if_missing_100 + 1e-9"),
}
"""Relations between columns: the columns that must exist, and the condition that breaks the rule."""


def metrics_check(connection: duckdb.DuckDBPyConnection, spec: TableSpec) -> dg.AssetCheckResult:
    """Count rows that break the table's rules; any of them blocks."""
    rules = _rules(spec)
    broken = {rule: _count(connection, spec, condition) for rule, condition in rules.items()}
    broken["key_unique"] = _repeated(connection, spec)
    broken = {rule: number for rule, number in broken.items() if number}
    return dg.AssetCheckResult(
        asset_key=spec.name,
        check_name="within_range",
        passed=not broken,
        severity=dg.AssetCheckSeverity.ERROR,
        description="; ".join(f"{number} rows break {rule}" for rule, number in broken.items())
        or f"All {len(rules) + 1} rules hold.",
        metadata={"rules": len(rules) + 1, **({"broken": counts_table("rule", broken)} if broken else {})},
    )


def _rules(spec: TableSpec) -> dict[str, str]:
    rules: dict[str, str] = {}
    names = {column.name for column in spec.columns}
    for column in spec.columns:
        if column.type == "float":
            rules[f"{column.name} is no NaN"] = f'isnan("{column.name}")'
        if column.minimum is not None:
            rules[f"{column.name} >= {column.minimum}"] = f'"{column.name}" < {column.minimum} - 1e-9'
        if column.maximum is not None:
            rules[f"{column.name} <= {column.maximum}"] = f'"{column.name}" > {column.maximum} + 1e-9'
        if not column.nullable:
            rules[f"{column.name} is given"] = f'"{column.name}" IS NULL'
    for rule, (first, second, condition) in RELATIONS.items():
        if {first, second} <= names:
            rules[rule] = condition
    return rules


def _count(connection: duckdb.DuckDBPyConnection, spec: TableSpec, condition: str) -> int:
    row = connection.execute(f'SELECT count(*) FROM "{spec.name}" WHERE {condition}').fetchone()
    return int(row[0]) if row else 0


def _repeated(connection: duckdb.DuckDBPyConnection, spec: TableSpec) -> int:
    keys = ", ".join(f'"{name}"' for name in spec.key)
    row = connection.execute(
        f'SELECT count(*) FROM (SELECT {keys} FROM "{spec.name}" GROUP BY ALL HAVING count(*) > 1)'
    ).fetchone()
    return int(row[0]) if row else 0
