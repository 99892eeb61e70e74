"""What is printed at the end of a run: the tables on stdout, what is missing and why on stderr."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lic_pipeline.cli.shared.items_without_reference import WAY_ON

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

    from lic_pipeline.cli.shared.options import RunChoice
    from lic_pipeline.cli.shared.run_partitions import RunSummary
    from lic_pipeline.config import Home
    from lic_pipeline.verification.bookkeeping.status import Partition


def show_results(home: Home, experiment: str, models: list[str], *, as_json: bool) -> None:
    """Print the tables of one experiment and these models."""
    from lic_pipeline.report.console import print_tables
    from lic_pipeline.report.render import rows_of

    with _published(home, experiment, models) as connection:
        if as_json:
            tables = {name: rows_of(connection, name) for name in _SHOWN}
            print(json.dumps({"schema": 1, "experiment": experiment, **tables}, allow_nan=False))
        else:
            print_tables(connection)


_SHOWN = ("reliability_by_task", "reliability_by_model", "degradation_by_task", "degradation", "missing")


@contextmanager
def _published(home: Home, experiment: str, models: list[str]) -> Iterator[duckdb.DuckDBPyConnection]:
    """The published metric tables, cut down to one experiment and these models."""
    import duckdb

    from lic_pipeline.metrics.warehouse import open_warehouse, quoted

    with open_warehouse(home):  # says what to do where the file cannot be read
        pass
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{str(home.warehouse).replace(chr(39), chr(39) * 2)}' AS published (READ_ONLY)")
        wanted = ", ".join("'" + name.replace("'", "''") + "'" for name in models)
        for name in _SHOWN:
            connection.execute(
                f"CREATE VIEW {quoted(name)} AS SELECT * FROM published.{quoted(name)} "
                f"WHERE experiment = '{experiment}' AND model IN ({wanted})"
            )
        yield connection


def print_missing(home: Home, choice: RunChoice, done: RunSummary) -> bool:
    """Say what was done, what could not be used and what is missing; True when a planned conversation is."""
    from lic_pipeline.tasks.summary.stored_verdicts import NO_VERDICT

    print(f"{done.calls:,} calls made, {done.planned:,} conversations wanted", file=sys.stderr)
    for reason in sorted(set(done.skipped)):
        print(f"skipped: {reason}", file=sys.stderr)
    for task in choice.tasks:
        print_unusable(home, task)
    for reason, number in sorted(done.missing.items()):
        retried = reason.startswith("error:") or reason == NO_VERDICT
        way_on = "; lic retry --errors takes them up again" if retried else ""
        if reason in _WAYS_ON:
            way_on = f"; {_WAYS_ON[reason]}"
        print(f"missing: {number} of {done.planned} conversations: {reason}{way_on}", file=sys.stderr)
    if not done.planned and not done.skipped:
        print(
            "missing: no item can be evaluated; `lic import-shards FILE` brings shards, -s FULL alone needs none",
            file=sys.stderr,
        )
        return True
    return bool(done.missing)


_WAYS_ON = {
    "no_reference": WAY_ON,
    "no_shards": "FULL needs none, every other setting does; `lic import-shards FILE` brings them",
}


def print_unusable(home: Home, task: str) -> None:
    """Say what of a task's items cannot be used: counts by reason, and the first bad rows by file and line."""
    from lic_pipeline.lake.tables import read_partition
    from lic_pipeline.records import RecordProblem
    from lic_pipeline.tables.items import PROBLEMS

    for reason, number in _unusable(home, task).items():
        where = "not used beyond FULL" if reason == "no_shards" else "not used"
        print(f"{where}: {task}: {number} items: {reason}", file=sys.stderr)
    rows = read_partition(home.lake, PROBLEMS, {"layer": "benchmarks", "task": task}) or []
    for row in rows[:_NAMED]:
        problem = RecordProblem.model_validate({name: row[name] for name in RecordProblem.model_fields})
        print(f"not used: {problem}", file=sys.stderr)
    if len(rows) > _NAMED:
        print(f"not used: ... and {len(rows) - _NAMED} more; table `problems` holds all", file=sys.stderr)


_NAMED = 5
"""Bad rows named one by one."""


def _unusable(home: Home, task: str) -> Counter[str]:
    from lic_pipeline.lake.tables import read_partition
    from lic_pipeline.tables.items import APPROVED_INSTRUCTIONS, INSTRUCTIONS, OK, PROBLEMS, SHARDED_INSTRUCTIONS

    counts: Counter[str] = Counter()
    for layer in ("benchmarks", "sharding"):
        rows = read_partition(home.lake, PROBLEMS, {"layer": layer, "task": task}) or []
        counts.update(row["reason"].split(":")[0] for row in rows)
    for spec in (INSTRUCTIONS, SHARDED_INSTRUCTIONS, APPROVED_INSTRUCTIONS):
        rows = read_partition(home.lake, spec, {"task": task}) or []
        counts.update(row["status"].removeprefix("quarantined:") for row in rows if row["status"] != OK)
    return counts


def missing_score_reasons(lake: Path, partition: Partition, finished: Collection[str]) -> list[str]:
    """Why finished conversations have no score, one reason each: an unusable judge's reply, no sandbox, no room."""
    from lic_pipeline.lake.tables import read_partition
    from lic_pipeline.tables.scores import SCORES
    from lic_pipeline.verification.bookkeeping.manifests import manifest_partition

    rows = read_partition(lake, SCORES, manifest_partition(*partition)) or []
    return [row["missing_reason"] for row in rows if row["missing_reason"] and row["conversation_id"] in finished]
