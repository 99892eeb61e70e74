"""What each setting says turn by turn, when it stops and what it leaves behind; the assistant alone is a double."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.items import sample_items
from support.scripted_assistant import (
    FAKE,
    RIGHT,
    TALK,
    WRONG,
    ConfusedUser,
    ScriptedAssistant,
    SilentUser,
    by_turn,
    held,
    hold,
    pens,
    plan_of,
    scores_csv,
)

from lic_pipeline.errors import BudgetReachedError, DriftError, ProviderStoppedError
from lic_pipeline.models.errors import (
    AccessError,
    BudgetError,
    CallTimeoutError,
    ContextOverflowError,
    PermanentError,
    RateLimitError,
)
from lic_pipeline.models.ledger import Ledger
from lic_pipeline.prompts import template
from lic_pipeline.records import Reply, Setting, StopReason, ToolCall
from lic_pipeline.simulation.conversation.invariants import broken_invariants
from lic_pipeline.simulation.conversation.loop import turn_cap
from lic_pipeline.simulation.plan.conversation_plan import Approved, Plan

ITEM = pens()
SHARDS = [shard.text for shard in ITEM.sharded.shards]


def users(assistant: ScriptedAssistant) -> list[str]:
    """The newest user message of each request."""
    return [request.messages[-1].content for request in assistant.requests]


def test_full_says_the_instruction_once(tmp_path: Path) -> None:
    plan = plan_of(Setting.FULL)
    assistant, outcome = hold(plan, tmp_path, by_turn(RIGHT))
    assert users(assistant) == [plan.task.full_message(ITEM.instruction)]
    assert ITEM.instruction.text in users(assistant)[0]
    assert [m.role for m in assistant.requests[0].messages] == ["system", "user"]
    assert assistant.requests[0].messages[0].content == plan.task.system_prompt(ITEM.instruction)
    assert outcome.complete
    assert outcome.calls == 1
    assert held(plan, tmp_path)[0].stop_reason is StopReason.CORRECT


def test_concat_lists_all_shards_in_order(tmp_path: Path) -> None:
    assistant, _ = hold(plan_of(Setting.CONCAT), tmp_path, by_turn(WRONG))
    places = [users(assistant)[0].index(text) for text in SHARDS]
    assert places == sorted(places)
    assert len(users(assistant)) == 1


def test_shuffled_concat_keeps_the_intent_first_and_is_the_same_for_every_model(tmp_path: Path) -> None:
    item = pens(shards=7)
    other = FAKE.model_copy(update={"alias": "other", "id": "local/other"})
    orders = {}
    for model in (FAKE, other):
        plan = plan_of(Setting.SHUFFLE_CONCAT, items=[item], runs=10, model=model)
        orders[model.alias] = [spec.shard_order for spec in plan.specs]
        assistant, _ = hold(plan, tmp_path / model.alias, by_turn(WRONG))
        runs = [turn_context.spec.run for turn_context in assistant.stages]
        texts = dict(zip(runs, users(assistant), strict=True))
        for spec in plan.specs:
            places = [texts[spec.run].index(item.sharded.shards[i - 1].text) for i in spec.shard_order]
            assert places == sorted(places)
    assert orders["scripted"] == orders["other"]
    assert all(order[0] == 1 and sorted(order) == list(range(1, 8)) for order in orders["other"])
    assert len(set(orders["other"])) > 5


def test_sharded_reveals_one_shard_a_turn_and_stops_when_right(tmp_path: Path) -> None:
    plan = plan_of(Setting.SHARDED)
    assistant, _ = hold(plan, tmp_path, by_turn(TALK, WRONG, RIGHT))
    one = held(plan, tmp_path)[0]
    assert users(assistant) == SHARDS[:3]
    assert [turn.revealed for turn in one.turns] == [1, 2, 3]
    assert one.stop_reason is StopReason.CORRECT
    roles = [m.role for m in assistant.requests[-1].messages]
    assert roles == ["system", "user", "assistant", "user", "assistant", "user"]
    assert assistant.requests[-1].messages[2].content == TALK


@pytest.mark.parametrize(
    ("stop", "replies", "turns", "reason"),
    [
        ("correct", (WRONG,), 4, StopReason.EXHAUSTED),
        ("correct", (TALK, RIGHT), 2, StopReason.CORRECT),
        ("correct", (TALK, TALK, TALK, RIGHT), 4, StopReason.CORRECT),
        ("exhausted", (TALK, RIGHT, WRONG), 4, StopReason.EXHAUSTED),
        ("exhausted", (RIGHT,), 4, StopReason.CORRECT),
        ("correct", ("",), 4, StopReason.EXHAUSTED),
    ],
)
def test_when_sharded_stops(
    tmp_path: Path, stop: str, replies: tuple[str, ...], turns: int, reason: StopReason
) -> None:
    plan = plan_of(Setting.SHARDED, stop=stop)
    hold(plan, tmp_path, by_turn(*replies))
    one = held(plan, tmp_path)[0]
    assert (len(one.turns), one.stop_reason) == (turns, reason)
    assert broken_invariants(one) == []


@pytest.mark.parametrize("user", [SilentUser(), ConfusedUser()])
def test_a_user_who_reveals_nothing_is_made_to_and_the_cap_holds(
    tmp_path: Path, user: SilentUser | ConfusedUser
) -> None:
    plan = plan_of(Setting.SHARDED, items=[pens(shards=6)])
    hold(plan, tmp_path, by_turn(TALK), user=user)
    one = held(plan, tmp_path)[0]
    assert len(one.turns) == turn_cap(6) == 14
    assert one.stop_reason is StopReason.TURN_CAP
    assert [turn.revealed for turn in one.turns] == [1, *[None, None, 2], *[None, None, 3], *[None, None, 4],
                                                     *[None, None, 5], None]  # fmt: skip
    assert [turn.turn for turn in one.turns if turn.forced] == [4, 7, 10, 13]
    assert "forced" in one.flags
    assert ("bad_id" in one.flags) == isinstance(user, ConfusedUser)
    assert broken_invariants(one) == []


def test_snowball_repeats_every_earlier_utterance_word_for_word(tmp_path: Path) -> None:
    plan = plan_of(Setting.SNOWBALL)
    assistant, _ = hold(plan, tmp_path, by_turn(TALK))
    for place, text in enumerate(users(assistant)):
        assert all(text.count(shard) == 1 for shard in SHARDS[: place + 1])
        assert not any(shard in text for shard in SHARDS[place + 1 :])
    one = held(plan, tmp_path)[0]
    assert [turn.said for turn in one.turns] == SHARDS
    assert users(assistant)[0] == SHARDS[0]
    assert broken_invariants(one) == []


@pytest.mark.parametrize(
    ("recap_of", "notice", "restated"),
    [("utterances", "off", SHARDS[:2]), ("shards", "off", SHARDS), ("utterances", "on", SHARDS[:2])],
)
def test_recap_follows_every_sharded_conversation(
    tmp_path: Path, recap_of: str, notice: str, restated: list[str]
) -> None:
    plan = plan_of(Setting.SHARDED, Setting.RECAP, recap_of=recap_of, recap_notice=notice)
    assistant, outcome = hold(plan, tmp_path, by_turn(TALK, RIGHT, WRONG))
    sharded, recap = held(plan, tmp_path)
    closing = users(assistant)[-1]
    assert outcome.complete
    assert len(sharded.turns) == 2
    assert len(recap.turns) == 1
    assert [text for text in SHARDS if text in closing] == restated
    assert ("not right" in closing) == (notice == "on")
    assert recap.turns[0].turn == 3
    assert recap.parent_id == sharded.conversation_id
    assert len(assistant.requests[-1].messages) == 1 + 2 * 2 + 1
    assert broken_invariants(recap) == []


def test_retry_asks_without_content(tmp_path: Path) -> None:
    assistant, _ = hold(plan_of(Setting.SHARDED, Setting.RETRY), tmp_path, by_turn(WRONG))
    assert users(assistant)[-1] == template("common/retry")
    assert not any(text in users(assistant)[-1] for text in SHARDS)


def test_a_recap_without_its_parent_is_missing_and_costs_nothing(tmp_path: Path) -> None:
    plan = plan_of(Setting.SHARDED, Setting.RECAP)
    for calls in (1, 0, 0):
        assistant, outcome = hold(plan, tmp_path, by_turn(CallTimeoutError("slow")))
        assert outcome.missing == {"error:timeout": 1, "parent_missing": 1}
        assert len(assistant.requests) == calls, "a settled failure was tried again by itself"


def test_refinement_goes_to_the_end_and_each_reply_is_an_attempt(tmp_path: Path) -> None:
    item = next(item for item in sample_items("data2text"))
    plan = plan_of(Setting.SHARDED, items=[item], task="data2text")
    gold = plan.task.gold(item.instruction)
    hold(plan, tmp_path, by_turn(gold or "", "Something else."))
    one = held(plan, tmp_path)[0]
    assert len(one.turns) == len(item.sharded.shards)
    assert one.stop_reason is StopReason.EXHAUSTED
    assert all(turn.attempt is not None and turn.attempt.gate == "always" for turn in one.turns)
    assert all(turn.attempt.verdict is None for turn in one.turns if turn.attempt)


@pytest.mark.parametrize(
    ("reply", "gate", "flag"),
    [
        (Reply(text=RIGHT), "labelled", None),
        (Reply(text="Let me ask first: which shop? My guess for now is \\boxed{41}."), "labelled|ungated", None),
        (Reply(text="I'm sorry, but I can't help with that."), None, "refusal"),
        (Reply(text=""), None, "empty_reply"),
        (Reply(text="Well, it is", finish_reason="length"), None, "truncated"),
        (Reply(text="", finish_reason="content_filter"), None, "content_filter"),
        (Reply(text=TALK, flags=("no_usage",)), None, "no_usage"),
    ],
)
def test_gate_and_flags(tmp_path: Path, reply: Reply, gate: str | None, flag: str | None) -> None:
    plan = plan_of(Setting.FULL)
    hold(plan, tmp_path, by_turn(reply))
    one = held(plan, tmp_path)[0]
    attempt = one.turns[0].attempt
    assert (attempt is None) == (gate is None)
    assert attempt is None or attempt.gate in (gate or "").split("|")
    assert flag is None or flag in one.flags
    assert ("ungated" in one.flags) == (attempt is not None and attempt.gate == "ungated")
    assert one.state == "done"
    assert one.stop_reason in (StopReason.CORRECT, StopReason.EXHAUSTED)


def test_context_overflow_ends_a_conversation_by_itself(tmp_path: Path) -> None:
    plan = plan_of(Setting.FULL, Setting.SHARDED, runs=1)

    def say(request: object, turn_context: object) -> str | Exception:
        full = turn_context.spec.setting is Setting.FULL  # type: ignore[attr-defined]
        return ContextOverflowError("too long") if full or turn_context.turn == 3 else WRONG  # type: ignore[attr-defined]

    _, outcome = hold(plan, tmp_path, say)
    first, later = held(plan, tmp_path)
    assert outcome.complete
    assert (len(first.turns), first.stop_reason, first.state) == (0, StopReason.CONTEXT, "done")
    assert (len(later.turns), later.stop_reason, later.state) == (2, StopReason.CONTEXT, "done")
    assistant, outcome = hold(plan, tmp_path, say)
    assert assistant.requests == []
    assert outcome.already == 2


def test_what_follows_a_conversation_that_never_began_is_missing_too(tmp_path: Path) -> None:
    plan = plan_of(Setting.SHARDED, Setting.RECAP, Setting.RETRY)
    assistant, outcome = hold(plan, tmp_path, by_turn(ContextOverflowError("too long"), RIGHT))
    assert outcome.complete
    assert len(assistant.requests) == 1
    assert [one.stop_reason for one in held(plan, tmp_path)] == [StopReason.CONTEXT] * 3
    assert scores_csv(plan, tmp_path).count(",context,context,None,") == 3


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (RateLimitError("429"), "error:rate_limit"),
        (CallTimeoutError("slow"), "error:timeout"),
        (PermanentError("400"), "error:permanent"),
        (ValueError("a fault of ours"), "error:internal"),
    ],
)
def test_a_failed_call_is_missing_and_no_score(tmp_path: Path, error: Exception, state: str) -> None:
    plan = plan_of(Setting.SHARDED)
    _, outcome = hold(plan, tmp_path, by_turn(WRONG, error))
    one = held(plan, tmp_path)[0]
    assert (one.state, one.stop_reason, len(one.turns)) == (state, None, 1)
    assert outcome.missing == {state: 1}
    assert not outcome.complete
    assert f",{state}," in scores_csv(plan, tmp_path)
    assert ",None,None,None,None,None,None," in scores_csv(plan, tmp_path)
    assistant, outcome = hold(plan, tmp_path, by_turn(RIGHT))
    assert assistant.requests == []
    assert outcome.missing == {state: 1}
    with Ledger.open(tmp_path / "ledger") as ledger:
        assert ledger.reopen([one.conversation_id]) == 1
    assistant, outcome = hold(plan, tmp_path, by_turn(WRONG, RIGHT))
    assert len(assistant.requests) == 1
    assert outcome.complete
    assert held(plan, tmp_path)[0].stop_reason is StopReason.CORRECT


@pytest.mark.parametrize(
    ("error", "raised"),
    [(AccessError("bad key"), ProviderStoppedError), (BudgetError("spent"), BudgetReachedError)],
)
def test_what_stops_a_run_leaves_conversations_open(tmp_path: Path, error: Exception, raised: type[Exception]) -> None:
    plan = plan_of(Setting.SHARDED, items=[pens(n) for n in range(6)])
    with pytest.raises(raised):
        hold(plan, tmp_path, by_turn(TALK, error), connections=2)
    with Ledger.open(tmp_path / "ledger") as ledger:
        assert set(ledger.states([spec.conversation_id for spec in plan.specs]).values()) == {"open"}
        paid = ledger.totals().overall.calls
    assert held(plan, tmp_path) == []
    assert paid >= 1
    assistant, outcome = hold(plan, tmp_path, by_turn(TALK, RIGHT))
    assert outcome.complete
    assert len(assistant.requests) == 12 - paid


def test_drift_names_the_field_and_calls_nothing(tmp_path: Path) -> None:
    plan = plan_of(Setting.SHARDED)
    with pytest.raises(ProviderStoppedError):
        hold(plan, tmp_path, by_turn(TALK, AccessError("bad key")))
    opening = ITEM.sharded.shards[0].model_copy(update={"text": "Another opening?"})
    sharded = ITEM.sharded.model_copy(update={"shards": (opening, *ITEM.sharded.shards[1:])})
    items = {"own/0": Approved(ITEM.instruction, sharded, "authored")}
    drifted = Plan(plan.experiment, plan.task, plan.model, items, plan.families, plan.signatures)
    with pytest.raises(DriftError, match="'message'") as caught:
        hold(drifted, tmp_path, by_turn(RIGHT))
    assert caught.value.field == "message"
    assert held(plan, tmp_path)[0].state == "error:drift"
    again, outcome = hold(plan, tmp_path, by_turn(TALK, RIGHT))
    assert outcome.complete
    assert len(again.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [
        Reply(text=f"lone \ud800 surrogate and NUL \x00. {RIGHT}"),
        Reply(text=f"emoji \U0001f600 and \\ud800 spelled out. {RIGHT}"),
        Reply(text="the key is sk-abcdefghij0123456789abcd, and " + RIGHT),
        Reply(text=RIGHT, reasoning="Authorization: Bearer abcdefghij0123456789"),
        Reply(text=RIGHT, tool_calls=(ToolCall(name="f", arguments='{"key": "sk-abcdefghij0123456789abcd"}'),)),
        Reply(text="x" * 1_000_000 + " " + RIGHT),
        Reply(text="</script>{{items}} {{earlier}} \x1b[31m " + TALK),
    ],
    ids=["surrogate", "escape", "secret", "secret-reasoning", "secret-tool", "megabyte", "templates"],
)
def test_odd_replies_come_back_from_ledger_and_lake_unchanged(tmp_path: Path, reply: Reply) -> None:
    plan = plan_of(Setting.SHARDED, Setting.RECAP, Setting.SNOWBALL)
    _, outcome = hold(plan, tmp_path, by_turn(TALK, reply))
    assert outcome.complete
    first, csv = held(plan, tmp_path), scores_csv(plan, tmp_path)
    kept = first[0].turns[1].reply
    assert ("redacted" in kept.flags) == ("sk-" in repr(reply) or "Bearer" in repr(reply))
    assert "0123456789" not in repr(kept)
    assert len(kept.text) >= len(reply.text) - 20
    for file in (tmp_path / "lake").rglob("*.parquet"):
        file.unlink()
    assistant, outcome = hold(plan, tmp_path, by_turn("never said"))
    assert assistant.requests == []
    assert outcome.complete
    assert held(plan, tmp_path) == first
    assert scores_csv(plan, tmp_path) == csv
