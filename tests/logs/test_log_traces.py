"""Reading traces: both generations of entries, scores in either field, reveals numbered, what is out of place."""

from __future__ import annotations

from typing import Any

import pytest
from support.log_lines import evaluation, label, reply, reveal, user

from lic_pipeline.errors import RecordError
from lic_pipeline.logs.reading.concat_shards import shard_texts
from lic_pipeline.logs.reading.parse_line import number_reveals
from lic_pipeline.logs.reading.parse_trace import LogTurn, read_trace, recorded_score
from lic_pipeline.records import Strategy

DONE = {"role": "log", "content": {"type": "conversation-completed", "is_correct": True}}


@pytest.mark.parametrize("old", [False, True])
def test_both_names_of_reveals_are_read(old: bool) -> None:
    trace = read_trace([user("a"), reveal(1, old=old), reply("b"), label("refuse"), user("c"), reveal(2), reply("d")])
    assert [turn.revealed for turn in trace.turns] == [[1], [2]]
    assert trace.turns[0].label is Strategy.REFUSAL
    assert trace.turns[1].label is None


def test_evaluation_belongs_to_the_reply_before_it() -> None:
    items = [user("a"), reply("b"), label("answer_attempt"), evaluation("", False), user("c"), reply("d"), DONE]
    first, second = read_trace(items).turns
    assert first.evaluation is not None
    assert (first.evaluation.answer, first.evaluation.score) == ("", 0.0)
    assert second.evaluation is None
    assert read_trace(items).completed


def test_reply_without_content_is_empty_and_unknown_entries_are_passed_over() -> None:
    extra = {"role": "log", "content": {"type": "something-new"}}
    trace = read_trace([extra, user("a"), extra, reply(None), label("song")])
    assert trace.turns[0].reply == ""
    assert trace.turns[0].unknown_label


def test_cost_that_is_no_number_is_none() -> None:
    assert read_trace([user("a"), {**reply("b"), "cost_usd": "free"}]).turns[0].cost_usd is None


@pytest.mark.parametrize(
    ("items", "said"),
    [
        (None, "non-empty list"),
        ([], "non-empty list"),
        (["x"], "item 1 is no object"),
        ([{"role": "system", "content": "s"}], "no user message"),
        ([user("a")], "never answered"),
        ([user("a"), user("b"), reply("c")], "item 2: two user messages"),
        ([reply("a")], "item 1: a reply without"),
        ([user("a"), reply("b"), reply("c")], "item 3: a reply without"),
        ([{"role": "user", "content": ["a"]}], "item 1: content is no text"),
        ([user("a"), {"role": "tool", "content": "b"}], "item 2: unknown role 'tool'"),
        ([user("a"), {"role": "log", "content": "b"}], "item 2: a log entry"),
        ([label("hedge")], "item 1: system_verification before the first"),
        ([user("a"), evaluation("1", True)], "item 2: answer_evaluation before the reply"),
    ],
)
def test_what_is_out_of_place_is_named(items: Any, said: str) -> None:
    with pytest.raises(RecordError, match=said) as caught:
        read_trace(items)
    assert caught.value.field == "trace"


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"score": 1.0, "is_correct": None}, 100.0),
        ({"score": 0, "is_correct": None}, 0.0),
        ({"score": 0.25}, 25.0),
        ({"score": None, "is_correct": True}, 100.0),
        ({"score": None, "is_correct": False}, 0.0),
        ({"score": 0.5, "is_correct": True}, 50.0),
        ({"score": True}, 100.0),
        ({"is_correct": 0}, 0.0),
        ({"score": None, "is_correct": None, "evaluation_return": {"score": 1.0}}, 100.0),
        ({"evaluation_return": {"is_correct": False}}, 0.0),
        ({"score": None, "is_correct": None}, None),
        ({"is_correct": "yes"}, None),
        ({}, None),
    ],
)
def test_recorded_score_from_either_field(entry: dict[str, Any], expected: float | None) -> None:
    assert recorded_score(entry) == expected


@pytest.mark.parametrize("score", [1.5, -0.1, 100])
def test_score_off_the_scale_is_refused(score: float) -> None:
    with pytest.raises(RecordError, match=r"outside 0\.\.1"):
        recorded_score({"score": score})


@pytest.mark.parametrize(
    ("ids", "n_shards", "expected", "flags"),
    [
        ([[1], [2], [3]], 3, (1, 2, 3), ()),  # newer: every turn logged
        ([[1], [3], [2]], 3, (1, 3, 2), ()),
        ([[], [1], [2]], 3, (1, 2, 3), ()),  # older: no entry on turn 1, counted from the second shard
        ([[], [2], [1]], 3, (1, 3, 2), ()),
        ([[], [2], [3]], 3, (1, 2, 3), ()),  # no entry on turn 1, but counted from the first: id 3 exists
        ([[], [1], [], [2]], 3, (1, 2, None, 3), ()),  # a turn that revealed nothing
        ([[0], [1], [2]], 3, (1, 2, 3), ()),  # counted from 0
        ([["1"], ["2"]], 2, (1, 2), ()),  # ids as text
        ([[1], [-1], [None], [2]], 2, (1, None, None, 2), ()),
        ([[1], [9], ["x"]], 2, (1, None, None), ("bad_id",)),
        ([[1], [10**30], ["9" * 40], [True]], 2, (1, None, None, None), ("bad_id",)),
        ([[1], [2, 3]], 3, (1, 2), ("bad_id",)),
        ([[1], [4], [4]], 5, (1, 4, 4), ()),  # revealed again
        ([[], [2], [1]], None, (1, 3, 2), ("shards_unknown",)),
        ([[], []], 4, (1, None), ()),
    ],
)
def test_reveals_are_numbered_from_the_first_shard(
    ids: list[list[Any]], n_shards: int | None, expected: tuple[int | None, ...], flags: tuple[str, ...]
) -> None:
    found = number_reveals([LogTurn("u", "r", revealed=entries) for entries in ids], n_shards)
    assert (found.by_turn, found.flags) == (expected, flags)


def test_refinement_without_entries_reveals_in_order() -> None:
    turns = [LogTurn("u", "r") for _ in range(3)]
    assert number_reveals(turns, 3, in_order=True).by_turn == (1, 2, 3)
    assert number_reveals(turns, 3).by_turn == (1, None, None)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("- one\n- two\n", ("one", "two")),
        ("Q: - one\n- two\n- three\n\nA:", ("one", "two", "three")),
        ("Q: one\n- two\n\nA:", ("one", "two")),
        ("Please weigh all of this:\n- one\n- two", ("one", "two")),
        ("- one\n  goes on\n- two - not three", ("one\n  goes on", "two - not three")),
        ("no list at all", ()),
        ("", ()),
    ],
)
def test_shards_are_read_from_the_bullets(message: str, expected: tuple[str, ...]) -> None:
    assert shard_texts(message) == expected
