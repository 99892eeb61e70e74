"""The contract of ``lic score`` lines: what comes out for every kind of line that goes in."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lic_pipeline.errors import ConfigError, RecordError, UnknownNameError
from lic_pipeline.records import Extraction, Instruction, Json, Policy, Reply, Rung, Verdict
from lic_pipeline.scoring.find_scorer import find_task, known_tasks
from lic_pipeline.scoring.line_scorer import LineScorer
from lic_pipeline.scoring.score_stream import encode, score_lines

KEYS = ["id", "answer", "score", "correct", "extraction", "verdict", "detail", "error", "signature"]


def scored(task: str, *lines: Any, **settings: Any) -> list[dict[str, Any]]:
    raw = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    scorer = LineScorer(find_task(task), **settings)
    return [json.loads(encode(line)) for line in score_lines(raw, scorer)]


def test_output_line_has_exactly_the_contract_fields() -> None:
    (line,) = scored(
        "math", {"id": "q1", "reference": "Add.\n#### 18", "response": "So the final answer is \\boxed{18}."}
    )
    assert list(line) == KEYS
    assert line["signature"] == f"task:math|policy:robust|ver:{find_task('math').scorer_version}"
    del line["signature"], line["detail"]
    assert line == {
        "id": "q1",
        "answer": "18",
        "score": 100.0,
        "correct": True,
        "extraction": "boxed",
        "verdict": "correct",
        "error": None,
    }


@pytest.mark.parametrize(
    ("given_id", "expected"), [("a", "a"), (7, 7), (0, 0), (1.5, 1.5), ("", ""), (None, 1), (..., 1), ("7", "7")]
)
def test_id_is_kept_as_given_and_defaults_to_the_line_number(given_id: Any, expected: Any) -> None:
    fields = {"reference": "3", "response": "3"} | ({} if given_id is ... else {"id": given_id})
    assert scored("math", fields)[0]["id"] == expected


def test_blank_lines_are_skipped_but_counted() -> None:
    lines = scored("math", b"\n", {"reference": "3", "response": "3"}, b"  \t\n", {"reference": "3", "response": "3"})
    assert [line["id"] for line in lines] == [2, 4]


RESPONSES = [
    ("a string", "Final answer: 3", 100.0, "correct"),
    ("a message", {"role": "assistant", "content": "Final answer: 3"}, 100.0, "correct"),
    (
        "a message of parts",
        {"content": [{"type": "text", "text": "Final "}, {"type": "text", "text": "answer: 3"}]},
        100.0,
        "correct",
    ),
    ("parts of plain strings", {"content": ["Final answer: ", "3"]}, 100.0, "correct"),
    (
        "other parts are passed over",
        {"content": [{"type": "image_url", "image_url": {}}, {"type": "text", "text": "Final answer: 3"}]},
        100.0,
        "correct",
    ),
    ("an empty string is an empty reply", "", 0.0, "no_answer"),
    ("so is white space", " \n", 0.0, "no_answer"),
    ("null content is an empty reply", {"content": None}, 0.0, "no_answer"),
    (
        "a message with tool calls only",
        {"content": None, "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]},
        0.0,
        "no_answer",
    ),
    ("a refusal is text", {"content": None, "refusal": "I won't."}, 0.0, "no_answer"),
    ("reasoning is no answer", "<think>Final answer: 3", 0.0, "no_answer"),
    ("lone surrogates do not break it", "\ud800 Final answer: 3", 100.0, "correct"),
]


@pytest.mark.parametrize(("why", "response", "points", "verdict"), RESPONSES, ids=[form[0] for form in RESPONSES])
def test_response_forms(why: str, response: Json, points: float, verdict: str) -> None:
    (line,) = scored("math", {"reference": "3", "response": response})
    assert (line["score"], line["verdict"], line["error"]) == (points, verdict, None)
    assert line["correct"] is (points == 100.0)
    if verdict == "no_answer":
        assert (line["answer"], line["extraction"]) == (None, "failed")


@pytest.mark.parametrize("fields", [{"reference": "3"}, {"reference": "3", "response": None}])
def test_nothing_received_is_missing_not_zero(fields: dict[str, Json]) -> None:
    (line,) = scored("math", fields)
    assert (line["score"], line["correct"], line["verdict"], line["error"]) == (None, None, None, "no_response")
    assert list(line) == KEYS


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("completion", "Final answer: 3"),
        ("output", {"content": "Final answer: 3"}),
        ("text", "Final answer: 3"),
        ("prediction", "3"),
        ("generation", "3"),
        ("Response", "3"),
        ("generated-text", "3"),
        ("choices", [{"message": {"content": "3"}}]),
    ],
)
def test_a_reply_under_another_name_is_named_with_its_line(name: str, value: Json) -> None:
    right, line = scored("math", {"reference": "3", "response": "3", name: value}, {"reference": "3", name: value})
    assert (right["score"], right["error"]) == (100.0, None)
    assert (line["score"], line["correct"], line["verdict"]) == (None, None, None)
    assert line["error"] == (
        f"no_response: line 2 has {name!r} where response should be; rename that field to response"
    )


@pytest.mark.parametrize("fields", [{"completion": ""}, {"output": None}, {"document_text": "x", "question": "y"}])
def test_fields_that_hold_no_reply_are_not_named(fields: dict[str, Json]) -> None:
    (line,) = scored("math", {"reference": "3", "response": None, **fields})
    assert line["error"] == "no_response"


@pytest.mark.parametrize("field", ["reference", "id", "other"])
def test_a_number_too_long_to_read_is_said_in_words_of_ours(field: str) -> None:
    raw = b'{"reference": "3", "response": "3", "%s": %s}' % (field.encode(), b"9" * 5000)
    line = LineScorer(find_task("math")).score(7, raw)
    assert line["error"] == "line 7: cannot be read: a whole number has more than 4,300 digits"


def test_given_answer_skips_extraction() -> None:
    for answer in ("3", 3, "3.0"):
        (line,) = scored("math", {"reference": "3", "answer": answer, "response": "Final answer: 99"})
        assert (line["extraction"], line["score"]) == ("given", 100.0)
    (line,) = scored("math", {"reference": "3", "answer": "4"})
    assert (line["extraction"], line["score"], line["verdict"]) == ("given", 0.0, "wrong")
    (line,) = scored("math", {"reference": "3", "answer": ""})
    assert (line["score"], line["verdict"], line["error"]) == (0.0, "no_answer", None)
    (line,) = scored("math", {"reference": "3", "answer": None, "response": "Final answer: 3"})
    assert (line["extraction"] == "given", line["score"]) == (False, 100.0)


GOOD = {"reference": "3", "response": "3"}
BAD = [
    ("no JSON", b"{oops", None, "is not valid JSON"),
    ("cut off", b'{"id": 1, "reference": "3", "resp', None, "is not valid JSON"),
    ("two objects", b'{"a": 1} {"b": 2}', None, "is not valid JSON"),
    ("a list", b"[1]", None, "is no JSON object"),
    ("a number", b"5", None, "is no JSON object"),
    ("bad UTF-8", b'{"reference": "\xff"}', None, "is not valid UTF-8"),
    ("NaN", b'{"id": 1, "reference": NaN}', None, "NaN"),
    ("too deep", b"[" * 100_000, None, "nested too deeply"),
    ("an id that is a list", {**GOOD, "id": ["x"]}, None, "id must be a string or a number"),
    ("an id that is true", {**GOOD, "id": True}, None, "id must be a string or a number"),
    ("an id beyond all floats", b'{"id": 1e999, "reference": "3", "response": "3"}', None, "id is a number too large"),
    ("no reference", {"id": "x", "response": "3"}, "x", "reference is missing"),
    ("a reference of another type", {"id": "x", "reference": ["3"], "response": "3"}, "x", "reference must be"),
    (
        "a response of another type",
        {**GOOD, "id": "x", "response": 3},
        "x",
        "response must be a string or a chat message",
    ),
    ("a response list", {**GOOD, "response": ["3"]}, 1, "response must be a string or a chat message"),
    ("a message without content", {**GOOD, "response": {"role": "user"}}, 1, "response has neither content nor"),
    ("content of another type", {**GOOD, "response": {"content": 5}}, 1, "response.content must be"),
    (
        "a part without text",
        {**GOOD, "response": {"content": [{"type": "text"}]}},
        1,
        "response.content has a text part",
    ),
    ("a part of another type", {**GOOD, "response": {"content": [3]}}, 1, "response.content has a part"),
    (
        "tool calls of another type",
        {**GOOD, "response": {"content": "", "tool_calls": 3}},
        1,
        "response.tool_calls must be",
    ),
    ("a call without name", {**GOOD, "response": {"tool_calls": [{}]}}, 1, "response.tool_calls has a call without"),
    ("an answer of another type", {**GOOD, "answer": {"x": 1}}, 1, "answer must be a string"),
]


@pytest.mark.parametrize(("why", "line", "given_id", "reason"), BAD, ids=[form[0] for form in BAD])
def test_bad_line_names_line_and_field_and_stops_nothing(why: str, line: Any, given_id: Json, reason: str) -> None:
    bad, good = scored("math", line, GOOD)
    assert list(bad) == ["id", "line", "score", "error"]
    assert (bad["id"], bad["line"], bad["score"]) == (given_id, 1, None)
    assert bad["error"].startswith("line 1: ")
    assert reason in bad["error"]
    assert good["score"] == 100.0


FIELDS = [
    ("data2text", {}, "line 1: references is missing"),
    ("data2text", {"references": ["", None]}, "line 1: references holds no text"),
    ("summary", {}, "line 1: insights is missing"),
    (
        "summary",
        {"insights": [{"insight_id": "a", "insight": "x", "citations": [1]}], "verdicts": 3},
        "line 1: verdicts must be",
    ),
    ("instruction_following", {}, "line 1: limit is missing"),
    ("instruction_following", {"limit": 0}, "line 1: limit must be"),
    ("tool_selection", {"expected": "News"}, "line 1: tools is missing"),
    ("tool_selection", {"tools": ["News"], "expected": "Stock"}, "line 1: expected 'Stock' is not among the tools"),
    ("entity_extraction", {}, "line 1: expected is missing"),
    ("entity_extraction", {"expected": {"date": "05/05", "time": "7 pm"}}, "line 1: expected.people is missing"),
    ("entity_extraction", {"expected": {"date": "soon", "time": "7 pm", "people": 2}}, "line 1: expected.date"),
]


@pytest.mark.parametrize(("task", "fields", "reason"), FIELDS)
def test_every_task_names_the_field_it_misses(task: str, fields: dict[str, Json], reason: str) -> None:
    (line,) = scored(task, {**fields, "response": "x"})
    assert line["error"].startswith(reason)
    assert line["score"] is None


def test_byte_order_mark_and_carriage_returns_are_read() -> None:
    raw = b"\xef\xbb\xbf" + json.dumps(GOOD).encode() + b"\r\n"
    assert scored("math", raw)[0]["score"] == 100.0


def test_summary_lines_by_lexical_judge_by_verdicts_and_not_judged() -> None:
    insights = [
        {"insight_id": "a", "insight": "Rents rose by 12 percent near the tram line.", "citations": [1, 2]},
        {"insight_id": "b", "insight": "The pool reopened with solar heating.", "citations": [3]},
    ]
    response = "- Rents near the tram line rose by 12 percent [1][2]\n- Birds sing [3]"
    verdicts = [{"insight_id": "a", "coverage": "PARTIAL_COVERAGE", "bullet_id": "1"}]
    lines = [
        {"insights": insights, "response": response},
        {
            "insights": insights,
            "response": response,
            "verdicts": [*verdicts, {"insight_id": "b", "coverage": "full", "bullet_id": 2}],
        },
        {"insights": insights, "response": response, "verdicts": verdicts},
    ]
    lexical, given, some = scored("summary", *lines)
    assert (lexical["score"], lexical["verdict"]) == (50.0, "graded")
    assert lexical["signature"].endswith("|judge:lexical-1")
    assert (given["score"], given["detail"]["judge"]) == (75.0, "given")
    assert (some["score"], some["verdict"]) == (None, "not_judged")
    assert "b" in some["error"]
    filled = [json.loads(encode(LineScorer(find_task("summary", "lexical")).score(1, json.dumps(lines[2]).encode())))]
    assert filled[0]["score"] == 25.0


def test_judges_and_tasks_that_are_not_there_are_named() -> None:
    with pytest.raises(UnknownNameError, match=r"known: .*math"):
        find_task("maths")
    with pytest.raises(ConfigError, match="has to be asked"):
        find_task("summary", "openai/gpt-4o")
    with pytest.raises(ConfigError, match="--judge is for the task summary"):
        find_task("math", "lexical")
    assert {"math", "code", "entity_extraction"} <= set(known_tasks())


class Slow:
    """A costly task whose lines take different times; counts how many run and wait at once."""

    name, costly, scorer_version = "slow", True, 1

    def __init__(self) -> None:
        self.running = self.most = 0
        self.lock = threading.Lock()

    def score_item(self, line: Mapping[str, Json], base: Path) -> Instruction:
        return Instruction(instruction_id="", task="slow", benchmark="", text="", reference={"wait": line["wait"]})

    def extract(self, reply: Reply, instruction: Instruction, policy: Policy = "robust") -> Extraction:
        return Extraction(answer=reply.text, rung=Rung.WHOLE)

    def score(self, answer: str, instruction: Instruction, policy: Policy = "robust") -> Verdict:
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        time.sleep(instruction.reference["wait"])
        with self.lock:
            self.running -= 1
        if answer == "boom":
            raise RuntimeError("scorer fell over")
        return Verdict(score=100.0, verdict="correct", answer=answer)


def test_order_is_kept_and_threads_work_at_once() -> None:
    slow = Slow()
    raw = [json.dumps({"id": n, "response": "x", "wait": 0.05 if n % 5 == 0 else 0.0}).encode() for n in range(60)]
    lines = list(score_lines(raw, LineScorer(slow), jobs=4))
    assert [line["id"] for line in lines] == list(range(60))
    assert 1 < slow.most <= 4


def test_reading_ahead_is_bounded() -> None:
    read = 0

    def endless() -> Iterator[bytes]:
        nonlocal read
        while True:
            read += 1
            yield b'{"response": "x", "wait": 0}'

    stream = score_lines(endless(), LineScorer(Slow()), jobs=2)
    for _ in range(5):
        next(stream)
    assert read <= 5 + 2 * 8
    stream.close()  # type: ignore[attr-defined]


def test_a_scorer_that_falls_over_costs_one_line() -> None:
    raw = [b'{"id": "a", "response": "boom", "wait": 0}', b'{"id": "b", "response": "x", "wait": 0}']
    for jobs in (1, 2):
        bad, good = score_lines(raw, LineScorer(Slow()), jobs=jobs)
        assert bad["error"] == "line 1: cannot be scored, RuntimeError: scorer fell over"
        assert (bad["id"], good["score"]) == ("a", 100.0)


def test_withheld_answers_are_missing_with_the_reason() -> None:
    scorer = LineScorer(Slow(), withheld="no_sandbox: none here")
    line = scorer.score(1, b'{"response": "x", "wait": 0}')
    assert (line["score"], line["verdict"], line["error"]) == (None, "not_judged", "no_sandbox: none here")


def test_detail_that_json_cannot_hold_becomes_an_error_line() -> None:
    line = LineScorer(Slow()).score(3, b'{"response": "x", "wait": 0}')
    line["detail"] = {"x": float("nan")}
    assert json.loads(encode(line))["error"].startswith("the result is no valid JSON")


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["content", "tool_calls", "text", "type", "function", "name", "arguments"]),
                inner,
                max_size=3,
            )
        ),
        max_leaves=8,
    )
)
@settings(max_examples=200, deadline=None)
def test_any_response_gives_one_line(response: Json) -> None:
    raw = json.dumps({"reference": "3", "response": response}).encode()
    (line,) = score_lines([raw], LineScorer(find_task("math")))
    decoded = json.loads(encode(line))
    assert decoded["score"] in {None, 0.0, 100.0}
    assert (decoded["score"] is None) == (decoded["error"] is not None)


@given(st.binary(max_size=60))
def test_any_bytes_give_at_most_one_line(raw: bytes) -> None:
    lines = list(score_lines([raw], LineScorer(find_task("math"))))
    assert len(lines) == bool(raw.strip())


def test_record_error_without_field_is_shown_plainly() -> None:
    class Picky(Slow):
        def score_item(self, line: Mapping[str, Json], base: Path) -> Instruction:
            raise RecordError("is not what this task wants")

    assert LineScorer(Picky()).score(7, b"{}")["error"] == "line 7: is not what this task wants"
