"""A conversation that stopped at an answer now judged wrong goes on from there, and only its new turns are paid."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.scripted_assistant import RIGHT, TALK, WRONG, by_turn, held, hold, pens, plan_of, scores_csv

from lic_pipeline.errors import ProviderStoppedError
from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.models.errors import AccessError
from lic_pipeline.models.ledger import Ledger
from lic_pipeline.records import Instruction, Setting, Shard, StopReason, Turn
from lic_pipeline.simulation.call_store import CallStore
from lic_pipeline.simulation.plan.conversation_plan import Approved, Plan
from lic_pipeline.simulation.resume.pending_conversations import PendingConversations
from lic_pipeline.simulation.roles.scripted import Utterance
from lic_pipeline.tasks.protocol import Task
from lic_pipeline.tasks.registry import get_task


def corrected(plan_item: Approved, answer: str) -> Approved:
    """The same item with another gold answer: the same ids, other verdicts."""
    reference = {"answer": answer, "solution": ""}
    return Approved(plan_item.instruction.model_copy(update={"reference": reference}), plan_item.sharded, "authored")


def todo(plan: Plan, home: Path) -> int:
    with Ledger.open(home / "ledger") as ledger:
        pending = PendingConversations(plan, ledger, ConversationStore(home / "lake", plan.task.name, plan.model.alias))
        return sum(1 for family in pending.todo for _ in pending.open_specs(family))


SETTINGS = (Setting.FULL, Setting.SHARDED, Setting.RECAP, Setting.SNOWBALL)


def test_a_corrected_gold_answer_lets_conversations_go_on(tmp_path: Path) -> None:
    before = plan_of(*SETTINGS)
    hold(before, tmp_path, by_turn(TALK, RIGHT))
    old = held(before, tmp_path)
    after = plan_of(*SETTINGS, items=[corrected(pens(), "7")])
    assert [spec.conversation_id for spec in after.specs] == [spec.conversation_id for spec in before.specs]
    assert "stopped_early" in scores_csv(after, tmp_path)
    assert todo(before, tmp_path) == 0
    assert todo(after, tmp_path) == todo(after, tmp_path) == 3, "SHARDED, its RECAP and SNOWBALL"
    assistant, outcome = hold(after, tmp_path, by_turn(TALK, RIGHT, WRONG))
    assert outcome.complete
    assert sorted((str(turn_context.spec.setting), turn_context.turn) for turn_context in assistant.stages) == [
        ("RECAP", 4), ("SHARDED", 3), ("SNOWBALL", 3),
    ]  # fmt: skip
    new = held(after, tmp_path)
    assert new[0] == old[0], "FULL ends after its turn whatever it is worth"
    for was, now in zip(old[1:], new[1:], strict=True):
        if now.setting is not Setting.RECAP:
            assert [turn.reply for turn in now.turns[:2]] == [turn.reply for turn in was.turns]
            assert (len(now.turns), now.stop_reason) == (3, StopReason.CORRECT)
    assert "stopped_early" not in scores_csv(after, tmp_path)
    assistant, outcome = hold(after, tmp_path, by_turn("never said"))
    assert (assistant.requests, outcome.complete, todo(after, tmp_path)) == ([], True, 0)


def test_a_killed_continuation_is_taken_up_again(tmp_path: Path) -> None:
    plan = plan_of(Setting.SHARDED)
    hold(plan, tmp_path, by_turn(TALK, RIGHT))
    after = plan_of(Setting.SHARDED, items=[corrected(pens(), "7")])
    with Ledger.open(tmp_path / "ledger") as ledger:
        PendingConversations(
            after, ledger, ConversationStore(tmp_path / "lake", "math", after.model.alias)
        ).reopen_pending()
    assistant, outcome = hold(after, tmp_path, by_turn(TALK, RIGHT, TALK, WRONG))
    assert [turn_context.turn for turn_context in assistant.stages] == [3, 4]
    assert outcome.complete


def test_a_new_scorer_that_agrees_changes_nothing_and_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_of(Setting.SHARDED, runs=3)
    hold(plan, tmp_path, by_turn(TALK, RIGHT))
    task = get_task("math")
    asked: list[str] = []
    real = task.score

    def counted(answer: str, instruction: object, policy: object = "robust") -> object:
        asked.append(answer)
        return real(answer, instruction, policy)  # type: ignore[arg-type]

    monkeypatch.setattr(task, "score", counted, raising=False)
    assert todo(plan, tmp_path) == 0
    assert asked == [], "the same scorer and reference: nothing to look at"
    monkeypatch.setattr(task, "scorer_version", task.scorer_version + 1, raising=False)
    assert todo(plan, tmp_path) == 0
    assert len(asked) > 0
    asked.clear()
    assert todo(plan, tmp_path) == 0
    assert asked == [], "what was found is kept"


def test_replayed_judgements_keep_their_stamp(tmp_path: Path) -> None:
    plan = plan_of(Setting.SHARDED)
    hold(plan, tmp_path, by_turn(TALK, RIGHT))
    stamp = held(plan, tmp_path)[0].judged_by
    for file in (tmp_path / "lake").rglob("*.parquet"):
        file.unlink()
    after = plan_of(Setting.SHARDED, items=[corrected(pens(), "7")])
    hold(after, tmp_path, by_turn("never said"))
    assert held(after, tmp_path)[0].judged_by == stamp
    assert todo(after, tmp_path) == 1


def test_now_right_where_the_loop_went_on_is_scored_right_and_keeps_its_turns(tmp_path: Path) -> None:
    plan = plan_of(Setting.SHARDED)
    hold(plan, tmp_path, by_turn(WRONG))
    after = plan_of(Setting.SHARDED, items=[corrected(pens(), "7")])
    assert todo(after, tmp_path) == 0
    assert "ran_past_correct" in scores_csv(after, tmp_path)
    assert len(held(after, tmp_path)[0].turns) == 4


def test_accepted_drift_judges_the_new_replies_and_not_the_old_ones(tmp_path: Path) -> None:
    plan = plan_of(Setting.SHARDED)
    name = plan.specs[0].conversation_id
    with pytest.raises(ProviderStoppedError):
        hold(plan, tmp_path, by_turn(TALK, AccessError("bad key")))
    item = pens()
    opening = item.sharded.shards[0].model_copy(update={"text": "Another opening?"})
    sharded = item.sharded.model_copy(update={"shards": (opening, *item.sharded.shards[1:])})
    items = {"own/0": Approved(item.instruction, sharded, "authored")}
    drifted = Plan(plan.experiment, plan.task, plan.model, items, plan.families, plan.signatures)
    with Ledger.open(tmp_path / "ledger") as ledger:
        ledger.bump_epoch([name])
    assistant, outcome = hold(drifted, tmp_path, by_turn(RIGHT))
    assert outcome.complete
    assert [turn_context.turn for turn_context in assistant.stages] == [1]
    (one,) = held(drifted, tmp_path)
    assert (one.turns[0].user, one.turns[0].reply.text) == ("Another opening?", RIGHT)
    assert one.turns[0].attempt is not None, "the label of the old reply was taken for the new one"
    assert one.stop_reason is StopReason.CORRECT


def test_a_user_model_is_not_asked_again_before_the_conversation_differs(tmp_path: Path) -> None:
    """What an LLM user said stays as long as the replies before it do; only new turns are paid."""

    class Costly:
        """Says each shard, and counts how often it had to be asked."""

        asked = 0

        async def next_utterance(
            self,
            task: Task,
            instruction: Instruction,
            turns: Sequence[Turn],
            unrevealed: Sequence[Shard],
            call_store: CallStore,
        ) -> Utterance:
            stored = call_store.decision("user", len(turns) + 1)
            if stored is None:
                Costly.asked += 1
                stored = {"text": f"{unrevealed[0].text}, as asked {Costly.asked}", "revealed": unrevealed[0].shard_id}
                call_store.decide("user", len(turns) + 1, stored, "1")
            return Utterance(stored["text"], stored["revealed"])

    hold(plan_of(Setting.SHARDED), tmp_path, by_turn(TALK, RIGHT), user=Costly())
    assert Costly.asked == 1
    after = plan_of(Setting.SHARDED, items=[corrected(pens(), "7")])
    assistant, outcome = hold(after, tmp_path, by_turn(TALK, RIGHT, WRONG), user=Costly())
    assert outcome.complete
    assert Costly.asked == 2
    assert [turn_context.turn for turn_context in assistant.stages] == [3]
