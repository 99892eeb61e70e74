"""Items nobody has cut into shards: in FULL only, last in order, and never where an experiment did not ask for them."""

from __future__ import annotations

import pytest
from support.items import sample_items
from support.scripted_assistant import FAKE

from lic_pipeline.records import Setting
from lic_pipeline.simulation.plan.context_limits import too_long_items
from lic_pipeline.simulation.plan.conversation_plan import Approved, Plan, make_plan
from lic_pipeline.simulation.plan.experiment import Experiment

SHARDED = sample_items("math")[:4]


def _bare(number: int, source: str = "imported") -> Approved:
    item = sample_items("math")[number]
    return Approved(item.instruction.model_copy(update={"source": source}), None, "unsharded")


def _plan(*settings: str, items: list[Approved], limit: int | None = None) -> Plan:
    fields = {"name": "own", "settings": settings, "runs": 2, "simulator": "scripted", "limit": limit}
    return make_plan(Experiment.model_validate(fields), "math", FAKE, items)


def _count(plan: Plan, setting: Setting) -> tuple[int, int]:
    held = sum(spec.setting is setting for spec in plan.specs)
    return held, sum(spec.setting is setting for spec in plan.withheld)


def test_settings_that_need_shards_withhold_what_full_holds() -> None:
    plan = _plan("FULL", "CONCAT", "SHARDED", "RECAP", items=[*SHARDED, _bare(4), _bare(5)])
    assert _count(plan, Setting.FULL) == (12, 0)
    for setting in (Setting.CONCAT, Setting.SHARDED, Setting.RECAP):
        assert _count(plan, setting) == (8, 4)
    rows = plan.manifest_rows()
    assert len({row["conversation_id"] for row in rows}) == len(rows) == 48
    assert plan.signatures[Setting.FULL] != plan.signatures[Setting.SHARDED]


def test_nothing_of_a_plan_changes_where_every_item_is_sharded() -> None:
    alone, beside = (_plan("FULL", "SHARDED", items=items) for items in ([*SHARDED], [*SHARDED, _bare(4)]))
    kept = {spec.conversation_id for spec in beside.specs if spec.instruction_id in alone.items}
    assert kept == {spec.conversation_id for spec in alone.specs}
    assert alone.signatures[Setting.SHARDED] == beside.signatures[Setting.SHARDED]


def test_shards_that_come_later_leave_the_id_in_full() -> None:
    item = sample_items("math")[4]
    before, after = (_plan("FULL", items=[one]) for one in (Approved(item.instruction, None, "unsharded"), item))
    assert [spec.conversation_id for spec in before.specs] == [spec.conversation_id for spec in after.specs]


@pytest.mark.parametrize("limit", [1, 3, 4, 5])
def test_a_limit_takes_items_with_shards_first(limit: int) -> None:
    plan = _plan("FULL", "SHARDED", items=[_bare(4), _bare(5), *SHARDED], limit=limit)
    assert [bool(item.shards) for item in plan.items.values()] == ([True] * 4 + [False])[:limit]


def test_rows_of_a_benchmark_nobody_sharded_cost_nothing_in_a_comparison() -> None:
    items = [*SHARDED, _bare(4, source="file")]
    assert len(_plan("FULL", "SHARDED", items=items).items) == 4
    assert len(_plan("FULL", items=items).items) == 5


def test_whether_an_item_fits_a_window_is_told_without_shards() -> None:
    plan = _plan("FULL", items=[_bare(4)])
    narrow = Plan(plan.experiment, plan.task, FAKE.model_copy(update={"context_window": 10}), plan.items, (), {})
    assert too_long_items(plan) == {}
    assert list(too_long_items(narrow).values()) == ["context"]
