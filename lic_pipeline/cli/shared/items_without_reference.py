"""Items without a reference solution: no persona can play them, and what a real model would still do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lic_pipeline.cli.shared.output import say

if TYPE_CHECKING:
    from lic_pipeline.records import Instruction
    from lic_pipeline.simulation.plan.conversation_plan import Plan

WAY_ON = "a persona has no right reply to give there, a real model is asked and scored as usual"
_NAMED = 20


def without_reference(instructions: Iterable[Instruction]) -> list[str]:
    """Ids of those that have no reference solution; what scores their replies (tests, say) may well be there."""
    from lic_pipeline.errors import RecordError
    from lic_pipeline.tasks.registry import get_task

    found = []
    for instruction in instructions:
        try:
            if get_task(instruction.task).gold(instruction) is None:
                found.append(instruction.instruction_id)
        except RecordError:  # unusable for everybody, which is said elsewhere
            continue
    return found


def unplayable(plan: Plan) -> list[str]:
    """Items of the plan that its model, a persona, cannot play; none for a real model."""
    return without_reference(item.instruction for item in plan.items.values()) if plan.model.is_persona else []


def tell(task: str, names: Iterable[str]) -> None:
    """One line per item, on stderr."""
    listed = list(names)
    for name in listed[:_NAMED]:
        say(f"no_reference: {task}: {name} has no reference solution: {WAY_ON}")
    if len(listed) > _NAMED:
        say(f"no_reference: {task}: ... and {len(listed) - _NAMED} more without a reference solution")
