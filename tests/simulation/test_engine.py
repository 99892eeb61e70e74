"""The engine against kills, signals, a second process and lost files: nothing paid twice, nothing changed by it."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.items import sample_items
from support.scripted import FAKE, RIGHT, TALK, ScriptedVoice, by_turn, held, hold, pens, plan_of, scores_csv, speaking
from support.scripted_run import answer, big_plan

from lic_pipeline.errors import ProviderStoppedError, StorageError
from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.models.errors import AccessError
from lic_pipeline.models.ledger import CallKey, Ledger
from lic_pipeline.models.ledger.records import ClaimLostError
from lic_pipeline.models.registry import get_model
from lic_pipeline.records import Setting
from lic_pipeline.simulation import engine
from lic_pipeline.simulation.experiment import Experiment
from lic_pipeline.simulation.outcome import Progress
from lic_pipeline.simulation.plan import Plan, make_plan
from lic_pipeline.simulation.progress import listening
from lic_pipeline.simulation.scoring_threads import ScoringThreads
from lic_pipeline.simulation.work import Work

RUNNER = Path(__file__).resolve().parents[1] / "support" / "scripted_run.py"


def start(home: Path, items: int, runs: int, connections: int, delay: float) -> subprocess.Popen[str]:
    """A process on the plan, past its imports when this returns."""
    arguments = [sys.executable, str(RUNNER), str(home), str(items), str(runs), str(connections), str(delay)]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    return process


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    out, err = process.communicate(timeout=120)
    assert "Traceback" not in (err or ""), err
    return process.returncode, out


def calls_made(home: Path) -> Counter[str]:
    """How often each (conversation, turn) was really asked."""
    lines = (home / "calls.log").read_text().splitlines()
    return Counter(" ".join(line.split()[:2]) for line in lines if len(line.split()) == 3)


def calls_stored(home: Path) -> int:
    with Ledger.open(home / "ledger") as ledger:
        return ledger.totals().overall.calls


def undisturbed(plan: Plan, home: Path) -> str:
    _, outcome = hold(plan, home, answer, connections=8)
    assert outcome.complete
    return scores_csv(plan, home)


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
    assert {stage.spec.run for stage in third.stages} == {2}


def test_an_empty_plan_is_complete(tmp_path: Path) -> None:
    plan = plan_of(Setting.FULL)
    empty = Plan(plan.experiment, plan.task, plan.model, {}, (), {})
    _voice, outcome = hold(empty, tmp_path, answer)
    assert outcome.complete
    assert outcome.total == 0


def kill_and_rerun(home: Path, kills: int, seed: int) -> None:
    items, runs, connections = 10, 3, 8
    plan = big_plan(items, runs)
    wanted = undisturbed(plan, home / "calm")
    draws = random.Random(seed)
    for _ in range(kills):
        process = start(home / "hurt", items, runs, connections, 0.004)
        time.sleep(draws.uniform(0.05, 0.6))
        process.kill()
        process.communicate()
    code, _ = ended(start(home / "hurt", items, runs, connections, 0.0))
    assert code == 0
    assert scores_csv(plan, home / "hurt") == wanted
    made = calls_made(home / "hurt")
    assert sum(made.values()) - len(made) <= kills * connections
    assert calls_stored(home / "hurt") == len(made) == calls_stored(home / "calm")


def test_kills_cost_at_most_the_calls_in_flight_and_change_no_score(tmp_path: Path) -> None:
    kill_and_rerun(tmp_path, 3, 1)


@pytest.mark.slow
def test_twenty_kills(tmp_path: Path) -> None:
    kill_and_rerun(tmp_path, 20, 2)


def test_two_processes_pay_for_each_call_once_and_both_end_complete(tmp_path: Path) -> None:
    plan = big_plan(24, 3)
    wanted = undisturbed(plan, tmp_path / "calm")
    gate = tmp_path / "two" / "gate"
    gate.parent.mkdir()
    gate.touch()
    both = [start(tmp_path / "two", 24, 3, 8, 0.002) for _ in range(2)]
    gate.unlink()
    outcomes = []
    for process in both:
        code, out = ended(process)
        assert code == 0, out
        outcomes.append(json.loads(out))
    made = calls_made(tmp_path / "two")
    assert set(made.values()) == {1}
    assert all(outcome["missing"] == {} for outcome in outcomes)
    assert all(outcome["held"] + outcome["already"] == len(plan.specs) for outcome in outcomes)
    assert min(outcome["held"] for outcome in outcomes) > 0, "one process did everything: nothing was tested"
    assert sum(made.values()) == calls_stored(tmp_path / "two")
    assert scores_csv(plan, tmp_path / "two") == wanted


def test_any_concurrency_gives_the_same_rows_byte_for_byte(tmp_path: Path) -> None:
    plan = big_plan(6, 3)
    tables = set()
    for connections in (1, 8, 64):
        home = tmp_path / str(connections)
        hold(plan, home, answer, connections=connections)
        tables.add(scores_csv(plan, home).encode("utf-8", "surrogatepass"))
    assert len(tables) == 1


def interrupt(home: Path, number: signal.Signals, pause: float) -> None:
    process = start(home, 40, 4, 8, 0.02)
    while not (home / "calls.log").exists() or not calls_made(home):
        time.sleep(0.02)
    time.sleep(pause)
    process.send_signal(number)
    sent = time.monotonic()
    code, out = ended(process)
    assert time.monotonic() - sent < 5
    assert code == 130, out
    assert out.startswith(f"InterruptedRunError interrupted by {number.name}")
    made, stored = calls_made(home), calls_stored(home)
    assert stored >= sum(made.values()) - 2 * 8
    store = ConversationStore(home / "lake", "math", FAKE.alias)
    with Ledger.open(home / "ledger") as ledger:
        states = ledger.states(list(store.ids()))
        assert set(states.values()) <= {"done"}, "what was finished is in both places"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_run_soon_and_everything_durable(tmp_path: Path, number: signal.Signals) -> None:
    interrupt(tmp_path / "home", number, 0.4)


@pytest.mark.slow
def test_twenty_signals(tmp_path: Path) -> None:
    draws = random.Random(3)
    for _ in range(20):
        number = draws.choice([signal.SIGINT, signal.SIGTERM])
        interrupt(tmp_path / str(_), number, draws.uniform(0.2, 1.2))


def test_a_broken_progress_display_never_breaks_the_run(tmp_path: Path) -> None:
    seen: list[int] = []

    def broken(progress: Progress) -> None:
        raise RuntimeError("no terminal")

    with listening(broken), listening(lambda progress: seen.append(progress.finished)):
        _, outcome = hold(plan_of(Setting.FULL, runs=5), tmp_path, by_turn(RIGHT))
    assert outcome.complete
    assert seen == [1, 2, 3, 4, 5]


def test_conversations_of_a_live_process_are_awaited(tmp_path: Path) -> None:
    process = start(tmp_path, 4, 1, 2, 0.15)
    while not (tmp_path / "calls.log").exists() or not calls_made(tmp_path):
        time.sleep(0.02)
    plan = big_plan(4, 1)
    voice, outcome = hold(plan, tmp_path, answer)
    code, _out = ended(process)
    assert code == 0
    assert outcome.complete
    assert voice.requests == []
    assert outcome.already == len(plan.specs)


def test_conversations_of_a_dead_process_are_taken_over_with_what_it_paid_for(tmp_path: Path) -> None:
    process = start(tmp_path, 4, 1, 2, 0.05)
    while not (tmp_path / "calls.log").exists() or len(calls_made(tmp_path)) < 6:
        time.sleep(0.02)
    process.kill()
    process.communicate()
    stored = calls_stored(tmp_path)
    started = time.monotonic()
    voice, outcome = hold(big_plan(4, 1), tmp_path, answer)
    assert time.monotonic() - started < 10
    assert outcome.complete
    assert len(voice.requests) == calls_stored(tmp_path) - stored


def test_what_another_process_paid_for_after_this_one_looked_is_not_paid_again(tmp_path: Path) -> None:
    """The other one starts, pays for a turn and gives its claim back between our look at the states and our claim."""
    plan = plan_of(Setting.SHARDED, Setting.RECAP)
    with Ledger.open(tmp_path / "ledger") as ledger:
        work = Work(plan, ledger, ConversationStore(tmp_path / "lake", "math", FAKE.alias))
        assert work.states == {}
        with pytest.raises(ProviderStoppedError):
            hold(plan, tmp_path, by_turn(TALK, AccessError("stop")))
        voice = ScriptedVoice(by_turn("never asked", RIGHT))
        with speaking(voice):
            alone = engine.Engine(work, 2)
            asyncio.run(alone.run())
    assert alone.outcome().complete
    assert [stage.turn for stage in voice.stages] == [2, 3]


def test_lost_lake_files_come_back_without_a_call(tmp_path: Path) -> None:
    plan = big_plan(4, 2)
    wanted = undisturbed(plan, tmp_path)
    files = sorted((tmp_path / "lake").rglob("*.parquet"))
    for remove in (files[:1], files):
        for file in remove:
            file.unlink(missing_ok=True)
        voice, outcome = hold(plan, tmp_path, by_turn("never said"))
        assert voice.requests == []
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
    voice, outcome = hold(plan, tmp_path, by_turn("never said"))
    assert voice.requests == []
    assert outcome.complete
    assert scores_csv(plan, tmp_path) == undisturbed(plan, tmp_path / "calm")


def test_a_looping_program_does_not_hold_up_an_interrupt(tmp_path: Path) -> None:
    script = RUNNER.with_name("looping_run.py")
    process = subprocess.Popen([sys.executable, str(script), str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "asked\n"
    time.sleep(1.0)
    process.send_signal(signal.SIGTERM)
    sent = time.monotonic()
    code, out = ended(process)
    assert time.monotonic() - sent < 5
    assert (code, out) == (130, "InterruptedRunError\n")


def test_a_lost_claim_is_awaited_and_no_end_of_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a machine has slept: the ledger refuses a reply, since another process may be going on with it."""
    plan = plan_of(Setting.SHARDED, Setting.RECAP, items=[pens(number) for number in range(3)])
    real, lost = Ledger.record_call, []

    async def record(self: Ledger, conversation_id: str, *rest: Any, **fields: Any) -> bool:
        if not lost:
            lost.append(conversation_id)
            raise ClaimLostError("taken over")
        return await real(self, conversation_id, *rest, **fields)

    monkeypatch.setattr(Ledger, "record_call", record)
    voice, outcome = hold(plan, tmp_path, by_turn(TALK, RIGHT), connections=2)
    assert outcome.complete
    assert len(held(plan, tmp_path)) == 6
    assert len(voice.requests) == 3 * 3 + 1


def test_a_reply_another_process_stored_first_is_the_one_that_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(Setting.FULL)
    real = Ledger.record_call

    async def record(self: Ledger, *row: Any, **fields: Any) -> bool:
        *before, reply, latency = row
        await real(self, *before, {**reply, "text": RIGHT}, latency, **{**fields, "plain": None})
        return await real(self, *row, **fields)

    monkeypatch.setattr(Ledger, "record_call", record)
    hold(plan, tmp_path, by_turn("The answer is 3."))
    assert held(plan, tmp_path)[0].turns[0].reply.text == RIGHT
    assert calls_stored(tmp_path) == 1


def test_scoring_threads_keep_the_contract_of_executors() -> None:
    threads = ScoringThreads(2)
    assert list(threads.map(lambda number: number * 2, range(5))) == [0, 2, 4, 6, 8]
    with pytest.raises(ZeroDivisionError):
        threads.submit(lambda: 1 // 0).result(5)
    hold_on = threading.Event()
    begun = threading.Barrier(3)

    def work() -> bool:
        begun.wait(5)
        return hold_on.wait(5)

    busy = [threads.submit(work) for _ in range(2)]
    begun.wait(5)
    waiting = threads.submit(int)
    threads.shutdown(wait=False, cancel_futures=True)
    hold_on.set()
    assert waiting.cancelled()
    assert [one.result(5) for one in busy] == [True, True]
    with pytest.raises(RuntimeError):
        threads.submit(int)
    threads.shutdown()


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
    voice, outcome = hold(plan, tmp_path, by_turn("never said"))
    assert (voice.requests, outcome.complete, held(plan, tmp_path)[0].state) == ([], True, "done")


def test_two_entries_of_one_model_share_what_was_paid(tmp_path: Path) -> None:
    other = FAKE.model_copy(update={"alias": "same-model", "base_url": "http://127.0.0.1:8/v1"})
    hold(plan_of(Setting.SHARDED), tmp_path, by_turn(TALK, RIGHT))
    plan = plan_of(Setting.SHARDED, model=other)
    voice, outcome = hold(plan, tmp_path, by_turn("never said"))
    assert voice.requests == []
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
        work = Work(plan, ledger, ConversationStore(tmp_path / "many" / "lake", "math", FAKE.alias))
    assert work.todo == []
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
