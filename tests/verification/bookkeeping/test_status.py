"""What a manifest says of conversations no run would hold: the same in every view, and read without a plan at hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.math_plans import entry_at, math_plan

from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.lake.tables import read_partition, write_partition
from lic_pipeline.metrics.inputs import input_tables
from lic_pipeline.models.ledger import Ledger
from lic_pipeline.models.registry import get_model
from lic_pipeline.simulation.engine.engine import run
from lic_pipeline.simulation.plan.conversation_plan import Plan
from lic_pipeline.simulation.resume.pending_conversations import PendingConversations
from lic_pipeline.tables.runs import MANIFESTS
from lic_pipeline.tasks.math.task import MathTask
from lic_pipeline.verification.bookkeeping.manifests import (
    manifest_is,
    manifest_partition,
    publish_manifest,
    read_manifest,
)
from lic_pipeline.verification.bookkeeping.status import Partition, open_by_reason, partition_status

NOWHERE = "http://127.0.0.1:9/v1"


def too_long() -> Plan:
    """For a window beside whose reply nothing fits."""
    return math_plan(entry_at(NOWHERE, context_window=200), 2)


def without_reference() -> Plan:
    """For a persona."""
    return math_plan(get_model("sim/steady"), 2)


@pytest.fixture(autouse=True)
def _one_item_has_no_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    gold = MathTask.gold
    monkeypatch.setattr(MathTask, "gold", lambda task, one: None if one.instruction_id == "own/1" else gold(task, one))


def of(plan: Plan) -> Partition:
    return Partition(plan.experiment.name, plan.task.name, plan.model.alias)


@pytest.mark.parametrize(
    ("make", "missing", "done"), [(too_long, {"context": 6}, 0), (without_reference, {"no_reference": 3}, 3)]
)
def test_what_no_run_would_hold_is_missing_for_one_reason_everywhere(
    tmp_path: Path, make: Any, missing: dict[str, int], done: int
) -> None:
    plan, lake = make(), tmp_path / "lake"
    with Ledger.open(tmp_path / "ledger") as ledger:
        outcome = run(plan, ledger, lake)
        assert (outcome.missing, outcome.held) == (missing, done)
        publish_manifest(lake, plan)
        found = partition_status(lake, ledger, of(plan))
        assert (found.missing, found.done) == (missing, done)
        pending = PendingConversations(plan, ledger, ConversationStore(lake, "math", plan.model.alias))
        assert {reason for _, reason in open_by_reason(pending)} == set(missing)
    reasons = input_tables(lake)["planned"].column("unanswerable").to_pylist()
    assert {name: reasons.count(name) for name in set(reasons) - {None}} == missing


def test_what_is_held_and_in_the_lake_is_done_whatever_the_window_is_now(tmp_path: Path) -> None:
    plan, lake = without_reference(), tmp_path / "lake"
    with Ledger.open(tmp_path / "ledger") as ledger:
        run(plan, ledger, lake)
        publish_manifest(lake, plan)
        rows = read_manifest(lake, *of(plan)) or []
        later = [{**row, "unanswerable": "context"} for row in rows]
        write_partition(lake, MANIFESTS, manifest_partition(*of(plan)), later)
        found = partition_status(lake, ledger, of(plan))
    assert (found.done, found.missing) == (3, {"context": 3})


def test_a_manifest_of_another_window_is_not_this_plans(tmp_path: Path) -> None:
    plan, wide = too_long(), math_plan(entry_at(NOWHERE), 2)
    assert [spec.conversation_id for spec in plan.specs] == [spec.conversation_id for spec in wide.specs]
    publish_manifest(tmp_path, plan)
    stored = read_partition(tmp_path, MANIFESTS, manifest_partition(*of(plan)))
    assert manifest_is(plan, stored)
    assert not manifest_is(wide, stored)
