"""Items a plan's model cannot be asked about at all, found before a call is paid.

The estimate (three characters a token, ``models.tokens``) is on the high side and the reply's token limit is set aside,
so an item near the window may be left out although it would just fit; one that is kept may still be refused by the
provider, which costs nothing and ends the conversation with stop reason ``context``.
"""

from __future__ import annotations

from lic_pipeline.models.tokens import estimate_texts
from lic_pipeline.simulation.plan.call_parameters import assistant_parameters
from lic_pipeline.simulation.plan.conversation_plan import Approved, Plan
from lic_pipeline.tasks.protocol import Task


def unanswerable_items(plan: Plan) -> dict[str, str]:
    """Reason by instruction id: ``context`` (too long), or ``no_reference`` (a persona has nothing to say)."""
    if not plan.model.is_persona:
        return too_long_items(plan)
    items = plan.items.items()
    return {name: "no_reference" for name, item in items if plan.task.gold(item.instruction) is None}


def too_long_items(plan: Plan) -> dict[str, str]:
    """``context`` by instruction id for every item whose whole information does not fit beside a reply.

    The same items are left out of every setting, so that settings stay comparable.
    """
    window = plan.model.context_window
    if window is None:
        return {}
    limit = assistant_parameters(plan.experiment, plan.model).get(plan.model.output_limit)
    reply = limit if isinstance(limit, int) and not isinstance(limit, bool) else 0
    return {name: "context" for name, item in plan.items.items() if prompt_tokens(plan.task, item) + reply > window}


def prompt_tokens(task: Task, item: Approved) -> int:
    """Estimated tokens of the longest of: the full message, all shards at once, all shards one by one."""
    instruction, shards = item.instruction, item.shards
    forms = [[task.full_message(instruction)]]
    if shards:
        forms += [
            [task.concat_message(instruction, shards)],
            [task.shard_message(instruction, shard) for shard in shards],
        ]
    return estimate_texts([task.system_prompt(instruction)]) + max(estimate_texts(form) for form in forms)
