"""In which order the engine takes up families: that of the plan, but the longest first where the work runs out.

A run that is stopped by its budget keeps whole items in all settings; a run that comes to its end keeps every
connection busy, because what is left then is short.
"""

from __future__ import annotations

from collections.abc import Sequence

from lic_pipeline.records import DERIVED, SINGLE_TURN
from lic_pipeline.simulation.plan.conversation_plan import ConversationSpec, Family

LAST_PER_CONNECTION = 16
"""Families per connection that are taken longest first: enough short ones to outlast the longest conversation."""


def longest_of_the_last_first(families: Sequence[Family], connections: int) -> list[Family]:
    """The plan's order; of the last ``LAST_PER_CONNECTION * connections`` families those with most turns first."""
    start = max(0, len(families) - LAST_PER_CONNECTION * connections)
    return [*families[:start], *sorted(families[start:], key=expected_turns, reverse=True)]


def expected_turns(family: Family) -> int:
    """Assistant turns of a family when every turn reveals one shard and none stops early."""
    return sum(_turns(spec) for spec in family.specs)


def _turns(spec: ConversationSpec) -> int:
    return 1 if spec.setting in SINGLE_TURN or spec.setting in DERIVED else len(spec.shard_order)
