"""The engine without files it once wrote: the lake comes back from the ledger, a lost ledger is said first."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.items import sample_items
from support.scripted_assistant import RIGHT, by_turn, held, hold, plan_of, scores_csv
from support.scripted_processes import undisturbed
from support.scripted_run import answer, big_plan

from lic_pipeline.errors import StorageError
from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.models.ledger import Ledger
from lic_pipeline.models.registry import get_model
from lic_pipeline.records import Setting
from lic_pipeline.simulation.engine import engine
from lic_pipeline.simulation.plan.conversation_plan import make_plan
from lic_pipeline.simulation.plan.experiment import Experiment


def test_lost_lake_files_come_back_without_a_call(tmp_path: Path) -> None:
    plan = big_plan(4, 2)
    wanted = undisturbed(plan, tmp_path)
    files = sorted((tmp_path / "lake").rglob("*.parquet"))
    for remove in (files[:1], files):
        for file in remove:
            file.unlink(missing_ok=True)
        assistant, outcome = hold(plan, tmp_path, by_turn("never said"))
        assert assistant.requests == []
        assert outcome.complete
        assert scores_csv(plan, tmp_path) == wanted


def test_a_full_disk_stops_the_run_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = big_plan(3, 2)

    def full(*_: object) -> None:
        raise StorageError("no space left")

    with monkeypatch.context() as patched:
        patched.setattr(ConversationStore, "append", full)
        with pytest.raises(StorageError, match="no space left"):
            hold(plan, tmp_path, answer)
    assistant, outcome = hold(plan, tmp_path, by_turn("never said"))
    assert assistant.requests == []
    assert outcome.complete
    assert scores_csv(plan, tmp_path) == undisturbed(plan, tmp_path / "calm")


def test_an_error_row_does_not_pass_for_a_lost_finished_one(tmp_path: Path) -> None:
    plan = plan_of(Setting.FULL)
    hold(plan, tmp_path, by_turn(ValueError("first")))
    failed = set((tmp_path / "lake").rglob("*.parquet"))
    with Ledger.open(tmp_path / "ledger") as ledger:
        ledger.reopen([plan.specs[0].conversation_id])
    hold(plan, tmp_path, by_turn(RIGHT))
    for file in set((tmp_path / "lake").rglob("*.parquet")) - failed:
        file.unlink()
    assert held(plan, tmp_path)[0].state == "error:internal"
    assistant, outcome = hold(plan, tmp_path, by_turn("never said"))
    assert (assistant.requests, outcome.complete, held(plan, tmp_path)[0].state) == ([], True, "done")


def test_a_lost_ledger_is_said_before_anything_is_paid_for_again(tmp_path: Path) -> None:
    plan = make_plan(
        Experiment(name="lost", runs=1, settings=(Setting.FULL,)), "math", get_model("sim/lost"), sample_items("math")
    )
    lake = tmp_path / "lake"
    with Ledger.open(tmp_path / "ledger") as ledger:
        assert engine.run(plan, ledger, lake).calls > 0
    with Ledger.open(tmp_path / "other") as empty, pytest.raises(StorageError, match="lic ledger rebuild"):
        engine.run(plan, empty, lake)
    with Ledger.open(tmp_path / "ledger") as ledger:
        assert engine.run(plan, ledger, lake).calls == 0
