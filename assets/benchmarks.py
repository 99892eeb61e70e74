"""Stage 1: raw benchmark files, and from them gated instructions by task."""

from typing import Any

import dagster as dg

from assets.checks.layer import tolerated_share
from assets.layers import land
from assets.partitions import BY_TASK
from lic_pipeline.benchmarks.registry import READERS, Reader, locate, read_source
from lic_pipeline.lake.tables import write_partition
from lic_pipeline.records import RecordProblem
from lic_pipeline.sharding.sources import all_instructions
from lic_pipeline.tables_items import BENCHMARK_FILES, INSTRUCTIONS, PROBLEMS
from lic_pipeline.tasks.registry import get_task
from lic_pipeline.verification.gold import gated_instructions
from resources.home import HomeResource
from resources.ledger import LedgerResource
from resources.tables import table_metadata

EXPECTED_REASONS = ("no_database", "empty", "filter_inert", "whole_table", "single_table", "limit_tie", "no_reference")
"""Reasons that say what an item cannot be used for; they are counted but are no fault of the run."""


def _raw_asset(reader: Reader) -> dg.AssetsDefinition:
    @dg.asset(
        name=reader.benchmark,
        group_name="benchmarks",
        kinds={"json"},
        description=f"Raw files of {reader.title} ({reader.license}): which copy, checksums, rows, unusable rows.",
        check_specs=[dg.AssetCheckSpec("rows_readable", asset=reader.benchmark)],
    )
    def raw(home: HomeResource) -> dg.MaterializeResult:
        source = locate(reader.benchmark)
        reading = read_source(source)
        files = [
            {"benchmark": reader.benchmark, "source": source.kind, "path": file.path, "sha256": file.sha256,
             "rows": file.rows, "bytes": file.bytes}
            for file in reading.files
        ]  # fmt: skip
        path = write_partition(home.home().lake, BENCHMARK_FILES, {"benchmark": reader.benchmark}, files)
        rows = len(reading.instructions) + len(reading.problems)
        faults = [problem for problem in reading.problems if not problem.reason.startswith(EXPECTED_REASONS)]
        return dg.MaterializeResult(
            metadata={
                **table_metadata(BENCHMARK_FILES, files, path),
                "source": source.kind,
                "folder": dg.MetadataValue.path(str(source.folder)),
                "instructions": len(reading.instructions),
                "unusable_rows": len(reading.problems),
            },
            check_results=[
                dg.AssetCheckResult(
                    check_name="rows_readable",
                    passed=not reading.problems,
                    severity=dg.AssetCheckSeverity.ERROR
                    if not rows or len(faults) > tolerated_share() * rows
                    else dg.AssetCheckSeverity.WARN,
                    metadata={
                        "rows": rows,
                        "unusable": len(reading.problems),
                        "first": dg.MetadataValue.json([str(problem) for problem in reading.problems[:20]]),
                    },
                )
            ],
        )

    return raw


RAW_ASSETS = [_raw_asset(reader) for reader in READERS.values()]


@dg.asset(
    deps=[reader.benchmark for reader in READERS.values()],
    partitions_def=BY_TASK,
    group_name="benchmarks",
    kinds={"parquet"},
    check_specs=[dg.AssetCheckSpec("gold_scores_100", asset="instructions", blocking=True, partitions_def=BY_TASK)],
)
def instructions(context: dg.AssetExecutionContext, home: HomeResource, ledger: LedgerResource) -> dg.MaterializeResult:
    """Fully specified instructions of a task: well formed, unique, and their reference answer scores 100."""
    task = get_task(context.partition_key)
    found, problems = all_instructions(task.name, home.home())
    with ledger.open() as store:
        rows = gated_instructions(task, found, store)
    lake = home.home().lake
    listed = problem_rows("benchmarks", problems, task.name)
    write_partition(lake, PROBLEMS, {"layer": "benchmarks", "task": task.name}, listed)
    return land(
        home.home(),
        INSTRUCTIONS,
        {"task": task.name},
        rows,
        "gold_scores_100",
        expected=EXPECTED_REASONS,
        metadata={"unusable_rows": len(problems)},
    )


def problem_rows(layer: str, problems: list[RecordProblem], task: str) -> list[dict[str, Any]]:
    """Rows of ``problems`` for one layer and task."""
    return [
        {"task": task, "layer": layer, "place": place, **problem.model_dump()} for place, problem in enumerate(problems)
    ]
