"""Two processes on one plan: each call is paid once, claims are awaited, taken over and lost, both end complete."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest
from support.scripted_assistant import (
    FAKE,
    RIGHT,
    TALK,
    ScriptedAssistant,
    by_turn,
    held,
    hold,
    pens,
    plan_of,
    scores_csv,
    speaking,
)
from support.scripted_processes import calls_made, calls_stored, ended, start, undisturbed
from support.scripted_run import answer, big_plan

from lic_pipeline.errors import ProviderStoppedError
from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.models.errors import AccessError
from lic_pipeline.models.ledger import Ledger
from lic_pipeline.models.ledger.records import ClaimLostError
from lic_pipeline.records import Setting
from lic_pipeline.simulation.engine import engine
from lic_pipeline.simulation.resume.pending_conversations import PendingConversations


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


def test_conversations_of_a_live_process_are_awaited(tmp_path: Path) -> None:
    process = start(tmp_path, 4, 1, 2, 0.15)
    while not (tmp_path / "calls.log").exists() or not calls_made(tmp_path):
        time.sleep(0.02)
    plan = big_plan(4, 1)
    assistant, outcome = hold(plan, tmp_path, answer)
    code, _out = ended(process)
    assert code == 0
    assert outcome.complete
    assert assistant.requests == []
    assert outcome.already == len(plan.specs)


def test_conversations_of_a_dead_process_are_taken_over_with_what_it_paid_for(tmp_path: Path) -> None:
    process = start(tmp_path, 4, 1, 2, 0.05)
    while not (tmp_path / "calls.log").exists() or len(calls_made(tmp_path)) < 6:
        time.sleep(0.02)
    process.kill()
    process.communicate()
    stored = calls_stored(tmp_path)
    started = time.monotonic()
    assistant, outcome = hold(big_plan(4, 1), tmp_path, answer)
    assert time.monotonic() - started < 10
    assert outcome.complete
    assert len(assistant.requests) == calls_stored(tmp_path) - stored


def test_what_another_process_paid_for_after_this_one_looked_is_not_paid_again(tmp_path: Path) -> None:
    """The other one starts, pays for a turn and gives its claim back between our look at the states and our claim."""
    plan = plan_of(Setting.SHARDED, Setting.RECAP)
    with Ledger.open(tmp_path / "ledger") as ledger:
        pending = PendingConversations(plan, ledger, ConversationStore(tmp_path / "lake", "math", FAKE.alias))
        assert pending.states == {}
        with pytest.raises(ProviderStoppedError):
            hold(plan, tmp_path, by_turn(TALK, AccessError("stop")))
        assistant = ScriptedAssistant(by_turn("never asked", RIGHT))
        with speaking(assistant):
            alone = engine.Engine(pending, 2)
            asyncio.run(alone.run())
    assert alone.outcome().complete
    assert [turn_context.turn for turn_context in assistant.stages] == [2, 3]


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
    assistant, outcome = hold(plan, tmp_path, by_turn(TALK, RIGHT), connections=2)
    assert outcome.complete
    assert len(held(plan, tmp_path)) == 6
    assert len(assistant.requests) == 3 * 3 + 1


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
