"""Judging by two processes at once and through kills: every question is asked once, against the server's own counts."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fault_server import FaultServer
from math_plans import entry_at
from summaries_to_judge import different, good, instruction, manifest_of

from lic_pipeline.models.ledger import Ledger
from lic_pipeline.simulation.judge.judge_conversations import Judgements, judge_conversations
from lic_pipeline.simulation.plan.experiment import Experiment

WORKER = Path(__file__).resolve().parents[2] / "support" / "summaries_to_judge.py"
CONNECTIONS = 8


def start(home: Path, server: FaultServer, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(WORKER), str(home), server.url, str(count), str(CONNECTIONS)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> dict[str, Any]:
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors[-2000:]
    found: dict[str, Any] = json.loads(output)
    return found


def wait_for(reached: Callable[[], bool], *processes: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not reached() and all(one.poll() is None for one in processes) and time.monotonic() < deadline:
        time.sleep(0.005)
    assert reached()


@pytest.mark.parametrize("count", [300, pytest.param(3000, marks=pytest.mark.slow)])
def test_two_processes_at_one_partition_ask_each_question_once(tmp_path: Path, serve: Any, count: int) -> None:
    server: FaultServer = serve(answer=good, chance={"500": 0.05}, delay_s=0.02)
    both = [start(tmp_path, server, count) for _ in range(2)]
    done = [ended(process) for process in both]
    assert [one["states"] for one in done] == [{"judged": 2 * count}] * 2
    assert (server.answered, server.repeats) == (count, 0)
    assert sum(one["calls"] for one in done) == count
    assert min(one["calls"] for one in done) > 0, "one of them did nothing"
    with Ledger.open(tmp_path / "ledger") as ledger:
        assert ledger.totals().conversations == {"done": count}
        assert ledger.totals().overall.calls == count


@pytest.mark.parametrize("kills", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_one_of_two_is_killed_and_the_other_finishes(tmp_path: Path, serve: Any, kills: int) -> None:
    count = 300 * kills
    server: FaultServer = serve(answer=good, delay_s=0.02)
    survivor = start(tmp_path, server, count)
    for _ in range(kills):
        before = server.answered
        victim = start(tmp_path, server, count)
        # Both have claimed a part and are asking.
        wait_for(lambda: server.answered > before + 30 and server.most_in_flight > CONNECTIONS, survivor)  # noqa: B023
        victim.send_signal(signal.SIGKILL)
        victim.wait(10)
    assert ended(survivor)["states"] == {"judged": 2 * count}
    assert server.repeats <= kills * CONNECTIONS, "more than what was in flight was paid for twice"
    again = ended(start(tmp_path, server, count))
    assert again == {"calls": 0, "states": {"judged": 2 * count}}
    with Ledger.open(tmp_path / "ledger") as ledger:
        assert ledger.totals().conversations == {"done": count}
        assert ledger.totals().overall.calls == count


def test_killed_alone_it_goes_on_where_it_was(tmp_path: Path, serve: Any) -> None:
    count = 120
    server: FaultServer = serve(answer=good, delay_s=0.02)
    for answered in (20, 60):
        process = start(tmp_path, server, count)
        wait_for(lambda: server.answered > answered, process)  # noqa: B023
        process.send_signal(signal.SIGKILL)
        process.wait(10)
    experiment, entry = Experiment(name="e", judge_model="judge"), entry_at(server.url, alias="judge", id="local/judge")
    with Ledger.open(tmp_path / "ledger") as ledger:
        paid = ledger.totals().overall.calls
        found = judge_conversations(
            experiment, entry, ledger, manifest_of(different(count)), {"own/1": instruction()}, different(count)
        )
    assert (found.calls, found.states) == (count - paid, Counter(judged=2 * count))
    assert server.repeats <= 2 * CONNECTIONS


def test_a_question_lost_while_this_process_stood_still_is_awaited(tmp_path: Path, serve: Any) -> None:
    server: FaultServer = serve(answer=good, delay_s=1.0)
    entry = entry_at(server.url, alias="judge", id="local/judge")
    found: list[Judgements] = []

    def judged(lease_s: float) -> None:
        # No heartbeat: the lease runs out while the answer is waited for, as on a machine that sleeps.
        with Ledger.open(tmp_path / "ledger", lease_s=lease_s, heartbeat_s=3600.0) as ledger:
            experiment = Experiment(name="e", judge_model="judge")
            instructions = {"own/1": instruction()}
            found.append(
                judge_conversations(experiment, entry, ledger, manifest_of(different(1)), instructions, different(1))
            )

    late, other = (threading.Thread(target=judged, args=(lease_s,)) for lease_s in (0.3, 60.0))
    late.start()
    time.sleep(0.6)
    other.start()
    late.join(30)
    other.join(30)
    assert [one.states for one in found] == [Counter(judged=2)] * 2
    assert server.answered == 2
    with Ledger.open(tmp_path / "ledger") as ledger:
        assert ledger.totals().overall.calls == 1, "the answer of the process that was late is not stored"
