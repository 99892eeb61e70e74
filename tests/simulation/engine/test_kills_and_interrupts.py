"""The engine killed and interrupted: at most the calls in flight are lost, what was stored is durable and counts."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.scripted_assistant import FAKE, scores_csv
from support.scripted_processes import RUNNER, calls_made, calls_stored, ended, start, undisturbed
from support.scripted_run import big_plan

from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.models.ledger import Ledger


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
