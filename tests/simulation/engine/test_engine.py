"""The engine on a plan: work that is done costs nothing, and neither concurrency nor a display changes a row."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.scripted_assistant import FAKE, RIGHT, TALK, by_turn, held, hold, plan_of, scores_csv
from support.scripted_processes import RUNNER
from support.scripted_run import answer, big_plan

from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.models.ledger import CallKey, Ledger
from lic_pipeline.records import Setting
from lic_pipeline.simulation.engine.outcome import Progress
from lic_pipeline.simulation.engine.progress_listeners import listening
from lic_pipeline.simulation.plan.conversation_plan import Plan
from lic_pipeline.simulation.resume.pending_conversations import PendingConversations


def test_finished_work_makes_no_call(tmp_path: Path) -> None:
    plan = big_plan(3, 2)
    first, outcome = hold(plan, tmp_path, answer)
    assert outcome.complete
    assert outcome.held == outcome.total == len(plan.specs)
    assert outcome.calls == len(first.requests)
    again, outcome = hold(plan, tmp_path, answer)
    assert again.requests == []
    assert (outcome.already, outcome.held, outcome.calls) == (len(plan.specs), 0, 0)
    more = big_plan(3, 3)
    third, outcome = hold(more, tmp_path, answer)
    assert outcome.already == len(plan.specs)
    assert {turn_context.spec.run for turn_context in third.stages} == {2}


def test_an_empty_plan_is_complete(tmp_path: Path) -> None:
    plan = plan_of(Setting.FULL)
    empty = Plan(plan.experiment, plan.task, plan.model, {}, (), {})
    _voice, outcome = hold(empty, tmp_path, answer)
    assert outcome.complete
    assert outcome.total == 0


def test_any_concurrency_gives_the_same_rows_byte_for_byte(tmp_path: Path) -> None:
    plan = big_plan(6, 3)
    tables = set()
    for connections in (1, 8, 64):
        home = tmp_path / str(connections)
        hold(plan, home, answer, connections=connections)
        tables.add(scores_csv(plan, home).encode("utf-8", "surrogatepass"))
    assert len(tables) == 1


def test_a_broken_progress_display_never_breaks_the_run(tmp_path: Path) -> None:
    seen: list[int] = []

    def broken(progress: Progress) -> None:
        raise RuntimeError("no terminal")

    with listening(broken), listening(lambda progress: seen.append(progress.finished)):
        _, outcome = hold(plan_of(Setting.FULL, runs=5), tmp_path, by_turn(RIGHT))
    assert outcome.complete
    assert seen == [1, 2, 3, 4, 5]


def test_two_entries_of_one_model_share_what_was_paid(tmp_path: Path) -> None:
    other = FAKE.model_copy(update={"alias": "same-model", "base_url": "http://127.0.0.1:8/v1"})
    hold(plan_of(Setting.SHARDED), tmp_path, by_turn(TALK, RIGHT))
    plan = plan_of(Setting.SHARDED, model=other)
    assistant, outcome = hold(plan, tmp_path, by_turn("never said"))
    assert assistant.requests == []
    assert outcome.complete
    assert held(plan, tmp_path)[0].model == "same-model"


def hold_many(home: Path, count: int) -> dict[str, int]:
    arguments = [sys.executable, str(RUNNER), str(home), str(count // 10), "10", "64", "0", "FULL"]
    out = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=900).stdout
    return dict(json.loads(out.splitlines()[-1]))


@pytest.mark.slow
def test_memory_is_flat_and_finished_work_is_known_fast(tmp_path: Path) -> None:
    few, many = hold_many(tmp_path / "few", 1_000), hold_many(tmp_path / "many", 20_000)
    assert many["held"] == 20_000
    assert many["peak_kb"] - few["peak_kb"] < 150_000
    plan = big_plan(2_000, 10, (Setting.FULL,))
    assert len(plan.specs) == 20_000
    started = time.process_time()
    with Ledger.open(tmp_path / "many" / "ledger") as ledger:
        pending = PendingConversations(plan, ledger, ConversationStore(tmp_path / "many" / "lake", "math", FAKE.alias))
    assert pending.todo == []
    assert time.process_time() - started < 4, "two seconds of a quiet core"


def test_what_a_rerun_reads_is_what_was_stored(tmp_path: Path) -> None:
    """Counts over the ledger, not over one process: rows, keys and decisions of a plan."""
    plan = plan_of(Setting.SHARDED)
    hold(plan, tmp_path, by_turn(TALK, RIGHT))
    name = plan.specs[0].conversation_id
    with Ledger.open(tmp_path / "ledger") as ledger:
        stored = ledger.load([name])[name]
    assert sorted(stored.calls) == [CallKey("assistant", 1), CallKey("assistant", 2)]
    assert sorted(stored.decisions) == [("turn", 1), ("turn", 2)]
    assert (stored.state, stored.stop_reason) == ("done", "correct")
