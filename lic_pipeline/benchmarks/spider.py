"""Spider: questions over databases, ``dev.json`` -> database instructions ``spider/<dev_index>``.

``dev_index`` is the row's own field, else its place in the array. Where databases come from is in ``spider_databases``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lic_pipeline.benchmarks.fields import need_text
from lic_pipeline.benchmarks.rawfiles import Collector, Reading, Row
from lic_pipeline.benchmarks.spider_databases import Databases
from lic_pipeline.errors import RecordError
from lic_pipeline.records import Instruction, Json

GLOBS = ("dev.json", "database/*/*.sqlite", "database/*/schema.sql")


def read(folder: Path) -> Reading:
    """All questions below ``folder`` whose database is there; databases are opened once, and listed with 0 rows."""
    collector, databases = Collector(folder), Databases(folder)
    for path in collector.find("dev.json"):
        for row in collector.rows(path):
            collector.add(row, lambda row: _build_row(row, databases))
    for path in databases.files():
        collector.note(path, rows=0)
    return collector.reading()


def build(
    value: Mapping[str, Json], instruction_id: str, databases: Databases, *, question: str, query: str
) -> Instruction:
    """The instruction of a row whose ``question`` and ``query`` fields have these names; ``schema_sql`` may be given.

    Raises RecordError naming the field; ``no_database: <db_id>`` when the database is not in the folder.
    """
    text, sql, db_id = need_text(value, question), need_text(value, query), need_text(value, "db_id")
    database = databases.get(db_id)
    own_schema = value.get("schema_sql")
    if own_schema is not None:
        own_schema = need_text(value, "schema_sql")
    return Instruction(
        instruction_id=instruction_id,
        task="database",
        benchmark="spider",
        text=text.strip(),
        context={"schema_sql": own_schema or database.schema_sql},
        reference={"reference_sql": sql.strip(), "db_id": db_id, **database.reference},
        metadata={"difficulty": value["spider_difficulty"]} if value.get("spider_difficulty") else {},
    )


def _build_row(row: Row, databases: Databases) -> Instruction:
    index = row.value.get("dev_index", row.index)
    if not isinstance(index, int) or isinstance(index, bool) or index < 0:
        raise RecordError("must be a whole number of at least 0", field="dev_index")
    plain: dict[str, Json] = {key: row.value[key] for key in ("question", "query", "db_id") if key in row.value}
    return build(plain, f"spider/{index}", databases, question="question", query="query")
