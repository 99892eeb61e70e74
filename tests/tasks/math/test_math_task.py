"""The math task as a whole: messages, labels, gold, menu, lic score lines, both policies, and bounded time."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lic_pipeline.errors import RecordError
from lic_pipeline.records import Extraction, Instruction, Json, Reply, Rung, Shard, Strategy
from lic_pipeline.tasks.math import TASK
from lic_pipeline.tasks.protocol import Task
from lic_pipeline.tasks.registry import get_task
from lic_pipeline.tasks.reply_reading import unanswered


def problem(answer: str | None = "18", text: str = "How many eggs are left?") -> Instruction:
    reference: dict[str, Json] = {} if answer is None else {"answer": answer}
    return Instruction(instruction_id="t/0", task="math", benchmark="test", text=text, reference=reference)


def judge(text: str, instruction: Instruction) -> tuple[float | None, str]:
    extraction = TASK.extract(Reply(text=text), instruction)
    verdict = unanswered(extraction) if extraction.answer is None else TASK.score(extraction.answer, instruction)
    return verdict.score, verdict.verdict


def test_task_is_registered_and_keeps_the_protocol() -> None:
    assert isinstance(TASK, Task)
    assert get_task("math") is TASK
    assert (TASK.kind, TASK.costly) == ("binary", False)


def test_messages_hold_the_shards_word_for_word() -> None:
    shards = [Shard(shard_id=1, text="How many eggs?"), Shard(shard_id=2, text="Two hens, {{items}}.")]
    message = TASK.concat_message(problem(), shards)
    assert [line for line in message.splitlines() if line.startswith("- ")] == [f"- {shard.text}" for shard in shards]
    assert TASK.shard_message(problem(), shards[1]) == shards[1].text
    assert TASK.full_message(problem(text="Eggs?")) == "Eggs?"


def test_system_prompt_is_the_same_for_all_and_silent_about_turns() -> None:
    prompt = TASK.system_prompt(problem())
    assert prompt == TASK.system_prompt(problem("7", "Other?"))
    for word in ("turn", "shard", "incomplete", "missing", "clarif", "underspecif", "later"):
        assert word not in prompt.lower()


LABELS = [
    ("Final answer: 18", Strategy.ANSWER_ATTEMPT),
    ("So she has 18 eggs left.", Strategy.ANSWER_ATTEMPT),
    ("How many eggs does she sell?", Strategy.CLARIFICATION),
    ("How many hens are there? How many eggs does each lay?", Strategy.INTERROGATION),
    ("Hens lay eggs on most days, and people like them.", Strategy.DISCUSSION),
    ("With 5 hens she gets 20 eggs, but we still need the number she eats.", Strategy.DISCUSSION),
    ("If she sells all, the answer is 0. If she sells half, the answer is 9.", Strategy.HEDGING),
    ("The answer is either 9 or 18.", Strategy.HEDGING),
    ("I am sorry, but I cannot help with this.", Strategy.REFUSAL),
    ("Substitute the values: 9 * 2 = 18.\n\nTherefore, she earns 18 dollars.", Strategy.ANSWER_ATTEMPT),
    ("To find it we need to first add 9 and 9.\n9 + 9 = 18\nSo she has 18 eggs.", Strategy.ANSWER_ATTEMPT),
    ("No additional information is needed. She has 18 eggs.", Strategy.ANSWER_ATTEMPT),
    ("So she has 18 eggs. If you need a break-down by hen, please provide more details.", Strategy.ANSWER_ATTEMPT),
    ("So she has 18 eggs. Do you have another question?", Strategy.ANSWER_ATTEMPT),
    ("We need the price first.\n\nSo with 9 eggs it is 9 times that.", Strategy.ANSWER_ATTEMPT),
    ("For 9 eggs:\n\\boxed{18}\nIf you provide the actual number, I can redo it.", Strategy.DISCUSSION),
    ("Thus, in that example, she earns 18 dollars.", Strategy.DISCUSSION),
    ("Say she has 9: 18 dollars. Replace the 9 with your actual number.", Strategy.DISCUSSION),
    ("Since we do not know the price, it stays open.\nThus 9 eggs give 9 times it.", Strategy.DISCUSSION),
    ("  \n", Strategy.MISSING),
    ("<think>18, clearly", Strategy.MISSING),
]


@pytest.mark.parametrize(("text", "expected"), LABELS)
def test_replies_are_labelled(text: str, expected: Strategy) -> None:
    assert TASK.label(Reply(text=text), problem()) is expected


@pytest.mark.parametrize("answer", ["18", "2,125", "-10", "0", "3.5", "7/3", "$40"])
def test_menu_keeps_what_it_declares(answer: str) -> None:
    instruction = problem(answer)
    labels = {"question": Strategy.CLARIFICATION, "hedge": Strategy.HEDGING, "refusal": Strategy.REFUSAL}
    menu = TASK.persona_replies(instruction)
    assert [item.kind for item in menu].count("wrong") >= 2
    for item in menu:
        if item.score is None:
            assert TASK.label(Reply(text=item.text), instruction) is labels[item.kind]
        else:
            assert judge(item.text, instruction)[0] == item.score
            assert TASK.label(Reply(text=item.text), instruction) is Strategy.ANSWER_ATTEMPT


@pytest.mark.parametrize(
    ("reference", "field"),
    [(None, "answer"), ("", "answer"), ("no number", "answer"), ("3 or 4", "answer")],
)
def test_unusable_reference_is_named(reference: str | None, field: str) -> None:
    with pytest.raises(RecordError) as caught:
        TASK.check(problem(reference))
    assert field in str(caught.value)


def test_without_reference_there_is_no_gold_and_no_score() -> None:
    assert TASK.gold(problem(None)) is None
    verdict = TASK.score("18", problem(None))
    assert verdict.score is None
    assert verdict.error is not None


def test_the_question_of_a_line_tells_values_apart() -> None:
    reply = Reply(text="She can buy 3 tickets and has $2 left over.")
    for question, value in (("How many tickets can she buy?", "3"), ("How much money is left over?", "2")):
        item = TASK.score_item({"reference": value, "question": question}, Path())
        answer = TASK.extract(reply, item).answer
        assert answer is not None
        assert TASK.score(answer, item).correct, question


@pytest.mark.parametrize("reference", ["18", 18, 18.0, "9*2=18\n#### 18", "#### 18"])
def test_score_line_takes_number_or_solution(reference: Json) -> None:
    item = TASK.score_item({"id": 7, "reference": reference, "response": "Final answer: 18"}, Path())
    TASK.check(item)
    assert item.instruction_id == "7"
    assert TASK.score("18.00", item).score == 100.0


@pytest.mark.parametrize("line", [{}, {"reference": None}, {"reference": ""}, {"reference": True}, {"reference": [1]}])
def test_bad_score_line_names_the_field(line: dict[str, Json]) -> None:
    with pytest.raises(RecordError) as caught:
        TASK.score_item(line, Path())
    assert caught.value.field == "reference"


REFERENCE = [
    ("18", "18", True, "equal strings"),
    ("$1,800.", "1800", True, "dollar, comma and final dot go"),
    ("$29.00", "29", True, "cents stripped where there is a dollar sign"),
    ("29.00", "29", False, "cents stay without a dollar sign"),
    ("$20.00", "20", False, "character stripping eats the zero of twenty"),
    ("$20.00", "2", True, "and so matches two"),
    ("$17\u00a0000", "17000", False, "only the last token counts"),
    ("40%", "40", True, "percent is not part of a token"),
    ("3{,}360", "3360", False, "LaTeX splits the token"),
    ("", "40", False, "nothing extracted is zero"),
]


@pytest.mark.parametrize(("recorded", "gold", "right", "why"), REFERENCE)
def test_reference_policy_keeps_the_quirks(recorded: str, gold: str, right: bool, why: str) -> None:
    assert TASK.score(recorded, problem(gold), "reference").correct is right, why


def test_reference_extraction_takes_the_last_token() -> None:
    extraction = TASK.extract(Reply(text="9 and then $1,800. Done"), problem(), "reference")
    assert extraction == Extraction(answer="$1,800.", rung=Rung.LAST_NUMBER)


def test_unanswered_refuses_an_answer() -> None:
    with pytest.raises(ValueError, match="answer"):
        unanswered(Extraction(answer="1", rung=Rung.BOXED))


HOSTILE = [
    "1" * 1_000_000,
    "1," * 300_000,
    "1 000 " * 100_000,
    " " * 1_000_000,
    "(" * 200_000 + "1",
    "\\boxed{" * 100_000,
    "\\frac{1}{" * 50_000,
    "answer: " * 100_000,
    "#### 5\n" * 50_000,
    "a-1 " * 200_000,
    "**" * 300_000,
    "one hundred and " * 50_000,
    "if 5 " * 100_000,
    "<think>" * 100_000,
    "```\n" * 100_000,
    "- 5 or 6\n" * 60_000,
    "= 5 " * 150_000,
    "\u00bd" * 200_000,
    "1e999999 1^99999 10^9999",
    "\x00\ud800 5 \udfff",
    "5/0 and 0/0",
]


@pytest.mark.parametrize("text", HOSTILE, ids=[text[:12].encode("unicode_escape").decode() for text in HOSTILE])
def test_hostile_text_takes_bounded_time(text: str) -> None:
    start = time.process_time()
    extraction = TASK.extract(Reply.model_construct(text=text, tool_calls=()), problem())
    TASK.label(Reply.model_construct(text=text, tool_calls=()), problem())
    TASK.score(text, problem())
    TASK.score(text, problem(), "reference")
    assert extraction.rung in Rung
    assert time.process_time() - start < 6.0


PIECES = st.sampled_from(
    [
        "\\boxed{",
        "}",
        "Final answer:",
        "#### ",
        "1,000",
        "\\frac{1}{2}",
        "or",
        "**",
        "\n",
        "\n- ",
        "=",
        "if",
        "two",
        "%",
        "$",
        "3/4",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=14).map(" ".join))
def test_any_text_gets_a_verdict(text: str) -> None:
    instruction = problem()
    for policy in ("robust", "reference"):
        extraction = TASK.extract(Reply(text=text), instruction, policy)  # type: ignore[arg-type]
        if extraction.answer is not None:
            verdict = TASK.score(extraction.answer, instruction, policy)  # type: ignore[arg-type]
            assert verdict.score in {0.0, 100.0}
            assert policy == "reference" or verdict.verdict in {"correct", "wrong"}
    assert TASK.label(Reply(text=text), instruction) in Strategy


def test_every_published_gold_scores_100(shared_data: Path) -> None:
    lines = (shared_data / "raw/gsm8k/test.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1319
    for line in lines:
        solution = json.loads(line)["answer"]
        instruction = TASK.score_item({"reference": solution}, Path())
        assert judge(TASK.gold(instruction) or "", instruction) == (100.0, "correct")
        assert judge(solution, instruction) == (100.0, "correct")
