"""Approved items of our own samples, without Dagster and without gold checks (those have tests of their own)."""

from __future__ import annotations

from functools import cache

from lic_pipeline.sharding.sources import all_instructions, sharded_for
from lic_pipeline.simulation.plan.conversation_plan import Approved


@cache
def sample_items(task: str) -> tuple[Approved, ...]:
    """Every embedded sample of a task with its authored shards."""
    instructions, problems = all_instructions(task)
    assert not problems
    shards = sharded_for(instructions).sharded
    return tuple(Approved(one, shards[one.instruction_id], "authored") for one in instructions)
