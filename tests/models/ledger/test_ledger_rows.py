"""Calls, decisions, epochs, states, totals, caches: one process, real SQLite files."""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from lic_pipeline.errors import DriftError, StorageError
from lic_pipeline.models.ledger import CallKey, Ledger
from lic_pipeline.models.ledger.writer import Operation, Writer

KEY = CallKey("assistant", 1, 0)
FIELDS = {"model": "m1", "system": "s1", "messages": "x1"}


def test_a_recorded_call_comes_back_after_reopening(tmp_path: Path, reply: dict[str, Any]) -> None:
    async def work() -> None:
        with Ledger.open(tmp_path) as ledger:
            assert (await ledger.claim(["c1"])).ids == {"c1"}
            assert await ledger.record_call("c1", KEY, "h1", FIELDS, reply, 1.5) is True
            ledger.record_decision("c1", "label", 1, {"strategy": "hedging", "rules": [1, None]}, "rules:3")
            ledger.finish("c1", "done", "correct")

    asyncio.run(work())
    with Ledger.open(tmp_path) as again:
        stored = again.load(["c1", "unknown"])
    assert set(stored) == {"c1"}
    conversation = stored["c1"]
    assert (conversation.state, conversation.stop_reason, conversation.epoch) == ("done", "correct", 0)
    call = conversation.calls[KEY]
    assert (call.request_hash, call.request_fields, call.reply, call.latency_s) == ("h1", FIELDS, reply, 1.5)
    decision = conversation.decisions["label", 1]
    assert (decision.value, decision.version) == ({"strategy": "hedging", "rules": [1, None]}, "rules:3")


def test_keys_differ_by_role_turn_and_ask(ledger: Ledger, reply: dict[str, Any]) -> None:
    keys = [CallKey("assistant", 1), CallKey("assistant", 2), CallKey("user", 1), CallKey("classifier", 1, 1)]

    async def work() -> None:
        await asyncio.gather(*(ledger.record_call("c", key, str(key), {}, {**reply, "text": str(key)}) for key in keys))

    asyncio.run(work())
    assert {key: call.reply["text"] for key, call in ledger.load(["c"])["c"].calls.items()} == {
        key: str(key) for key in keys
    }


def test_the_same_call_twice_is_stored_and_paid_once(ledger: Ledger, reply: dict[str, Any]) -> None:
    async def work() -> list[bool]:
        first = await asyncio.gather(
            *(ledger.record_call("c", KEY, "h", FIELDS, reply, budget_scope="run") for _ in range(3))
        )
        return [*first, await ledger.record_call("c", KEY, "h", FIELDS, reply, budget_scope="run")]

    assert sorted(asyncio.run(work())) == [False, False, False, True]
    assert ledger.totals().overall.calls == 1
    assert ledger.budget("run") == (0.25, 36)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({**FIELDS, "system": "s2"}, "system"),
        ({**FIELDS, "system": "s2", "messages": "x2"}, "system"),
        ({**FIELDS, "tools": "t"}, "tools"),
        ({"model": "m1", "messages": "x1"}, "system"),
        (FIELDS, "request"),
    ],
)
def test_drift_names_the_first_differing_field_and_changes_nothing(
    ledger: Ledger, reply: dict[str, Any], fields: dict[str, str], named: str
) -> None:
    async def work() -> None:
        await ledger.record_call("c", KEY, "h1", FIELDS, reply)
        others = [ledger.record_call("c", CallKey("user", turn), "u", {}, reply) for turn in (1, 2)]
        drifted = ledger.record_call("c", KEY, "h2", fields, {**reply, "text": "other"}, budget_scope="run")
        outcomes = await asyncio.gather(others[0], drifted, others[1], return_exceptions=True)
        assert outcomes[0] is True
        assert outcomes[2] is True
        assert isinstance(outcomes[1], DriftError)
        assert (outcomes[1].field, outcomes[1].key) == (named, "assistant/1/0")

    asyncio.run(work())
    assert ledger.load(["c"])["c"].calls[KEY].reply == reply
    assert ledger.budget("run") == (0.0, 0)


def test_a_new_epoch_takes_the_drifted_call_and_keeps_the_old_rows(ledger: Ledger, reply: dict[str, Any]) -> None:
    second = CallKey("assistant", 2)

    async def work() -> None:
        await ledger.claim(["c"])
        await ledger.record_call("c", KEY, "h1", FIELDS, reply)
        await ledger.record_call("c", second, "g1", FIELDS, reply)
        ledger.record_decision("c", "stop", 2, "exhausted", "1")
        ledger.bump_epoch(["c"])
        await ledger.record_call("c", second, "g2", FIELDS, {**reply, "text": "new"})
        ledger.record_decision("c", "stop", 2, "correct", "2")

    asyncio.run(work())
    stored = ledger.load(["c"])["c"]
    assert stored.epoch == 1
    assert (stored.calls[KEY].epoch, stored.calls[KEY].request_hash) == (0, "h1")
    assert (stored.calls[second].epoch, stored.calls[second].reply["text"]) == (1, "new")
    assert (stored.decisions["stop", 2].value, stored.decisions["stop", 2].epoch) == ("correct", 1)
    assert ledger.totals().overall.calls == 3


def test_the_first_decision_of_an_epoch_stands(ledger: Ledger) -> None:
    ledger.record_decision("c", "label", 1, "hedging", "1")
    ledger.record_decision("c", "label", 1, "refusal", "2")
    decision = ledger.load(["c"])["c"].decisions["label", 1]
    assert (decision.value, decision.version) == ("hedging", "1")


def test_states_of_many_ids(ledger: Ledger) -> None:
    ids = [f"{number:064x}" for number in range(3000)]

    async def work() -> None:
        assert (await ledger.claim(ids)).ids == set(ids)

    asyncio.run(work())
    ledger.finish(ids[0], "done", "correct")
    ledger.finish(ids[1], "error:timeout", None)
    states = ledger.states([*ids, "unknown"])
    assert len(states) == 3000
    assert [states[cid] for cid in ids[:3]] == ["done", "error:timeout", "open"]
    assert ledger.ids("error:timeout") == [ids[1]]
    assert ledger.ids() == ids
    assert ledger.states([]) == {}
    assert ledger.load([]) == {}


def test_only_conversations_nobody_knew_are_new(ledger: Ledger) -> None:
    async def work() -> None:
        assert (await ledger.claim(["a", "b"])).new == {"a", "b"}
        assert not (await ledger.claim(["a", "b"])).new
        mixed = await ledger.claim(["b", "c"])
        assert mixed.ids == {"b", "c"}
        assert "b" not in mixed.new

    asyncio.run(work())


@pytest.mark.parametrize("state", ["", "open", "error:", "finished", "error"])
def test_a_conversation_cannot_end_in_an_unknown_state(ledger: Ledger, state: str) -> None:
    with pytest.raises(ValueError, match="ends as"):
        ledger.finish("c", state, None)


def test_reopen_takes_errors_only_unless_told(ledger: Ledger) -> None:
    for cid, state in (("a", "done"), ("b", "error:provider"), ("c", "error:drift")):
        ledger.finish(cid, state, None)

    async def claim() -> frozenset[str]:
        return (await ledger.claim(["a", "b", "c"])).ids

    assert asyncio.run(claim()) == set()
    assert ledger.reopen(["a", "b", "unknown"]) == 1
    assert ledger.states(["a", "b", "c"]) == {"a": "done", "b": "open", "c": "error:drift"}
    assert ledger.reopen(["a", "c"], error_only=False) == 2
    assert asyncio.run(claim()) == {"a", "b", "c"}


def test_totals_sum_over_models_roles_and_reopened_ledgers(tmp_path: Path, reply: dict[str, Any]) -> None:
    async def work(turn: int) -> None:
        with Ledger.open(tmp_path) as ledger:
            await ledger.record_call("c", CallKey("assistant", turn), "h", {}, reply, model="tiny")
            unpriced = {**reply, "cost_usd": None, "usage": {}}
            await ledger.record_call("c", CallKey("user", turn), "h", {}, unpriced)
            ledger.record_try("c", CallKey("user", turn), "rate_limit", 429, "slow down", 0.1)
            ledger.record_try("c", CallKey("user", turn), "ok", 200, "", 0.2)

    asyncio.run(work(1))
    asyncio.run(work(2))
    with Ledger.open(tmp_path) as ledger:
        totals = ledger.totals()
    assistant, user = totals.calls["tiny", "assistant"], totals.calls["tiny-1-0613", "user"]
    assert (assistant.calls, assistant.prompt, assistant.completion, assistant.cached) == (2, 60, 12, 4)
    assert (assistant.cost_usd, assistant.unpriced, assistant.reasoning) == (0.5, 0, 0)
    assert (user.calls, user.prompt, user.cost_usd, user.unpriced) == (2, 0, 0.0, 2)
    assert totals.conversations == {"open": 1}
    assert totals.tries == {"ok": 2, "rate_limit": 2}
    assert totals.overall.calls == 4


def test_blobs_are_stored_once_and_any_text_survives(ledger: Ledger) -> None:
    text = "Größe 4 \x00 \ud800 𝄞"
    digest = ledger.put_blob("template", text)
    assert ledger.put_blob("template", text) == digest
    assert digest == hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    assert ledger.blob(digest) == text
    assert ledger.blob("0" * 64) is None


def test_odd_text_in_replies_and_details_is_stored(ledger: Ledger, reply: dict[str, Any]) -> None:
    odd = {**reply, "text": "a\x00b \ud83d 𝄞 \u2028"}

    async def work() -> None:
        await ledger.record_call("c", KEY, "h", {}, odd)
        ledger.record_try("c", KEY, "transient", None, "bad \x00 byte \udc80" + "x" * 9000, None)
        await ledger.flush()

    asyncio.run(work())
    assert ledger.load(["c"])["c"].calls[KEY].reply == odd


def test_a_value_that_is_no_json_reaches_its_caller_only(ledger: Ledger, reply: dict[str, Any]) -> None:
    async def work() -> None:
        with pytest.raises(ValueError, match="JSON compliant"):
            await ledger.record_call("c", KEY, "h", {}, {**reply, "cost_usd": float("nan")})
        with pytest.raises(TypeError):
            ledger.record_decision("c", "label", 1, {1, 2}, "1")
        assert await ledger.record_call("c", KEY, "h", {}, reply)

    asyncio.run(work())


def test_a_row_the_database_refuses_fails_alone(ledger: Ledger, reply: dict[str, Any]) -> None:
    too_large = {**reply, "usage": {"prompt": 2**70}}

    async def work() -> list[Any]:
        good = [ledger.record_call("c", CallKey("user", turn), "h", {}, reply) for turn in range(1, 6)]
        bad = ledger.record_call("c", CallKey("user", 9), "h", {}, too_large)
        return await asyncio.gather(*good[:2], bad, *good[2:], return_exceptions=True)

    outcomes = asyncio.run(work())
    assert [type(outcome).__name__ for outcome in outcomes] == ["bool", "bool", "OverflowError", "bool", "bool", "bool"]
    assert len(ledger.load(["c"])["c"].calls) == 5


def test_verdicts_are_cached_in_memory_and_on_disk(tmp_path: Path) -> None:
    with Ledger.open(tmp_path) as ledger:
        assert ledger.verdict("k") is None
        ledger.store_verdict("k", {"score": 100.0})
        assert ledger.verdict("k") == {"score": 100.0}
        ledger.store_verdict("k", {"score": 0.0})
    with Ledger.open(tmp_path) as again:
        assert again.verdict("k") == {"score": 0.0}


def test_many_verdicts_are_read_together(tmp_path: Path) -> None:
    stored = {f"key {number}": {"score": float(number)} for number in range(1200)}
    with Ledger.open(tmp_path) as ledger:
        for key, value in stored.items():
            ledger.store_verdict(key, value)
        assert ledger.verdicts(["key 7", "unknown"]) == {"key 7": {"score": 7.0}}, "before they are durable"
    with Ledger.open(tmp_path) as again:
        assert again.verdicts([*stored, "unknown"]) == stored
        assert again.verdicts([]) == {}


def test_queued_rows_are_durable_with_the_next_awaited_operation(ledger: Ledger, tmp_path: Path) -> None:
    async def work() -> int:
        ledger.record_decision("c", "label", 1, "hedging", "1")
        await ledger.flush()
        with sqlite3.connect(tmp_path / "ledger.sqlite") as other:
            return int(other.execute("SELECT count(*) FROM decisions").fetchone()[0])

    assert asyncio.run(work()) == 1


def test_cancelling_a_waiter_neither_loses_nor_repeats_the_row(ledger: Ledger, reply: dict[str, Any]) -> None:
    async def work() -> None:
        tasks = [
            asyncio.ensure_future(ledger.record_call("c", CallKey("user", turn), "h", {}, reply, budget_scope="b"))
            for turn in range(40)
        ]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert sum(isinstance(outcome, asyncio.CancelledError) for outcome in outcomes) == 20
        again = await asyncio.gather(
            *(ledger.record_call("c", CallKey("user", turn), "h", {}, reply, budget_scope="b") for turn in range(40))
        )
        assert not any(again)

    asyncio.run(work())
    assert len(ledger.load(["c"])["c"].calls) == 40
    assert ledger.budget("b") == (10.0, 1440)
    assert ledger.budget_seen("b") == (10.0, 1440)


def test_many_in_flight_share_commits_and_one_alone_is_not_delayed(ledger: Ledger, reply: dict[str, Any]) -> None:
    loop_time: list[float] = []

    async def work() -> None:
        await asyncio.gather(*(ledger.record_call("c", CallKey("user", turn), "h", {}, reply) for turn in range(500)))
        loop = asyncio.get_running_loop()
        for turn in range(20):
            start = loop.time()
            await ledger.record_call("c", CallKey("judge", turn), "h", {}, reply)
            loop_time.append(loop.time() - start)

    asyncio.run(work())
    assert min(loop_time) < 0.1  # Idle polling alone would take 0.2 s.


class Batched:
    """A batch runner that only notes how many operations it was given at once."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def run(self, operations: list[Operation]) -> None:
        self.sizes.append(len(operations))

    def tend(self) -> None:
        return None

    def close(self) -> None:
        return None


def test_rows_of_a_busy_loop_share_a_commit_but_none_waits_for_long() -> None:
    runner = Batched()
    writer = Writer(runner)

    async def late(passes: int) -> None:
        for _ in range(passes):
            await asyncio.sleep(0)
        await writer.submit("call", "c", None)

    async def chatter() -> None:
        while True:
            writer.put(Operation("try", "c", None))
            await asyncio.sleep(0)

    async def work() -> None:
        await asyncio.gather(*(late(passes) for passes in range(12)))
        assert runner.sizes == [12]
        chattering = asyncio.create_task(chatter())
        async with asyncio.timeout(30):  # A loop that is never quiet would hold the row up for ever.
            await writer.submit("call", "c", None)
        chattering.cancel()

    asyncio.run(work())
    writer.close()
    assert runner.sizes[1] > 1


def test_a_closed_ledger_refuses_and_closing_twice_is_fine(tmp_path: Path, reply: dict[str, Any]) -> None:
    ledger = Ledger.open(tmp_path)
    ledger.close()
    ledger.close()
    with pytest.raises(StorageError, match="closed"):
        asyncio.run(ledger.record_call("c", KEY, "h", {}, reply))


def test_secrets_reach_no_row(tmp_path: Path, reply: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    canary = 'canary"\\ü-77aa88bb'
    monkeypatch.setenv("SOME_PROVIDER_API_KEY", canary)
    shaped = "sk-" + "a1b2c3d4" * 4

    async def work() -> None:
        with Ledger.open(tmp_path) as ledger:
            leaky = {**reply, "text": f"key {canary} and {shaped}", "reasoning": f"Authorization: Bearer {shaped}"}
            await ledger.record_call("c", KEY, "h", {}, leaky)
            ledger.record_decision("c", "user", 1, {"text": canary}, "1")
            ledger.record_try("c", KEY, "permanent", 401, f"bad key {canary} {shaped} http://me:hunter22@host/", 0.1)
            ledger.put_blob("template", canary)
            ledger.store_verdict("v", {"detail": canary})
            await ledger.flush()
            assert ledger.load(["c"])["c"].calls[KEY].reply["text"] == "key [redacted] and [redacted]"

    asyncio.run(work())
    everything = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for secret in (b"77aa88bb", shaped.encode(), b"hunter22"):
        assert secret not in everything
