"""The order in which families are taken up."""

from __future__ import annotations

from collections import Counter

import pytest

from lic_pipeline.records import Setting
from lic_pipeline.simulation.engine.family_order import LAST_PER_CONNECTION, expected_turns, longest_of_the_last_first
from lic_pipeline.simulation.plan.conversation_plan import Family, Plan
from tests.support.math_plans import entry_at, math_plan

ALL = ("FULL", "CONCAT", "SHARDED", "SNOWBALL", "RECAP")


@pytest.fixture(scope="module")
def plan() -> Plan:
    """Twenty items of four shards; RECAP belongs to the family of its SHARDED."""
    return math_plan(entry_at("http://127.0.0.1:9/v1"), 20, settings=ALL)


def _setting(family: Family) -> Setting:
    return family.specs[0].setting


def test_a_family_is_as_long_as_its_turns(plan: Plan) -> None:
    turns = {_setting(family): expected_turns(family) for family in plan.families}
    assert turns == {Setting.FULL: 1, Setting.CONCAT: 1, Setting.SHARDED: 5, Setting.SNOWBALL: 4}


@pytest.mark.parametrize(("connections", "sorted_from"), [(1, 80 - LAST_PER_CONNECTION), (5, 0), (64, 0)])
def test_only_the_last_families_are_taken_longest_first(plan: Plan, connections: int, sorted_from: int) -> None:
    ordered = longest_of_the_last_first(plan.families, connections)
    assert ordered[:sorted_from] == list(plan.families[:sorted_from])
    lengths = [expected_turns(family) for family in ordered[sorted_from:]]
    assert lengths == sorted(lengths, reverse=True)
    assert Counter(map(id, ordered)) == Counter(map(id, plan.families))


def test_equally_long_families_keep_the_order_of_the_plan(plan: Plan) -> None:
    ordered = longest_of_the_last_first(plan.families, 64)
    for setting in (Setting.FULL, Setting.SHARDED):
        names = [family.specs[0].instruction_id for family in ordered if _setting(family) is setting]
        assert names == list(plan.items)


def test_nothing_to_do_has_no_order() -> None:
    assert longest_of_the_last_first([], 8) == []
