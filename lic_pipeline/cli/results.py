"""What is printed at the end of a run: the tables on stdout, what is missing and why on stderr."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lic_pipeline.cli.options import Choice
    from lic_pipeline.cli.running import Done
    from lic_pipeline.config import Home


def show_results(home: Home, experiment: str, models: list[str], *, as_json: bool) -> None:
    """Print the tables of one experiment and these models."""
    from lic_pipeline.metrics.warehouse import open_warehouse
    from lic_pipeline.report.console import console_tables, results_document

    with open_warehouse(home) as connection:
        if as_json:
            print(json.dumps(results_document(connection, experiment, models), allow_nan=False))
        else:
            console_tables(connection, experiment, models)


def tell_missing(home: Home, choice: Choice, done: Done) -> bool:
    """Say what could not be used or has no outcome; True when a planned conversation is missing."""
    for reason in sorted(set(done.skipped)):
        print(f"skipped: {reason}", file=sys.stderr)
    for task in choice.tasks:
        for reason, number in _unusable(home, task).items():
            print(f"not used: {task}: {number} items: {reason}", file=sys.stderr)
    for reason, number in sorted(done.missing.items()):
        print(f"missing: {number} of {done.planned} conversations: {reason}", file=sys.stderr)
    return bool(done.missing)


def _unusable(home: Home, task: str) -> Counter[str]:
    from lic_pipeline.lake.tables import read_partition
    from lic_pipeline.tables_items import APPROVED_INSTRUCTIONS, INSTRUCTIONS, OK, PROBLEMS, SHARDED_INSTRUCTIONS

    counts: Counter[str] = Counter()
    for layer in ("benchmarks", "sharding"):
        rows = read_partition(home.lake, PROBLEMS, {"layer": layer, "task": task}) or []
        counts.update(row["reason"].split(":")[0] for row in rows)
    for spec in (INSTRUCTIONS, SHARDED_INSTRUCTIONS, APPROVED_INSTRUCTIONS):
        rows = read_partition(home.lake, spec, {"task": task}) or []
        counts.update(row["status"].removeprefix("quarantined:") for row in rows if row["status"] != OK)
    return counts
