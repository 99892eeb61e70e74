"""Several real processes on one ledger: kills, claims, leases, budgets."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lic_pipeline.models.ledger import CallKey, Ledger

WORKER = Path(__file__).with_name("ledger_worker.py")
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts workers; all are killed at the end of the test."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(WORKER), *arguments]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def _tell(process: subprocess.Popen[str], text: str = "go") -> None:
    assert process.stdin is not None
    process.stdin.write(f"{text}\n")
    process.stdin.flush()


def _kill_at_random_moments(target: str, start: Start, rounds: int) -> None:
    """Everything a killed process reported as durable is there, in gapless order, and paid for once."""
    told: Counter[str] = Counter()
    for number in range(rounds):
        process = start("write", target, f"r{number}")
        first = _line(process)
        time.sleep(random.Random(number).uniform(0.0, 0.25))
        process.kill()
        rest = process.communicate()[0].split("\n")[:-1]
        for line in (first, *rest):
            conversation, turn = line.split()
            told[conversation] = max(told[conversation], int(turn))
    assert told
    with Ledger.open(target) as ledger:
        stored = ledger.load(list(told))
        count = ledger.totals().overall.calls
        usd, tokens = ledger.budget("run")
    for conversation, turns in told.items():
        found = sorted(key.turn for key in stored[conversation].calls)
        assert found == list(range(1, len(found) + 1))
        assert turns <= len(found) <= turns + 1  # One call may be durable that was not yet reported.
        labels = [value for (_, turn), value in stored[conversation].decisions.items() if turn <= len(found)]
        assert len(labels) == len(found)
    assert tokens == 7 * count
    assert usd == pytest.approx(0.001 * count)


def test_sigkill_loses_nothing_that_was_reported(tmp_path: Path, start: Start) -> None:
    _kill_at_random_moments(str(tmp_path), start, 2)


@pytest.mark.slow
def test_sigkill_loses_nothing_that_was_reported_in_many_rounds(tmp_path: Path, start: Start) -> None:
    _kill_at_random_moments(str(tmp_path), start, 40)


def _claim_by_two(target: str, start: Start, count: int) -> None:
    workers = [start("claim", target, str(count)) for _ in range(2)]
    assert [_line(worker) for worker in workers] == ["ready", "ready"]
    for worker in workers:
        _tell(worker)
    won: list[list[str]] = [json.loads(_line(worker)) for worker in workers]
    assert Counter(won[0] + won[1]) == Counter({f"c{number}": 1 for number in range(count)})
    for worker in workers:
        _tell(worker)
        assert worker.wait(20) == 0


def test_each_id_is_won_by_exactly_one_of_two_processes(tmp_path: Path, start: Start) -> None:
    _claim_by_two(str(tmp_path), start, 800)


async def _claim(ledger: Ledger, *ids: str) -> frozenset[str]:
    return (await ledger.claim(ids)).ids


def test_a_live_owner_keeps_its_claims_and_a_dead_one_frees_them_at_once(tmp_path: Path, start: Start) -> None:
    holder = start("hold", str(tmp_path), "a", "b")
    assert json.loads(_line(holder)) == [["a", "b"], 1]
    with Ledger.open(tmp_path) as ledger:
        assert asyncio.run(_claim(ledger, "a", "b", "c")) == {"c"}
        assert ledger.live_runs("p") == 2
        holder.kill()
        holder.wait()
        assert ledger.live_runs("p") == 1
        assert asyncio.run(_claim(ledger, "a", "b", "c")) == {"a", "b", "c"}


def test_an_unreaped_dead_owner_counts_as_dead(tmp_path: Path, start: Start) -> None:
    holder = start("hold", str(tmp_path), "a")
    _line(holder)
    holder.kill()
    assert holder.stdout is not None
    holder.stdout.read()  # Closed by the death; the zombie is not waited for.
    time.sleep(0.05)
    with Ledger.open(tmp_path) as ledger:
        assert asyncio.run(_claim(ledger, "a")) == {"a"}


def test_closing_finishing_and_releasing_free_the_claims(tmp_path: Path) -> None:
    with Ledger.open(tmp_path) as other:
        with Ledger.open(tmp_path) as ledger:
            assert asyncio.run(_claim(ledger, "a", "b", "c")) == {"a", "b", "c"}
            assert asyncio.run(_claim(ledger, "a")) == {"a"}
            ledger.release(["a"])
            ledger.finish("b", "done", "correct")
            ledger.states([])
            assert asyncio.run(_claim(other, "a", "b", "c")) == {"a"}
        assert asyncio.run(_claim(other, "a", "b", "c")) == {"a", "c"}


def test_a_heartbeat_keeps_a_lease_alive(tmp_path: Path) -> None:
    with Ledger.open(tmp_path, lease_s=0.6, heartbeat_s=0.1) as ledger, Ledger.open(tmp_path) as other:
        assert asyncio.run(_claim(ledger, "a")) == {"a"}
        time.sleep(1.2)
        assert asyncio.run(_claim(other, "a")) == set()


def test_a_process_that_stood_still_loses_its_claim_and_writes_nothing(tmp_path: Path, start: Start) -> None:
    sleeper = start("lease", str(tmp_path))
    assert _line(sleeper) == "['c', 'd']"
    _tell(sleeper)
    assert [_line(sleeper), _line(sleeper)] == ["c True", "d True"]
    sleeper.send_signal(signal.SIGSTOP)
    time.sleep(0.8)
    with Ledger.open(tmp_path) as ledger:
        assert asyncio.run(_claim(ledger, "c")) == {"c"}
        assert ledger.live_runs("p") == 1
        sleeper.send_signal(signal.SIGCONT)
        _tell(sleeper)
        assert [_line(sleeper), _line(sleeper)] == ["c ClaimLostError", "d True"]
        stored = ledger.load(["c", "d"])
        assert [len(stored[cid].calls) for cid in ("c", "d")] == [1, 2]
        assert asyncio.run(_claim(ledger, "c", "d")) == {"c"}
        assert ledger.live_runs("p") == 2


def test_budgets_add_up_over_processes_that_create_the_ledger_at_once(tmp_path: Path, start: Start) -> None:
    workers = [start("spend", str(tmp_path), f"n{number}", "200") for number in range(2)]
    assert [worker.wait(30) for worker in workers] == [0, 0]
    with Ledger.open(tmp_path) as ledger:
        assert ledger.budget("run") == (200.0, 4000)
        assert ledger.budget("other") == (0.0, 0)
        ledger.add_spend("run", 1.0, 5)
        asyncio.run(ledger.flush())
        assert ledger.budget("run") == (201.0, 4005)


def test_a_forked_child_is_told_to_open_its_own(tmp_path: Path) -> None:
    script = (
        "import os, sys\n"
        "from lic_pipeline.models.ledger import Ledger\n"
        "ledger = Ledger.open(sys.argv[1])\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    try:\n"
        "        ledger.finish('a', 'done', None)\n"
        "    except Exception as error:\n"
        "        os._exit(7 if 'belongs to the process' in str(error) else 1)\n"
        "    os._exit(0)\n"
        "status = os.waitpid(pid, 0)[1]\n"
        "ledger.close()\n"
        "sys.exit(os.waitstatus_to_exitcode(status))\n"
    )
    assert subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False).returncode == 7


class TestPostgres:
    """The same promises on a real PostgreSQL server."""

    def test_rows_drift_epochs_and_totals(self, postgres_url: str, reply: dict[str, Any]) -> None:
        from test_ledger_rows import (
            test_blobs_are_stored_once_and_any_text_survives,
            test_odd_text_in_replies_and_details_is_stored,
            test_reopen_takes_errors_only_unless_told,
            test_states_of_many_ids,
            test_the_same_call_twice_is_stored_and_paid_once,
        )

        with Ledger.open(postgres_url) as ledger:
            test_states_of_many_ids(ledger)
            test_reopen_takes_errors_only_unless_told(ledger)
            test_blobs_are_stored_once_and_any_text_survives(ledger)
            test_the_same_call_twice_is_stored_and_paid_once(ledger, reply)
            assert "not-needed" not in ledger.place
        with Ledger.open(postgres_url) as again:
            assert again.load(["c"])["c"].calls[CallKey("assistant", 1)].reply == reply
            again.bump_epoch(["c"])
            test_odd_text_in_replies_and_details_is_stored(again, reply)

    def test_kills_claims_and_budgets(self, postgres_url: str, start: Start) -> None:
        _kill_at_random_moments(postgres_url, start, 1)
        _claim_by_two(postgres_url, start, 300)

    def test_a_dead_owner_frees_its_claims(self, postgres_url: str, start: Start) -> None:
        holder = start("hold", postgres_url, "a", "b")
        assert json.loads(_line(holder)) == [["a", "b"], 1]
        with Ledger.open(postgres_url) as ledger:
            assert asyncio.run(_claim(ledger, "a", "b", "c")) == {"c"}
            assert ledger.live_runs("p") == 2
            holder.kill()
            holder.wait()
            assert asyncio.run(_claim(ledger, "a", "b")) == {"a", "b"}

    def test_a_lost_connection_is_made_again(self, postgres_url: str, reply: dict[str, Any]) -> None:
        import psycopg2

        async def work() -> None:
            with Ledger.open(postgres_url) as ledger:
                await ledger.record_call("c", CallKey("user", 1), "h", {}, reply, budget_scope="b")
                admin = psycopg2.connect(postgres_url)
                admin.autocommit = True
                with admin.cursor() as cursor:
                    cursor.execute(
                        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                    )
                admin.close()
                await ledger.record_call("c", CallKey("user", 2), "h", {}, reply, budget_scope="b")
                assert ledger.budget("b") == (0.5, 72)
                assert len(ledger.load(["c"])["c"].calls) == 2

        asyncio.run(work())
