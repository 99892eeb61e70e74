"""What the layers set aside, counted by layer, task and reason; read from the tables the warehouse happens to hold."""

from __future__ import annotations

import duckdb

_LAYERS = ("instructions", "sharded_instructions", "approved_instructions")


def quarantined(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str, int]]:
    """(layer, task, reason, rows): unusable records of ``problems``, and rows of a layer whose status is not ok."""
    columns = connection.execute("SELECT table_name, column_name FROM information_schema.columns").fetchall()
    held = {(str(table), str(column)) for table, column in columns}
    found: list[tuple[str, str, str, int]] = []
    if ("problems", "reason") in held:
        found += _counted(connection, "SELECT layer, task, reason FROM problems")
    for layer in _LAYERS:
        if (layer, "status") in held:
            query = (
                f"SELECT '{layer}', task, regexp_replace(status, '^quarantined:', '') FROM {layer} WHERE status != 'ok'"
            )
            found += _counted(connection, query)
    return sorted(found)


def _counted(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple[str, str, str, int]]:
    rows = connection.execute(
        f"SELECT layer, task, reason, count(*) FROM ({query}) AS held(layer, task, reason) GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    return [(str(layer), str(task), str(reason), int(n)) for layer, task, reason, n in rows]
