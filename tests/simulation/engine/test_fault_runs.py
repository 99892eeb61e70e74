"""Whole runs against a misbehaving server: everything finishes, nothing is paid for twice, kills included."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fault_server import TRANSIENT, FaultServer
from math_plans import entry_at, math_items, math_plan, transcripts

from lic_pipeline.errors import BudgetReachedError, ConfigError, ProviderStoppedError
from lic_pipeline.models.budget import Budget
from lic_pipeline.models.ledger import Ledger
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.simulation.engine.engine import run
from lic_pipeline.simulation.engine.outcome import Outcome
from lic_pipeline.simulation.plan.conversation_plan import Approved, make_plan

WORKER = Path(__file__).resolve().parents[2] / "support" / "math_plans.py"
THIRTY_PERCENT = {kind: 0.3 / len(TRANSIENT) for kind in TRANSIENT}


def hold(home: Path, entry: ModelEntry, items: int, budget: Budget | None = None, **experiment: Any) -> Outcome:
    with Ledger.open(home / "ledger") as ledger:
        return run(math_plan(entry, items, **experiment), ledger, home / "lake", budget=budget)


def check_accounts(home: Path, server: FaultServer) -> None:
    """The ledger's sums are the server's own: calls, tokens, tries."""
    with Ledger.open(home / "ledger") as ledger:
        totals = ledger.totals()
        spent = ledger.budget("experiment:faults")
    assert totals.overall.calls == server.answered
    assert totals.overall.prompt == server.prompt_tokens
    assert totals.overall.completion == server.completion_tokens
    assert spent == (0.0, server.prompt_tokens + server.completion_tokens)
    assert sum(totals.tries.values()) == server.requests
    assert totals.tries["ok"] == server.answered


@pytest.mark.parametrize("items", [20, pytest.param(667, marks=pytest.mark.slow)])
def test_a_run_through_thirty_percent_faults(tmp_path: Path, serve: Any, items: int) -> None:
    calm: FaultServer = serve()
    rough: FaultServer = serve(chance=THIRTY_PERCENT, retry_after_s=0.01)
    outcome = hold(tmp_path / "calm", entry_at(calm.url), items)
    assert (outcome.held, outcome.missing) == (3 * items, {})
    outcome = hold(tmp_path / "rough", entry_at(rough.url), items)
    assert (outcome.held, outcome.missing, outcome.complete) == (3 * items, {}, True)
    assert rough.faults.total() > 0.2 * rough.requests
    assert rough.repeats == calm.repeats == 0
    assert rough.answered == calm.answered
    check_accounts(tmp_path / "calm", calm)
    check_accounts(tmp_path / "rough", rough)
    plan = math_plan(entry_at(calm.url), items)
    assert transcripts(tmp_path / "rough" / "lake", plan) == transcripts(tmp_path / "calm" / "lake", plan)
    again = hold(tmp_path / "rough", entry_at(rough.url), items)
    assert (again.already, again.held, again.calls) == (3 * items, 0, 0)


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_at_any_moment_and_run_again(tmp_path: Path, serve: Any, kills: int) -> None:
    items, connections = (25, 8) if kills < 10 else (200, 8)
    calm: FaultServer = serve()
    hold(tmp_path / "calm", entry_at(calm.url), items)
    server: FaultServer = serve(chance={"500": 0.05, "reset": 0.05}, delay_s=0.02)
    draw = random.Random(7)
    killed = 0
    for _ in range(kills):
        before = server.answered
        process = start_worker(tmp_path, server, items, connections)
        wait_for(lambda: server.answered > before + draw.randrange(1, 30), process)  # noqa: B023
        killed += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait(10)
        time.sleep(0.1)
    last = start_worker(tmp_path, server, items, connections)
    output, errors = last.communicate(timeout=120)
    assert last.returncode == 0, errors[-2000:]
    done = json.loads(output)
    assert done["missing"] == {}
    assert done["held"] + done["already"] == 3 * items
    assert killed >= 1
    assert server.repeats <= killed * connections
    plan = math_plan(entry_at(server.url), items)
    assert transcripts(tmp_path / "lake", plan) == transcripts(tmp_path / "calm" / "lake", plan)
    with Ledger.open(tmp_path / "ledger") as ledger:
        assert ledger.totals().overall.calls == calm.answered
        assert ledger.totals().conversations == {"done": 3 * items}


def test_two_processes_on_one_plan_pay_for_each_call_once(tmp_path: Path, serve: Any) -> None:
    items = 110  # more than one process claims at a time
    calm: FaultServer = serve()
    hold(tmp_path / "calm", entry_at(calm.url), items)
    server: FaultServer = serve(chance={"500": 0.05}, delay_s=0.02)
    both = [start_worker(tmp_path, server, items, 8) for _ in range(2)]
    done = [json.loads(worker.communicate(timeout=120)[0]) for worker in both]
    assert [worker.returncode for worker in both] == [0, 0]
    assert all(one["missing"] == {} for one in done)
    assert server.repeats == 0
    assert server.answered == calm.answered
    assert sum(one["held"] for one in done) == 3 * items
    assert min(one["held"] for one in done) > 0, "one of them did nothing"
    plan = math_plan(entry_at(server.url), items)
    assert transcripts(tmp_path / "lake", plan) == transcripts(tmp_path / "calm" / "lake", plan)


@pytest.mark.parametrize("cancels", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_cancelled_at_any_moment_it_ends_soon_and_loses_nothing(tmp_path: Path, serve: Any, cancels: int) -> None:
    items = 12 * cancels + 20
    server: FaultServer = serve(chance={"500": 0.05, "reset": 0.05}, delay_s=0.05)
    draw = random.Random(11)
    for number in range(cancels):
        before = server.answered
        process = start_worker(tmp_path, server, items, 8)
        wait_for(lambda: server.answered > before + draw.randrange(1, 25), process)  # noqa: B023
        assert process.poll() is None, "the plan was too small to be cancelled in"
        process.send_signal((signal.SIGINT, signal.SIGTERM)[number % 2])
        process.communicate(timeout=5)
        assert process.returncode != 0
        with Ledger.open(tmp_path / "ledger") as ledger:
            # What was in flight when the signal came is lost to the ledger, nothing else is.
            assert 0 <= server.answered - ledger.totals().overall.calls <= 8 * (number + 1)
    last = start_worker(tmp_path, server, items, 8)
    done = json.loads(last.communicate(timeout=120)[0])
    assert (last.returncode, done["missing"], done["held"] + done["already"]) == (0, {}, 3 * items)
    assert server.repeats <= 8 * cancels


def start_worker(home: Path, server: FaultServer, items: int, connections: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(WORKER), str(home), server.url, str(items), str(connections)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(reached: Any, process: subprocess.Popen[str], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not reached() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.005)


def test_odd_responses_end_no_conversation_in_error(tmp_path: Path, serve: Any) -> None:
    odd = ("empty_choices", "null_content", "parts", "tool_calls", "no_usage", "length", "content_filter", "think_open",
           "surrogate", "null_details", "400_filter")  # fmt: skip
    server: FaultServer = serve(chance=dict.fromkeys(odd, 0.07))
    outcome = hold(tmp_path, entry_at(server.url), 20)
    assert (outcome.held, outcome.missing) == (60, {})
    plan = math_plan(entry_at(server.url), 20)
    held = transcripts(tmp_path / "lake", plan).values()
    flags = {flag for conversation in held for flag in conversation["flags"]}
    assert {"no_choices", "no_usage", "truncated", "content_filter", "truncated_reasoning", "empty_reply"} <= flags


def test_a_refused_key_stops_the_run_and_it_can_be_resumed(
    tmp_path: Path, serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_OF_FAKE", "sk-canary-0123456789")
    server: FaultServer = serve([*["ok"] * 10, *["401"] * 40])
    keyed = entry_at(server.url, limits={"concurrency": 4}, key_variable="KEY_OF_FAKE")
    with pytest.raises(ProviderStoppedError, match=r"^fake: HTTP 401: Incorrect API key.*the key in KEY_OF_"):
        hold(tmp_path, keyed, 20)
    assert server.requests <= 10 + 2 * 4
    server.script.clear()
    outcome = hold(tmp_path, entry_at(server.url), 20)
    assert outcome.complete
    assert server.repeats == 0


def test_a_budget_stops_the_run_and_a_larger_one_goes_on(tmp_path: Path, serve: Any) -> None:
    server: FaultServer = serve(delay_s=0.005)
    priced = entry_at(server.url, price={"prompt": 1000, "completion": 1000}, limits={"concurrency": 4})
    with pytest.raises(BudgetReachedError):
        hold(tmp_path, priced, 20, Budget("mine", usd=1.0))
    with Ledger.open(tmp_path / "ledger") as ledger:
        usd, _ = ledger.budget("mine")
        assert usd == pytest.approx(ledger.totals().overall.cost_usd)
    assert 1.0 <= usd <= 1.0 + 4 * 0.3
    answered = server.answered
    with pytest.raises(BudgetReachedError):
        hold(tmp_path, priced, 20, Budget("mine", usd=1.0))
    assert server.answered == answered
    assert hold(tmp_path, priced, 20, Budget("mine", usd=100.0)).complete
    assert server.repeats == 0


def test_an_uncountable_budget_is_refused_before_any_call(tmp_path: Path, serve: Any) -> None:
    server: FaultServer = serve()
    with pytest.raises(ConfigError, match="token budget"):
        hold(tmp_path, entry_at(server.url), 2, Budget("mine", usd=1.0))
    assert server.requests == 0


def test_items_that_cannot_fit_are_missing_and_not_paid_for(tmp_path: Path, serve: Any) -> None:
    server: FaultServer = serve()
    outcome = hold(tmp_path, entry_at(server.url, context_window=4096), 5)
    assert (outcome.held, outcome.missing) == (0, {"context": 15})
    assert server.requests == 0
    assert hold(tmp_path, entry_at(server.url, context_window=5000), 5).complete


def test_an_overflow_in_the_middle_is_a_stop_reason_not_an_error(tmp_path: Path, serve: Any) -> None:
    server: FaultServer = serve(["ok", "ok", "400_context"], answer=lambda body: "Noted.")  # SHARDED is held first
    outcome = hold(tmp_path, entry_at(server.url, limits={"concurrency": 1}), 1)
    assert outcome.complete
    plan = math_plan(entry_at(server.url), 1)
    stops = {c["setting"]: (c["stop_reason"], len(c["turns"])) for c in transcripts(tmp_path / "lake", plan).values()}
    assert stops["SHARDED"] == ("context", 2)


def test_the_reference_is_in_no_request(tmp_path: Path, serve: Any) -> None:
    server: FaultServer = serve()
    items = [
        Approved(
            item.instruction.model_copy(
                update={"reference": {"answer": "987654321"}, "metadata": {"note": "987654321"}}
            ),
            item.sharded,
            item.approval,
        )
        for item in math_items(20)
    ]
    plan = make_plan(math_plan(entry_at(server.url), 1).experiment, "math", entry_at(server.url), items)
    with Ledger.open(tmp_path / "ledger") as ledger:
        assert run(plan, ledger, tmp_path / "lake").complete
    assert len(server.bodies) > 60
    assert all(set(body) == {"model", "messages", "max_tokens", "temperature"} for body in server.bodies)
    assert "987654321" not in json.dumps(server.bodies)
