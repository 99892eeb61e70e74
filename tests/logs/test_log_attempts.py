"""Recorded attempts as ours, and the stop rule a conversation shows."""

from __future__ import annotations

from typing import Any

import pytest
from support.log_lines import SHARDS, Line, evaluation, full, label, log_line, reply, reveal, sharded, user

from lic_pipeline.logs.build_conversation import build_conversation, infer_stop, recorded_extraction, stands_in
from lic_pipeline.logs.reading.parse_line import parse_log
from lic_pipeline.logs.rescoring import rescore
from lic_pipeline.records import Conversation, Instruction, Json, Rung, Setting, StopReason, Strategy
from lic_pipeline.tasks.registry import get_task

INSTRUCTION = Instruction(
    instruction_id="gsm8k/0", task="math", benchmark="gsm8k", text="How many jars?", reference={"answer": "32"}
)


class NoCache:
    """Remembers nothing."""

    def verdict(self, key: str) -> dict[str, Json] | None:
        return None

    def store_verdict(self, key: str, value: dict[str, Json]) -> None:
        return None


def conversation(line: Line, n_shards: int | None = 4) -> Conversation:
    return build_conversation(parse_log(line), "model-x", INSTRUCTION, get_task("math"), n_shards, 0)


def steps(line: Line) -> dict[str, Any]:
    return rescore(get_task("math"), INSTRUCTION, conversation(line), NoCache())[1]


def told(*turns: tuple[str, str | None, str | None], conv_type: str = "sharded") -> Line:
    """A SHARDED line: (reply, label, recorded answer or None) per turn; right when the answer is 32."""
    trace: list[Line] = []
    score = 0.0
    for number, (text, named, answer) in enumerate(turns, start=1):
        trace += [user(SHARDS[number - 1]), reveal(number), reply(text)]
        trace += [label(named)] if named else []
        if answer is not None:
            score = float(answer == "32")
            trace.append(evaluation(answer, answer == "32"))
    return log_line(conv_type, trace, score=score)


@pytest.mark.parametrize(
    ("answer", "text", "expected"),
    [
        ("2,100", "that is $2,100 in all", True),
        ("2100", "that is $2,100 in all", True),
        ("$2100.", "that is **2 100** in all", True),
        ("17", "it is 170", False),
        ("17", "it is 2.17", False),
        ("3.5", "it is 3.55", False),
        ("[f(a=1)]", "```\n[f(a=1)]\n```", True),
        ("40%", r"\boxed{40\%}", True),
        ("forty", "it is Forty", True),
        ("12", "nothing", False),
        ("$", "costs $5", False),
    ],
)
def test_recorded_answer_stands_in_the_reply_up_to_format(answer: str, text: str, expected: bool) -> None:
    assert stands_in(answer, text) is expected


def test_only_an_answer_of_the_reply_is_believed() -> None:
    assert recorded_extraction("32", "so 32").rung is Rung.LLM
    assert recorded_extraction("33", "so 32").rung is Rung.LOOSE
    assert recorded_extraction("33", "so 32").flags == ("not_in_reply",)
    assert recorded_extraction(" ", "so 32").rung is Rung.FAILED


def test_recorded_attempt_is_kept_as_scorer_version_0() -> None:
    built = conversation(full(answer="32"))
    attempt = built.turns[0].attempt
    assert attempt is not None
    assert attempt.verdict is not None
    assert (attempt.scorer_version, attempt.verdict.score, attempt.extraction.answer) == (0, 100.0, "32")
    assert built.turns[0].strategy is Strategy.ANSWER_ATTEMPT  # graded without a label
    assert (built.model, built.purpose, built.shard_ids) == ("logs/model-x", "eval", (1, 2, 3, 4))


def test_score_recorded_nowhere_is_unknown_not_wrong() -> None:
    line = full()
    line["trace"][-1]["content"] |= {"score": None, "is_correct": None}
    attempt = conversation(line).turns[0].attempt
    assert attempt is not None
    assert attempt.verdict is not None
    assert (attempt.verdict.score, attempt.verdict.error) == (None, "not_recorded")
    assert steps(line)["recorded_last"] is None
    assert steps(line)["robust_max"] == 100.0


def test_reasoning_never_stays_in_the_reply() -> None:
    turn = conversation(full(text="<think>maybe 7</think>Final answer: 32")).turns[0]
    assert (turn.reply.text, turn.reply.reasoning) == ("Final answer: 32", "maybe 7")
    cut = conversation(full(text="<think>maybe 7", answer="")).turns[0]
    assert "truncated_reasoning" in cut.reply.flags
    assert cut.strategy is Strategy.MISSING


def test_recap_holds_its_own_turn_only() -> None:
    line = told(("?", "clarification", None), ("Final answer: 32", "answer_attempt", "32"), conv_type="recap-concat")
    built = conversation(line)
    assert built.setting is Setting.RECAP
    assert [turn.turn for turn in built.turns] == [2]
    assert built.condition == {"recap_of": "concat"}


@pytest.mark.parametrize(
    ("line", "stop", "reason"),
    [
        (full(), "none", StopReason.EXHAUSTED),
        (sharded(), "unknown", StopReason.EXHAUSTED),  # right at the last shard: both rules look alike
        (told(("Final answer: 32", "answer_attempt", "32")), "correct", StopReason.CORRECT),
        (
            told(("Final answer: 32", "answer_attempt", "32"), ("Final answer: 9", "answer_attempt", "9")),
            "exhausted",
            StopReason.EXHAUSTED,
        ),
        (told(("Final answer: 9", "answer_attempt", "9")), "unknown", StopReason.EXHAUSTED),
    ],
)
def test_stop_rule_is_inferred(line: Line, stop: str, reason: StopReason) -> None:
    built = conversation(line)
    assert infer_stop(parse_log(line), [turn.revealed for turn in built.turns], 4) == stop
    assert built.stop_reason is reason


def test_conversation_said_to_be_completed_shows_the_rule() -> None:
    line = sharded()
    line["trace"].append({"role": "log", "content": {"type": "conversation-completed", "is_correct": True}})
    assert infer_stop(parse_log(line), [1, 2, 3, 4], 4) == "correct"


@pytest.mark.parametrize(
    ("line", "expected", "reasons"),
    [
        (full(), (100, 100, 100, 100, 100, 100), []),
        (full(answer="", right=False), (0, 0, 0, 100, 100, 100), ["empty_extraction+"]),
        (full(answer="32.0", right=False, text="It is 32.0"), (0, 0, 100, 100, 100, 100), ["comparison+"]),
        (full(answer="4", right=False, text="4 break.\nFinal answer: 32"), (0, 0, 0, 100, 100, 100), ["extraction+"]),
        (full(answer="32", text="32 or so.\nFinal answer: 31"), (100, 100, 100, 0, 0, 0), ["extraction-"]),
        (full(answer="5", text="Final answer: 32"), (100, 0, 0, 100, 100, 100), ["not_reproduced-", "extraction+"]),
        (
            told(("Final answer: 32", "answer_attempt", "32"), ("Final answer: 9", "answer_attempt", "9")),
            (0, 0, 0, 0, 0, 100),
            ["last_to_max+"],
        ),
        (told(("Final answer: 32", "discussion", None)), (0, 0, 0, 0, 100, 100), ["gate+"]),
        (told(("Which jars?", "clarification", None)), (0, 0, 0, 0, 0, 0), []),
        (told(("Final answer: 32", "hedge", None)), (0, 0, 0, 0, 0, 0), []),
    ],
)
def test_each_step_changes_one_thing(line: Line, expected: tuple[float, ...], reasons: list[str]) -> None:
    found = steps(line)
    names = ("recorded_last", "reference_last", "comparison_last", "extraction_last", "gate_last", "robust_max")
    assert tuple(found[name] for name in names) == expected
    assert found["reasons"] == reasons


def test_moves_count_attempts_and_variants_move_the_gate() -> None:
    line = told(
        ("Final answer: 32", "discussion", None),
        ("Final answer: 32", "answer_attempt", ""),
        ("If so, the answer is 32.\nIf not, the answer is 31.", "hedge", None),
    )
    found = steps(line)
    assert found["moves"] == {"reference": [0, 0], "comparison": [0, 0], "extraction": [1, 0], "gate": [1, 0]}
    assert (found["attempts"], found["reproduced"]) == (1, 1)
    alone = steps(told(("Final answer: 32", "hedge", None)))
    assert (alone["grade_all"], alone["label_only"], alone["rule_gate"]) == (100.0, 0.0, 100.0)


def test_rounding_is_no_difference() -> None:
    task = get_task("data2text")
    item = Instruction(
        instruction_id="totto/1",
        task="data2text",
        benchmark="totto",
        text="",
        reference={"references": ["The old mill by the river burned down in May."]},
    )
    said = "The old mill by a river burned down in June."
    exact = task.score(said, item).score
    assert exact is not None
    entry = evaluation(said, False)
    entry["content"]["score"] = exact / 100 + 1e-12
    trace = [user("a"), reply("?"), evaluation("?", False), user("b"), reply(said), entry]
    line = log_line("sharded", trace, task="data2text", task_id="sharded-totto_1", score=exact / 100)
    built = build_conversation(parse_log(line), "model-x", item, task, None, 0)
    found = rescore(task, item, built, NoCache())[1]
    assert (found["reasons"], found["reproduced"]) == ([], 2)
    assert found["robust_max"] == pytest.approx(exact)
    assert [turn.revealed for turn in built.turns] == [1, 2]
