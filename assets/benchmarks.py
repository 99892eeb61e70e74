"""Stage 1: raw benchmark files, and from them gated instructions by task."""

from collections.abc import Sequence
from typing import Any

import dagster as dg

from assets.checks.layer import layer_check
from assets.layers import write_checked
from assets.partitions import BY_TASK
from lic_pipeline.benchmarks.rawfiles import Reading
from lic_pipeline.benchmarks.registry import READERS, Reader, locate, read_source
from lic_pipeline.lake.tables import write_partition
from lic_pipeline.records import RecordProblem
from lic_pipeline.sharding.sources import all_instructions
from lic_pipeline.tables.items import BENCHMARK_FILES, INSTRUCTIONS, PROBLEMS
from lic_pipeline.tasks.registry import get_task
from lic_pipeline.verification.bookkeeping.fingerprints import GATE_VERSION
from lic_pipeline.verification.items.gold_check import gated_instructions
from lic_pipeline.verification.items.item_versions import keep_versions
from resources.home import HomeResource
from resources.ledger import LedgerResource
from resources.tables import definition_metadata, records_table, version_metadata

EXPECTED_REASONS = ("no_database", "empty", "filter_inert", "whole_table", "single_table", "limit_tie", "no_reference")
"""Reasons that say what an item cannot be used for; they are counted but are no fault of the run."""

READABLE = "rows_readable"
GOLD = "gold_scores_100"


def _raw_asset(reader: Reader) -> dg.AssetsDefinition:
    @dg.asset(
        name=reader.benchmark,
        group_name="benchmarks",
        kinds={"file"},
        description=f"Raw files of {reader.title} for task {reader.task}: which copy is used, checksums, rows, and "
        f"the rows that cannot be read.",
        metadata={
            "task": reader.task,
            "license": reader.license,
            "files_looked_for": ", ".join(f"{reader.folder}/{glob}" for glob in reader.globs),
        },
        check_specs=[
            dg.AssetCheckSpec(
                READABLE,
                asset=reader.benchmark,
                blocking=True,
                description="Every row of the raw files can be read; above the tolerated share the run stops.",
            )
        ],
    )
    def raw(home: HomeResource) -> dg.MaterializeResult:
        source = locate(reader.benchmark)
        reading = read_source(source)
        path = write_partition(
            home.home().lake, BENCHMARK_FILES, {"benchmark": reader.benchmark}, _file_rows(reader, source.kind, reading)
        )
        files = [(file.path, file.rows, file.bytes, file.sha256) for file in reading.files]
        return dg.MaterializeResult(
            metadata={
                "dagster/row_count": sum(file.rows for file in reading.files),
                "source": source.kind,
                "folder": dg.MetadataValue.path(str(source.folder)),
                "instructions": len(reading.instructions),
                "unusable_rows": len(reading.problems),
                "files": records_table(("file", "rows", "bytes", "sha256"), files),
                "provenance": version_metadata(0, path)["path"],
            },
            check_results=[
                layer_check(
                    READABLE,
                    [{"instruction_id": item.instruction_id} for item in reading.instructions],
                    [] if reading.instructions or reading.problems else ["the files hold no row at all"],
                    expected=EXPECTED_REASONS,
                    lost=_lost(reading.problems),
                )
            ],
        )

    return raw


def _file_rows(reader: Reader, kind: str, reading: Reading) -> list[dict[str, Any]]:
    return [
        {"benchmark": reader.benchmark, "source": kind, "path": file.path, "sha256": file.sha256,
         "rows": file.rows, "bytes": file.bytes}
        for file in reading.files
    ]  # fmt: skip


RAW_ASSETS = [_raw_asset(reader) for reader in READERS.values()]


@dg.asset(
    deps=[reader.benchmark for reader in READERS.values()],
    partitions_def=BY_TASK,
    group_name="benchmarks",
    kinds={"parquet"},
    code_version=str(GATE_VERSION),
    metadata=definition_metadata(INSTRUCTIONS),
    check_specs=[
        dg.AssetCheckSpec(
            GOLD,
            asset="instructions",
            blocking=True,
            partitions_def=BY_TASK,
            description="Every item is well formed, its reference answer scores 100, and it can tell right from wrong.",
        )
    ],
)
def instructions(context: dg.AssetExecutionContext, home: HomeResource, ledger: LedgerResource) -> dg.MaterializeResult:
    """Fully specified instructions of a task. What cannot be used stays as a row with its reason (status)."""
    task = get_task(context.partition_key)
    found, problems = all_instructions(task.name, home.home())
    with ledger.open() as store:
        rows = gated_instructions(task, found, store)
    lake = home.home().lake
    keep_versions(lake, task.name, rows)
    listed = problem_rows("benchmarks", problems, task.name)
    write_partition(lake, PROBLEMS, {"layer": "benchmarks", "task": task.name}, listed)
    return write_checked(
        home.home(),
        INSTRUCTIONS,
        {"task": task.name},
        rows,
        GOLD,
        expected=EXPECTED_REASONS,
        lost=_lost(problems),
        metadata={"unusable_rows": problems_table(problems)} if problems else {},
    )


def problem_rows(layer: str, problems: Sequence[RecordProblem], task: str) -> list[dict[str, Any]]:
    """Rows of ``problems`` for one layer and task."""
    return [
        {"task": task, "layer": layer, "place": place, **problem.model_dump()} for place, problem in enumerate(problems)
    ]


def problems_table(problems: Sequence[RecordProblem]) -> dg.TableMetadataValue:
    """Rows that never became records, for an event's metadata."""
    rows = [(problem.file, problem.line, problem.record_id, problem.field, problem.reason) for problem in problems]
    return records_table(("file", "line", "record", "field", "reason"), rows)


def _lost(problems: Sequence[RecordProblem]) -> list[tuple[str, str]]:
    return [(_place(problem), problem.reason) for problem in problems]


def _place(problem: RecordProblem) -> str:
    line = f"{problem.file}, line {problem.line}" if problem.line else problem.file
    return f"{line} ({problem.record_id})" if problem.record_id else line
