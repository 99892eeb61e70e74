"""What `lic plan` says of a judge against what judging really asks, over both scoring policies."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.items import sample_items
from support.scripted_assistant import hold, plan_of

from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.models.ledger import Ledger
from lic_pipeline.models.ledger.records import Totals
from lic_pipeline.models.registry import get_model
from lic_pipeline.models.request import ModelRequest
from lic_pipeline.records import Setting
from lic_pipeline.simulation.conversation.loop import TurnContext
from lic_pipeline.simulation.cost_estimate import Cost, estimate
from lic_pipeline.simulation.judge.expected_questions import MOST_COUNTED, ExpectedQuestions, expected_questions
from lic_pipeline.simulation.plan.conversation_plan import Plan
from lic_pipeline.simulation.resume.pending_conversations import PendingConversations

ITEM = sample_items("summary")[0]
JUDGE = get_model("gpt-4o-mini")


def summaries(runs: int) -> Plan:
    return plan_of(Setting.FULL, items=[ITEM], task="summary", runs=runs, judge_model=JUDGE.alias)


def bullets(words: int, run: int, cites: int = 1) -> str:
    """Two bullets of so many words, a quarter of them in the first, which cites so often."""
    first = words // 4
    return f"- Run {run} {'word ' * (first - 2)}{'[1] ' * cites}\n- {'other ' * (words - first)}[3]"


def mixed(_: ModelRequest, turn_context: TurnContext) -> str:
    """Of four runs: nothing to judge, one question, two (too long with its citations), two (too long)."""
    run = turn_context.spec.run
    return ("I cannot say:", bullets(40, run), bullets(299, run, cites=20), bullets(400, run))[run % 4]


def seen(plan: Plan, home: Path, *, judged: bool = False) -> ExpectedQuestions:
    with Ledger.open(home / "ledger") as ledger:
        pending = PendingConversations(plan, ledger, ConversationStore(home / "lake", "summary", plan.model.alias))
        return expected_questions(pending, JUDGE, judged=judged)


def test_until_enough_is_held_the_most_there_can_be_is_taken_and_said(tmp_path: Path) -> None:
    assert seen(summaries(2), tmp_path) == ExpectedQuestions({}, 2.0, None, 0)
    assert "the most there can be" in ExpectedQuestions().certainty
    hold(summaries(19), tmp_path, mixed)
    found = seen(summaries(40), tmp_path)
    assert (found.per_summary, found.counted) == (2.0, 0)
    assert sum(found.unasked.values()) == 4 * (0 + 1 + 2 + 2) + 0 + 1 + 2


def test_what_this_model_has_written_says_what_judging_will_ask(tmp_path: Path) -> None:
    hold(summaries(40), tmp_path, mixed)
    found = seen(summaries(80), tmp_path)
    assert (found.per_summary, found.counted) == (1.25, 40)
    assert found.margin == pytest.approx(0.26, abs=0.01)
    assert "1.25 questions to the judge per summary, give or take 0.26, as 40 held ones" in found.certainty
    plan = summaries(80)
    held = set(found.unasked) | {spec.conversation_id for spec in plan.specs if spec.run < 40}
    ahead = [spec.conversation_id for spec in plan.specs if spec.conversation_id not in held]
    planned = estimate(plan, ahead, Totals(), found)[Setting.FULL].roles["judge"].calls
    hold(plan, tmp_path, mixed)
    assert planned == sum(seen(plan, tmp_path).unasked.values()) == 100


def test_what_was_judged_is_not_counted_again(tmp_path: Path) -> None:
    hold(summaries(4), tmp_path, mixed)
    assert seen(summaries(4), tmp_path, judged=True).unasked == {}
    assert estimate(summaries(4), [], Totals(), ExpectedQuestions())[Setting.FULL].roles == {}
    assert "judge" not in estimate(summaries(4), [one.conversation_id for one in summaries(4).specs], Totals())[
        Setting.FULL].roles  # fmt: skip


@pytest.mark.parametrize(("per_summary", "calls"), [(2.0, 6), (1.25, 4), (0.0, None)])
def test_questions_are_rounded_up_once_per_setting(per_summary: float, calls: int | None) -> None:
    plan = summaries(3)
    ids = [spec.conversation_id for spec in plan.specs]
    judge: Cost | None = estimate(plan, ids, Totals(), ExpectedQuestions({}, per_summary))[Setting.FULL].roles.get(
        "judge"
    )
    assert (judge.calls if judge else None) == calls


def test_a_question_holds_no_more_of_a_summary_than_the_limit_lets_through() -> None:
    plan, totals = summaries(1), Totals()
    ids = [spec.conversation_id for spec in plan.specs]
    short = estimate(plan, ids, totals, ExpectedQuestions())[Setting.FULL].roles["judge"].prompt
    reasoning = plan_of(Setting.FULL, items=[ITEM], task="summary", judge_model=JUDGE.alias,
                        model=plan.model.model_copy(update={"reasoning": True}))  # fmt: skip
    long = estimate(reasoning, [reasoning.specs[0].conversation_id], totals, ExpectedQuestions())[Setting.FULL].roles[
        "judge"
    ]
    assert 0 < long.prompt - short <= 2 * 200


def test_only_a_sample_of_much_is_counted(tmp_path: Path) -> None:
    hold(summaries(MOST_COUNTED + 50), tmp_path, mixed, connections=16)
    assert 100 <= seen(summaries(MOST_COUNTED + 50), tmp_path, judged=True).counted <= MOST_COUNTED


def test_with_every_turn_judged_each_summary_of_a_conversation_is_counted(tmp_path: Path) -> None:
    def every(runs: int, **fields: bool) -> Plan:
        return plan_of(Setting.SHARDED, items=[ITEM], task="summary", runs=runs, judge_model=JUDGE.alias, **fields)

    plan = every(10, judge_every_turn=True)
    hold(
        every(10), tmp_path, lambda request, turn_context: bullets(40, 100 * turn_context.spec.run + turn_context.turn)
    )
    shards = len(ITEM.sharded.shards)
    found = seen(plan, tmp_path)
    assert found.counted == 10 * shards >= 20
    assert (found.per_summary, found.margin, sum(found.unasked.values())) == (1.0, 0.0, 10 * shards)
    assert sum(seen(every(10), tmp_path).unasked.values()) == 10
    ids = [spec.conversation_id for spec in plan.specs]
    assert estimate(plan, ids, Totals(), found)[Setting.SHARDED].roles["judge"].calls == 10 * shards
