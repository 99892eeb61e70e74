"""The actions task as a whole: messages, labels, gold, menu, cumulative score, lic score lines, bounded time."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lic_pipeline.errors import RecordError
from lic_pipeline.records import Instruction, Json, Reply, Strategy
from lic_pipeline.tasks.actions import TASK
from lic_pipeline.tasks.protocol import Task
from lic_pipeline.tasks.registry import get_task
from lic_pipeline.tasks.reply_reading import unanswered

FUNCTIONS: list[Json] = [
    {
        "name": "bell.ring",
        "description": "Ring a bell {{functions}}.",
        "parameters": {"type": "dict", "properties": {"times": {"type": "integer"}}, "required": ["times"]},
    }
]
CALLS: list[Json] = [{"bell.ring": {"times": [2]}}, {"bell.ring": {"times": [5]}}]


def item(calls: Json = None, functions: Json = None) -> Instruction:
    return Instruction(
        instruction_id="t/0",
        task="actions",
        benchmark="test",
        text="Ring!",
        context={"functions": FUNCTIONS if functions is None else functions},
        reference={"calls": CALLS if calls is None else calls},
    )


def judge(text: str, instruction: Instruction) -> float | None:
    extraction = TASK.extract(Reply(text=text), instruction)
    verdict = unanswered(extraction) if extraction.answer is None else TASK.score(extraction.answer, instruction)
    return verdict.score


def test_task_is_registered_and_keeps_the_protocol() -> None:
    assert isinstance(TASK, Task)
    assert get_task("actions") is TASK
    assert (TASK.kind, TASK.costly) == ("binary", False)


def test_system_prompt_holds_the_functions_as_json_and_is_silent_about_turns() -> None:
    prompt = TASK.system_prompt(item())
    assert json.loads(prompt[prompt.index("[\n  {") :]) == FUNCTIONS
    for word in ("turn", "shard", "incomplete", "missing", "clarif", "underspecif", "later"):
        assert word not in prompt.lower()


LABELS = [
    ("[bell.ring(times=2)]", Strategy.ANSWER_ATTEMPT),
    ("[bell.ring(times=two)]", Strategy.ANSWER_ATTEMPT),
    ("How many times should it ring?", Strategy.CLARIFICATION),
    ("How many times? And which bell?", Strategy.INTERROGATION),
    ("I could use bell.ring(times=2). How many times do you want?", Strategy.CLARIFICATION),
    ("Either [bell.ring(times=2)] or [bell.ring(times=3)]", Strategy.HEDGING),
    ("None of the functions can be used for that.", Strategy.REFUSAL),
    ("Bells have been rung for centuries.", Strategy.DISCUSSION),
    ("", Strategy.MISSING),
]


@pytest.mark.parametrize(("text", "expected"), LABELS)
def test_replies_are_labelled(text: str, expected: Strategy) -> None:
    assert TASK.label(Reply(text=text), item()) is expected


def test_menu_keeps_what_it_declares() -> None:
    labels = {"question": Strategy.CLARIFICATION, "hedge": Strategy.HEDGING, "refusal": Strategy.REFUSAL}
    menu = TASK.persona_replies(item())
    assert [entry.kind for entry in menu].count("wrong") >= 2
    for entry in menu:
        if entry.score is None:
            assert TASK.label(Reply(text=entry.text), item()) is labels[entry.kind]
        else:
            assert judge(entry.text, item()) == entry.score


CUMULATIVE = [
    (["[bell.ring(times=2)]", "[bell.ring(times=5)]"], 100.0, "call by call"),
    (["[bell.ring(times=2)]", "[bell.ring(times=2), bell.ring(times=5)]"], 100.0, "restated calls count once"),
    (["[bell.ring(times=9)]", "[bell.ring(times=2), bell.ring(times=5)]"], 0.0, "a wrong call stays"),
    (["[bell.ring(times=2)]"], 0.0, "one is missing"),
    (["nothing", "[bell.ring(times=x)]"], 0.0, "unreadable answers add nothing"),
    ([], 0.0, "no answer"),
]


@pytest.mark.parametrize(("answers", "score", "why"), CUMULATIVE)
def test_cumulative_score_counts_the_distinct_calls(answers: list[str], score: float, why: str) -> None:
    assert TASK.score_cumulative(answers, item()).score == score, why


BAD_LINES = [
    ({"reference_calls": CALLS}, "functions"),
    ({"functions": FUNCTIONS}, "reference_calls"),
    ({"functions": [], "reference_calls": CALLS}, "functions"),
    ({"functions": [{}], "reference_calls": CALLS}, "functions[0]"),
    ({"functions": [{"name": "f", "parameters": 1}], "reference_calls": CALLS}, "functions[0].parameters"),
    ({"functions": FUNCTIONS, "reference_calls": {}}, "reference_calls"),
    ({"functions": FUNCTIONS, "reference_calls": [{"f": {}, "g": {}}]}, "reference_calls[0]"),
    ({"functions": FUNCTIONS, "reference_calls": [{"f": []}]}, "reference_calls[0].f"),
    ({"functions": FUNCTIONS, "reference_calls": [{"f": {"a": 1}}]}, "reference_calls[0].f.a"),
]


@pytest.mark.parametrize(("line", "field"), BAD_LINES)
def test_bad_score_line_names_the_field(line: dict[str, Json], field: str) -> None:
    with pytest.raises(RecordError) as caught:
        TASK.score_item(line, Path())
    assert caught.value.field == field


def test_score_line_becomes_an_instruction() -> None:
    line: dict[str, Json] = {"id": "a", "functions": FUNCTIONS, "reference_calls": CALLS}
    instruction = TASK.score_item(line, Path())
    TASK.check(instruction)
    assert judge(TASK.gold(instruction) or "", instruction) == 100.0


def test_without_reference_there_is_no_gold_and_no_score() -> None:
    assert TASK.gold(item([])) is None
    assert TASK.score("[bell.ring(times=2)]", item([])).score is None
    assert TASK.score_cumulative(["[bell.ring(times=2)]"], item([])).score is None


HOSTILE = [
    "(" * 200_000,
    "[" * 200_000 + "]" * 200_000,
    "[bell.ring(times=" + "[" * 3000 + "]" * 3000 + ")]",
    "[bell.ring(times=" + "-" * 5000 + "1)]",
    "[bell.ring(times=" + "1+" * 5000 + "1)]",
    "[bell.ring(times=" + "9" * 50_000 + ")]",
    "[bell.ring(times=" + "9*" * 4000 + "9)]",
    "[bell.ring(times=1e308*10)]",
    "bell.ring(" * 60_000,
    "[bell.ring(times=1), " * 40_000,
    '{"a": ' * 60_000,
    "`" * 500_000,
    "```\n" * 100_000,
    "bell.ring(times=1) " * 40_000,
    "a" * 1_000_000,
    " " * 1_000_000,
    "\x00\ud800[bell.ring(times='\ud800')]",
    "[bell.ring(times='\x00')]",
    '[{"name": "bell.ring", "arguments": {"\\ud800": "\\udfff"}}]',
    "<tool_call>" * 80_000,
    "<invoke name='bell.ring'>" * 40_000,
    "<invoke name='bell.ring'>" + "<parameter name='times'>" * 40_000,
    "<invoke name='bell.ring'>" + "<" * 500_000,
    "<function=bell.ring>" * 40_000,
    "bell.ring[ARGS]{" * 40_000,
    "<tool_call>bell.ring<arg_key>times</arg_key><arg_value>1</arg_value>" * 5_000,
    "a." * 200_000,
    "functions." * 40_000,
    "Action: bell.ring\nAction Input: {" * 30_000,
    "Action: bell.ring\nAction Input: 1\n" * 30_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=[text[:18].encode("unicode_escape").decode() for text in HOSTILE])
def test_hostile_text_takes_bounded_time(text: str) -> None:
    start = time.process_time()
    reply = Reply.model_construct(text=text, tool_calls=())
    extraction = TASK.extract(reply, item())
    assert extraction.model_dump_json().encode("utf-8")
    TASK.label(reply, item())
    for policy in ("robust", "reference"):
        verdict = TASK.score(text, item(), policy)  # type: ignore[arg-type]
        assert verdict.score == 0.0
        assert verdict.model_dump_json().encode("utf-8")
    assert time.process_time() - start < 6.0


PIECES = st.sampled_from(
    [
        "[",
        "]",
        "bell.ring(",
        ")",
        "times=",
        "2",
        "'",
        '"',
        "```\n",
        "{",
        "}",
        ":",
        ",",
        "or",
        "=",
        "**",
        "-",
        "\n",
        "None",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(PIECES, st.text(max_size=6)), max_size=20).map("".join))
def test_any_text_gets_a_verdict(text: str) -> None:
    for policy in ("robust", "reference"):
        extraction = TASK.extract(Reply(text=text), item(), policy)  # type: ignore[arg-type]
        if extraction.answer is not None:
            assert TASK.score(extraction.answer, item(), policy).score in {0.0, 100.0}  # type: ignore[arg-type]
    assert TASK.label(Reply(text=text), item()) in Strategy
    assert TASK.score_cumulative([text], item()).score in {0.0, 100.0}


@pytest.mark.parametrize("category", ["parallel", "multiple"])
def test_every_published_gold_scores_100(shared_data: Path, category: str) -> None:
    folder = shared_data / "raw/bfcl"
    rows = [json.loads(line) for line in (folder / f"BFCL_v4_{category}.json").read_text().splitlines()]
    truth = folder / "possible_answer" / f"BFCL_v4_{category}.json"
    answers = {row["id"]: row["ground_truth"] for row in map(json.loads, truth.read_text().splitlines())}
    assert len(rows) == 200
    for row in rows:
        instruction = TASK.score_item({"functions": row["function"], "reference_calls": answers[row["id"]]}, Path())
        gold = TASK.gold(instruction) or ""
        assert judge(gold, instruction) == 100.0
        assert TASK.score(gold, instruction, "reference").correct
        for entry in TASK.persona_replies(instruction):
            assert entry.score is None or judge(entry.text, instruction) == entry.score
