"""Stage 2: shards for the gated instructions, and which items are approved for evaluation."""

from collections import Counter

import dagster as dg

from assets.benchmarks import instructions, problem_rows, problems_table
from assets.layers import write_checked
from assets.partitions import BY_TASK
from lic_pipeline.lake.tables import read_partition, write_partition
from lic_pipeline.sharding.sources import sharded_for
from lic_pipeline.tables.items import APPROVED_INSTRUCTIONS, INSTRUCTIONS, OK, PROBLEMS, SHARDED_INSTRUCTIONS
from lic_pipeline.verification.bookkeeping.fingerprints import GATE_VERSION
from lic_pipeline.verification.items.approval import approval_rows, sharded_rows
from lic_pipeline.verification.items.gold_check import instruction_of
from resources.home import HomeResource
from resources.tables import counts_table, definition_metadata

SHARDS = "shards_present"
APPROVED = "items_approved"


@dg.asset(
    deps=[instructions],
    partitions_def=BY_TASK,
    group_name="sharding",
    kinds={"parquet"},
    code_version=str(GATE_VERSION),
    metadata=definition_metadata(SHARDED_INSTRUCTIONS),
    check_specs=[
        dg.AssetCheckSpec(
            SHARDS,
            asset="sharded_instructions",
            blocking=True,
            partitions_def=BY_TASK,
            description="Every usable instruction has two or more shards, numbered from 1, none of them empty.",
        )
    ],
)
def sharded_instructions(context: dg.AssetExecutionContext, home: HomeResource) -> dg.MaterializeResult:
    """Shards of each usable instruction, imported or our own; items nobody sharded are set aside as no_shards."""
    lake = home.home().lake
    task = context.partition_key
    rows = [row for row in read_partition(lake, INSTRUCTIONS, {"task": task}) or [] if row["status"] == OK]
    found = sharded_for([instruction_of(row) for row in rows], home.home())
    sharded = sharded_rows(rows, found.sharded)
    problems = [problem for problem in found.problems if problem.reason != "no_shards"]
    write_partition(lake, PROBLEMS, {"layer": "sharding", "task": task}, problem_rows("sharding", problems, task))
    sizes = Counter(f"{row['n_shards']:2d}" for row in sharded if row["n_shards"])
    return write_checked(
        home.home(),
        SHARDED_INSTRUCTIONS,
        {"task": task},
        sharded,
        SHARDS,
        expected=("no_shards",),
        metadata={
            "shards_per_item": counts_table("shards", sizes),
            **({"unusable_shard_lists": problems_table(problems)} if problems else {}),
        },
    )


@dg.asset(
    deps=[sharded_instructions],
    partitions_def=BY_TASK,
    group_name="sharding",
    kinds={"parquet"},
    code_version=str(GATE_VERSION),
    metadata=definition_metadata(APPROVED_INSTRUCTIONS),
    check_specs=[
        dg.AssetCheckSpec(
            APPROVED,
            asset="approved_instructions",
            blocking=True,
            partitions_def=BY_TASK,
            description="Every sharded item is approved: reviewed, verified, released or our own.",
        )
    ],
)
def approved_instructions(context: dg.AssetExecutionContext, home: HomeResource) -> dg.MaterializeResult:
    """Items that may be evaluated, each with the reason why; generated shards wait as pending until looked at."""
    partition = {"task": context.partition_key}
    rows = approval_rows(read_partition(home.home().lake, SHARDED_INSTRUCTIONS, partition) or [])
    approvals = Counter(str(row["approval"]) for row in rows)
    return write_checked(
        home.home(),
        APPROVED_INSTRUCTIONS,
        partition,
        rows,
        APPROVED,
        expected=("pending",),
        metadata={"approvals": counts_table("approval", approvals)},
    )
