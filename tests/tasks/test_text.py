"""Reading replies as text: reasoning, fences, sentences, shared labels, bullets."""

from __future__ import annotations

import pytest

from lic_pipeline.records import Extraction, Reply, Rung, Shard, Strategy
from lic_pipeline.tasks.fenced_blocks import fenced_blocks, without_fences
from lic_pipeline.tasks.reply_reading import (
    count_questions,
    label_without_answer,
    reasoning_flags,
    sentences,
    unanswered,
    visible_text,
)
from lic_pipeline.tasks.user_messages import bullets, concat_bullets

VISIBLE = [
    ("plain", "plain", False),
    ("<think>a</think>b", "b", False),
    ("x<THINK>a</THINK>b", "xb", False),
    ("<think>a<think>b</think>c</think>d", "d", False),
    ("a</think>b", "b", False),
    ("b<reasoning>never ends", "b", True),
    ("[THINK]a[/THINK]b", "b", False),
    ("1 < 2 and [x]", "1 < 2 and [x]", False),
]


@pytest.mark.parametrize(("text", "visible", "truncated"), VISIBLE)
def test_reasoning_is_no_part_of_the_answer(text: str, visible: str, truncated: bool) -> None:
    assert visible_text(text) == (visible, truncated)
    assert reasoning_flags(Reply(text=text)) == (("truncated_reasoning",) if truncated else ())


def test_abbreviations_end_no_sentence() -> None:
    assert sentences("It is 9 (i.e. 4 + 5). It holds, e.g. A and B. Then 8.") == [
        "It is 9 (i.e. 4 + 5).",
        "It holds, e.g. A and B.",
        "Then 8.",
    ]


def test_fences_are_found_with_language_and_end() -> None:
    text = "a\n```python\nx = 1\n```\nb\n~~~\ny\n~~~\n````\n```\nz\n````\n```sql\ncut"
    blocks = fenced_blocks(text)
    assert [(b.language, b.body, b.closed) for b in blocks] == [
        ("python", "x = 1\n", True),
        ("", "y\n", True),
        ("", "```\nz\n", True),
        ("sql", "cut", False),
    ]
    assert "x = 1" not in without_fences(text)
    assert all(text[b.start : b.end].startswith(("```", "~~~")) for b in blocks)


SENTENCES = [
    ("One. Two! Three?", ["One.", "Two!", "Three?"]),
    ("It costs 2.50 today.", ["It costs 2.50 today."]),
    ("- a\n- b", ["- a", "- b"]),
    ("1. First\n2. Second", ["1. First", "2. Second"]),
    ("wrapped\nline", ["wrapped\nline"]),
    ("Head\n\nBody", ["Head", "Body"]),
    ("", []),
]


@pytest.mark.parametrize(("text", "expected"), SENTENCES)
def test_sentences_end_where_a_reader_ends_them(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


QUESTIONS = [
    ("Which colour?", 1),
    ("Please specify the colour.", 1),
    ("Which colour? And what size?", 2),
    ("All done. Would you like anything else?", 0),
    ("Let me know if you have more questions!", 0),
    ("```\nwhat?\n```", 0),
]


@pytest.mark.parametrize(("text", "count"), QUESTIONS)
def test_offers_of_help_are_no_questions(text: str, count: int) -> None:
    assert count_questions(text) == count


def test_labels_without_answer() -> None:
    assert label_without_answer(" ") is Strategy.MISSING
    assert label_without_answer("Which one?") is Strategy.CLARIFICATION
    assert label_without_answer("Which one? When?") is Strategy.INTERROGATION
    assert label_without_answer("I can’t do that.") is Strategy.REFUSAL
    assert label_without_answer("Colours are a wide field. " * 40 + "Which one?") is Strategy.DISCUSSION


def test_unanswered_names_the_reason() -> None:
    assert unanswered(Extraction(answer=None, rung=Rung.AMBIGUOUS)).verdict == "ambiguous"
    assert unanswered(Extraction(answer=None, rung=Rung.FAILED)).verdict == "no_answer"


def test_bullets_keep_texts_word_for_word() -> None:
    assert bullets(["a", "b\n  c"]) == "- a\n- b\n  c"
    message = concat_bullets([Shard(shard_id=1, text="{{x}}"), Shard(shard_id=2, text=" y ")])
    assert message.endswith("- {{x}}\n-  y ")
