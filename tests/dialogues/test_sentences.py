"""Counting sentences: every form by what is hard about it, whole replies, and texts made to take long."""

from __future__ import annotations

import time

import pytest
from dialogues.sentence_forms import FORMS, SHORT
from dialogues.sentence_replies import FIRST, SECOND, THIRD
from dialogues.sentence_replies_later import FIFTH, FOURTH, UNSOLVED
from hypothesis import given, settings
from hypothesis import strategies as st

from lic_pipeline.dialogues.enclosures import Enclosures
from lic_pipeline.dialogues.reply_blocks import reply_blocks
from lic_pipeline.dialogues.sentences import count_sentences

RIGHT = SHORT + FIRST + SECOND + THIRD + FOURTH + FIFTH


@pytest.mark.parametrize(("why", "text", "count"), FORMS, ids=[form[0] for form in FORMS])
def test_forms(why: str, text: str, count: int) -> None:
    assert count_sentences(text) == count


@pytest.mark.parametrize(("text", "count"), RIGHT)
def test_whole_replies(text: str, count: int) -> None:
    assert count_sentences(text) == count


def test_share_of_replies_counted_rightly() -> None:
    replies = RIGHT + UNSOLVED
    assert len(replies) > 300
    assert sum(count_sentences(text) == count for text, count in replies) / len(replies) > 0.98


def test_words_around_a_quotation_make_it_part_of_their_sentence() -> None:
    quoted = '"Is it far? Is it steep?"'
    counts = [count_sentences(text.format(quoted)) for text in ("{} she asked.", "She asked, {} Then left.", "{} Go.")]
    assert counts == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "place", "pair"),
    [
        ('a "b" c', 3, (2, 4)),
        ("(a [b] c)", 4, (0, 8)),
        ("(a) b", 4, None),
        ("a (b", 3, None),
        ("a ) b ( c", 8, None),
        ("it's 'so. ' it's", 7, None),
        ("'It's so.'", 5, (0, 9)),
        ("„a“ b", 1, (0, 2)),
        (":( a :)", 3, None),
    ],
)
def test_enclosures_need_both_signs(text: str, place: int, pair: tuple[int, int] | None) -> None:
    assert Enclosures(text).around(place) == pair


def test_blocks_hold_no_marks_that_are_part_of_names() -> None:
    text = "# Title\n\nSee [it. Now](https://a.example/b.c), `a.b` and x@y.example.[1]\n\n- one\n\n```\na.\n```"
    assert reply_blocks(text) == (1, ["See [it. Now], Placeholder and Placeholder.", "one"])


PARTS = [
    "A.",
    '"',
    "('",
    "(.)",
    '"a. b" ',
    "1. ",
    "😊 The ",
    "!? ",
    ". . ",
    "**a",
    "`a",
    "a@",
    "www.",
    "[",
    '])"',
    "“a. ",
    "-",
]


@pytest.mark.parametrize(
    "part", [*PARTS, "e.g. ", "1 ft. ", '"Why?" a a a ', "| ", "I said. ", "a: 1. ", "- a\n", "<br>"]
)
def test_time_is_linear_in_the_text(part: str) -> None:
    start = time.process_time()
    count_sentences(part * (60_000 // len(part)) + "x")
    assert time.process_time() - start < 3


@given(st.lists(st.sampled_from([*PARTS, "\n", " ", "Bo", "etc.", "’", "…", "U.S. "]), max_size=40).map("".join))
@settings(max_examples=200, deadline=None)
def test_any_text_is_counted_and_a_further_paragraph_adds_one(text: str) -> None:
    count = count_sentences(text)
    assert 0 <= count <= len(text)
    assert count_sentences(f"{text}\n\nThis is new.") == count + 1
