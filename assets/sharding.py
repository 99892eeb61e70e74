"""Stage 2: shards for the gated instructions, and which items are approved for evaluation."""

import dagster as dg

from assets.benchmarks import instructions, problem_rows
from assets.layers import land
from assets.partitions import BY_TASK
from lic_pipeline.lake.tables import read_partition, write_partition
from lic_pipeline.sharding.sources import sharded_for
from lic_pipeline.tables_items import APPROVED_INSTRUCTIONS, INSTRUCTIONS, OK, PROBLEMS, SHARDED_INSTRUCTIONS
from lic_pipeline.verification.approval import approval_rows, sharded_rows
from lic_pipeline.verification.gold import instruction_of
from resources.home import HomeResource


@dg.asset(
    deps=[instructions],
    partitions_def=BY_TASK,
    group_name="sharding",
    kinds={"parquet"},
    check_specs=[
        dg.AssetCheckSpec("shards_present", asset="sharded_instructions", blocking=True, partitions_def=BY_TASK)
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
    return land(home.home(), SHARDED_INSTRUCTIONS, {"task": task}, sharded, "shards_present", expected=("no_shards",))


@dg.asset(
    deps=[sharded_instructions],
    partitions_def=BY_TASK,
    group_name="sharding",
    kinds={"parquet"},
    check_specs=[
        dg.AssetCheckSpec("items_approved", asset="approved_instructions", blocking=True, partitions_def=BY_TASK)
    ],
)
def approved_instructions(context: dg.AssetExecutionContext, home: HomeResource) -> dg.MaterializeResult:
    """Items that may be evaluated, each with the reason why."""
    partition = {"task": context.partition_key}
    rows = approval_rows(read_partition(home.home().lake, SHARDED_INSTRUCTIONS, partition) or [])
    return land(home.home(), APPROVED_INSTRUCTIONS, partition, rows, "items_approved", expected=("pending",))
