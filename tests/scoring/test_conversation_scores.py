"""Hand-built conversations and every score they must get; verdicts are those of the real math scorer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pytest
from support.items import sample_items
from support.scripted_assistant import RIGHT, TALK, WRONG, pens

from lic_pipeline.errors import RecordError
from lic_pipeline.records import (
    Attempt,
    Conversation,
    Extraction,
    Instruction,
    Reply,
    Rung,
    Setting,
    StopReason,
    Strategy,
    Turn,
    Verdict,
)
from lic_pipeline.scoring.conversation_scores import ScoredTurn, attempt_rows, score_conversation, score_turns
from lic_pipeline.tasks.registry import get_task
from lic_pipeline.tasks.summary.judge_questions import Insight, InsightVerdict
from lic_pipeline.tasks.summary.lexical_judge import LexicalJudge
from lic_pipeline.tasks.summary.task import Summary

TASK = get_task("math")
ITEM = pens(shards=3).instruction
CORRECT, EXHAUSTED, CONTEXT, CAP = StopReason.CORRECT, StopReason.EXHAUSTED, StopReason.CONTEXT, StopReason.TURN_CAP


class NoCache:
    """Keeps nothing."""

    def verdict(self, key: str) -> None:
        return None

    def store_verdict(self, key: str, value: dict[str, Any]) -> None:
        """Forget it."""


def turn(number: int, text: str, revealed: int | None, recorded: float | None = None, **fields: Any) -> Turn:
    """A turn labelled by the task's rules, with the verdict the loop recorded (None = no attempt)."""
    reply = Reply(text=text)
    label = TASK.label(reply, ITEM)
    attempt = None
    if recorded is not None:
        found = TASK.extract(reply, ITEM)
        verdict = Verdict(score=recorded, verdict="correct" if recorded == 100 else "wrong")
        attempt = Attempt(extraction=found, verdict=verdict, gate="labelled", scorer_version=1)
    values = {"strategy": label, "rule_strategy": label, "attempt": attempt, **fields}
    return Turn(turn=number, user="u", revealed=revealed, reply=reply, **values)


def conversation(
    turns: list[Turn], stop: StopReason | None, setting: Setting = Setting.SHARDED, state: str = "done"
) -> Conversation:
    return Conversation(
        conversation_id="c", purpose="eval", task="math", model="m", setting=setting, instruction_id="own/0", run=0,
        seed=1, shard_ids=(1, 2, 3), system_prompt="s", turns=tuple(turns), state=state, stop_reason=stop,
    )  # fmt: skip


def scores(held: Conversation, item: Instruction = ITEM, task: Any = TASK) -> dict[str, Any]:
    found = asdict(score_conversation(task, item, held, score_turns(task, item, held, NoCache())))
    return {**found, "flags": set(found["flags"])}


NOTHING = {
    "score": None, "missing_reason": None, "score_max": None, "score_last": None, "score_first": None,
    "score_full_info": None, "score_cumulative": None, "solved_at_turn": None, "solved_before_last_shard": None,
    "n_attempts": 0, "score_reference": None, "flags": set(),
}  # fmt: skip


def same(value: float, **others: Any) -> dict[str, Any]:
    """All scores at one value, but for those named."""
    names = ("score", "score_max", "score_last", "score_first", "score_full_info", "score_reference")
    return {**dict.fromkeys(names, value), **others}


CASES: dict[str, tuple[Conversation, dict[str, Any]]] = {
    "right in FULL": (
        conversation([turn(1, RIGHT, None, 100)], CORRECT, Setting.FULL),
        same(100.0, solved_at_turn=1, solved_before_last_shard=False, n_attempts=1),
    ),
    "wrong in FULL": (conversation([turn(1, WRONG, None, 0)], EXHAUSTED, Setting.FULL), same(0.0, n_attempts=1)),
    "no attempt in FULL": (
        conversation([turn(1, TALK, None)], EXHAUSTED, Setting.FULL),
        same(0.0, score_first=None),
    ),
    "empty reply": (conversation([turn(1, "", None)], EXHAUSTED, Setting.FULL), same(0.0, score_first=None)),
    "solved when all is out": (
        conversation([turn(1, TALK, 1), turn(2, WRONG, 2, 0), turn(3, RIGHT, 3, 100)], CORRECT),
        same(100.0, score_first=0.0, solved_at_turn=3, solved_before_last_shard=False, n_attempts=2),
    ),
    "solved early": (
        conversation([turn(1, WRONG, 1, 0), turn(2, RIGHT, 2, 100)], CORRECT),
        same(
            100.0, score_first=0.0, score_full_info=None, solved_at_turn=2, solved_before_last_shard=True, n_attempts=2
        ),
    ),
    "right, then wrong, under stop: exhausted": (
        conversation([turn(1, TALK, 1), turn(2, RIGHT, 2, 100), turn(3, WRONG, 3, 0)], EXHAUSTED),
        same(
            100.0,
            score_last=0.0,
            score_full_info=None,
            score_reference=0.0,
            solved_at_turn=2,
            solved_before_last_shard=True,
            n_attempts=2,
        ),
    ),
    "the first full-information attempt counts, not the best": (
        conversation([turn(1, TALK, 1), turn(2, TALK, 2), turn(3, WRONG, 3, 0), turn(4, RIGHT, None, 100)], CAP),
        same(
            100.0, score_first=0.0, score_full_info=0.0, solved_at_turn=4, solved_before_last_shard=False, n_attempts=2
        ),
    ),
    "ran past a right answer": (
        conversation([turn(1, RIGHT, 1, 0), turn(2, WRONG, 2, 0), turn(3, WRONG, 3, 0)], EXHAUSTED),
        same(
            100.0,
            score_last=0.0,
            score_full_info=None,
            score_reference=0.0,
            solved_at_turn=1,
            solved_before_last_shard=True,
            n_attempts=3,
            flags={"ran_past_correct"},
        ),
    ),
    "stopped too early": (
        conversation([turn(1, TALK, 1), turn(2, WRONG, 2, 100)], CORRECT),
        {"missing_reason": "stopped_early", "n_attempts": 1, "flags": {"stopped_early"}},
    ),
    "now wrong, but everything was out": (
        conversation([turn(1, TALK, 1), turn(2, TALK, 2), turn(3, WRONG, 3, 100)], CORRECT),
        same(0.0, n_attempts=1),
    ),
    "now wrong in FULL": (conversation([turn(1, WRONG, None, 100)], CORRECT, Setting.FULL), same(0.0, n_attempts=1)),
    "now wrong in RECAP": (conversation([turn(4, WRONG, None, 100)], CORRECT, Setting.RECAP), same(0.0, n_attempts=1)),
    "stopped at a wrong one after a right one": (
        conversation([turn(1, RIGHT, 1, 0), turn(2, WRONG, 2, 100)], CORRECT),
        same(
            100.0,
            score_last=0.0,
            score_full_info=None,
            score_reference=0.0,
            solved_at_turn=1,
            solved_before_last_shard=True,
            n_attempts=2,
            flags={"ran_past_correct"},
        ),
    ),
    "overflow before the first reply": (conversation([], CONTEXT, Setting.FULL), {"missing_reason": "context"}),
    "overflow later": (
        conversation([turn(1, WRONG, 1, 0)], CONTEXT),
        same(0.0, n_attempts=1, flags={"context_overflow"}),
    ),
    "turn cap": (conversation([turn(n, TALK, None) for n in range(1, 9)], CAP), same(0.0, score_first=None)),
    "an error is missing, whatever was said before": (
        conversation([turn(1, RIGHT, 1, 100)], None, state="error:timeout"),
        {"missing_reason": "error:timeout", "solved_at_turn": 1, "solved_before_last_shard": True, "n_attempts": 1},
    ),
    "hedging is held back though it has a marked answer": (
        conversation([turn(1, RIGHT, None, strategy=Strategy.HEDGING)], EXHAUSTED, Setting.FULL),
        same(0.0, score_first=None, score_reference=100.0),
    ),
    "not labelled, but marked": (
        conversation([turn(1, "\\boxed{41}", None, strategy=Strategy.DISCUSSION)], EXHAUSTED, Setting.SHARDED),
        same(
            100.0,
            score_reference=0.0,
            score_full_info=None,
            solved_at_turn=1,
            solved_before_last_shard=True,
            n_attempts=1,
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_score_of_a_conversation(name: str) -> None:
    held, expected = CASES[name]
    wanted = {**NOTHING, **expected}
    found = scores(held)
    if "ran_past_correct" in wanted["flags"]:
        found["flags"] &= {"ran_past_correct", "stopped_early"}
    assert found == wanted


def test_an_unusable_verdict_is_missing_with_its_reason_and_not_a_change_of_mind() -> None:
    class Broken:
        def __getattr__(self, name: str) -> Any:
            return getattr(TASK, name)

        def score(self, answer: str, instruction: Instruction, policy: str = "robust") -> Verdict:
            return Verdict(score=None, verdict="not_judged", error="no_sandbox")

    found = scores(conversation([turn(1, TALK, 1), turn(2, RIGHT, 2, 100)], CORRECT), task=Broken())
    assert (found["score"], found["missing_reason"], found["flags"]) == (None, "no_sandbox", set())


def test_a_paid_extraction_is_used_where_no_strict_rung_finds_an_answer() -> None:
    text = "So after all of that the shop is down to forty-one of them, I think, or so."
    lifted = Attempt(extraction=Extraction(answer="41", rung=Rung.LLM), verdict=None, gate="labelled", scorer_version=1)
    one = turn(1, text, None, strategy=Strategy.ANSWER_ATTEMPT).model_copy(update={"attempt": lifted})
    assert scores(conversation([one], EXHAUSTED, Setting.FULL))["score"] == 100.0


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        (("gold", "other"), "last"),
        (("other", "gold"), 100.0),
        (("gold", ""), 0.0),
        (("", "gold"), 100.0),
        (("", ""), 0.0),
    ],
)
def test_refinement_counts_the_last_reply_whatever_came_before(replies: tuple[str, str], expected: object) -> None:
    task = get_task("data2text")
    item = sample_items("data2text")[0].instruction
    texts = {"gold": task.gold(item) or "", "other": "Quite another sentence altogether.", "": ""}
    turns = []
    for number, kind in enumerate(replies, start=1):
        reply = Reply(text=texts[kind])
        label = task.label(reply, item)
        turns.append(Turn(turn=number, user="u", revealed=number, reply=reply, strategy=label, rule_strategy=label))
    held = conversation(turns, EXHAUSTED).model_copy(update={"task": "data2text", "shard_ids": (1, 2)})
    found = scores(held, item, task)
    assert found["score"] == found["score_last"]
    assert found["score"] == pytest.approx(expected) if isinstance(expected, float) else found["score"] < 50
    assert found["score_max"] == pytest.approx(100.0 if "gold" in replies else 0.0)
    assert (found["solved_at_turn"], found["missing_reason"]) == (None, None)


def _summaries(*texts: str) -> Conversation:
    turns = []
    for number, text in enumerate(texts, start=1):
        label = Strategy.ANSWER_ATTEMPT if text else Strategy.MISSING
        turns.append(Turn(turn=number, user="u", revealed=number, reply=Reply(text=text), strategy=label,
                          rule_strategy=label))  # fmt: skip
    return conversation(turns, EXHAUSTED).model_copy(update={"task": "summary", "shard_ids": (1, 2, 3)})


class Picky(LexicalJudge):
    """Gives no verdict on a summary that says "odd"."""

    def judge(self, insights: Sequence[Insight], bullets: Sequence[str]) -> list[InsightVerdict]:
        if any("odd" in bullet for bullet in bullets):
            raise RecordError("judge: no usable verdicts")
        return super().judge(insights, bullets)


@pytest.mark.parametrize(
    ("replies", "last", "best", "first", "attempts"),
    [
        (("none", "gold", "none"), 0.0, 100.0, 0.0, 3),
        (("gold", "", "none"), 0.0, 100.0, 100.0, 2),
        (("none", "none", "gold"), 100.0, 100.0, 0.0, 3),
        (("gold", "odd", "none"), 0.0, None, None, 3),
        (("odd", "gold", ""), 0.0, None, None, 2),
        (("gold", "gold", "odd"), None, None, None, 3),
    ],
)
def test_a_summary_of_every_turn_is_scored_where_that_is_asked_for(
    replies: tuple[str, ...], last: float | None, best: float | None, first: float | None, attempts: int
) -> None:
    item = sample_items("summary")[0].instruction
    texts = {"gold": get_task("summary").gold(item) or "", "none": "- Nothing of the kind [1]", "": "", "odd": "- odd"}
    held = _summaries(*(texts[kind] for kind in replies))
    found = scores(held, item, Summary(Picky(), every_turn=True))
    assert [found[name] for name in ("score", "score_max", "score_first")] == [last, best, first]
    assert found["n_attempts"] == attempts
    assert found["missing_reason"] == (None if last is not None else "judge: no usable verdicts")
    of_last = scores(held, item, Summary(Picky()))
    assert (of_last["score"], of_last["score_max"], of_last["score_first"]) == (last, None, None)


def test_cumulative_actions_count_in_settings_of_several_turns_only() -> None:
    task = get_task("actions")
    item = next(one.instruction for one in sample_items("actions") if len(one.instruction.reference["calls"]) > 1)
    gold = task.extract(Reply(text=task.gold(item) or ""), item).answer
    assert gold is not None
    whole = Reply(text=task.gold(item) or "")
    label = task.label(whole, item)
    for setting, expected in ((Setting.SHARDED, 100.0), (Setting.FULL, None)):
        one = Turn(turn=1, user="u", revealed=1, reply=whole, strategy=label, rule_strategy=label)
        held = conversation([one], EXHAUSTED, setting).model_copy(update={"task": "actions"})
        assert scores(held, item, task)["score_cumulative"] == expected
    empty = Turn(turn=1, user="u", revealed=1, reply=Reply(text=""), strategy=Strategy.MISSING,
                 rule_strategy=Strategy.MISSING)  # fmt: skip
    assert scores(conversation([empty], EXHAUSTED), item, task)["score_cumulative"] == 0.0


def test_rows_of_attempts_keep_what_was_recorded_beside_what_is_found() -> None:
    held = conversation([turn(1, TALK, 1), turn(2, WRONG, 2, 100), turn(3, RIGHT, 3, 100)], CORRECT)
    rows = attempt_rows(held, score_turns(TASK, ITEM, held, NoCache()))
    assert [row["turn"] for row in rows] == [2, 3]
    assert [(row["score"], row["recorded_score"], row["informed"]) for row in rows] == [
        (0.0, 100.0, False),
        (100.0, 100.0, True),
    ]


def test_scored_turns_are_plain_values() -> None:
    held = conversation([turn(1, RIGHT, None, 100)], CORRECT, Setting.FULL)
    (one,) = score_turns(TASK, ITEM, held, NoCache())
    assert isinstance(one, ScoredTurn)
    assert (one.attempt, one.gate, one.informed, one.verdict.score) == (True, "labelled", True, 100.0)
