"""Splitting a reply from its end must give what splitting it from its start gives."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lic_pipeline.tasks.math.passages import Backwards, last_passages, last_unchecked, passages_of

PIECES = (
    "So there are 9.", "Check: 4 + 5 = 9 ✓", "which matches the total", "Then:", "**Bold:**", "- a point", "3. Add 4",
    "i.e. 20", "why?", "***", "(an aside)", "\u2028", "\n\n", "\n", "\n\n\n", " ", "lower case", ")", '"', "x",
    "Therefore 9", "Let's verify.",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


@given(TEXTS)
def test_passages_from_the_end_are_those_from_the_start(text: str) -> None:
    assert list(last_passages(text, 0, len(text))) == list(passages_of(text, 0, len(text)))[::-1]


@given(TEXTS)
def test_passages_kept_stand_in_the_text_in_order(text: str) -> None:
    kept = list(last_unchecked(text, 0))
    known = list(passages_of(text, 0, len(text)))[::-1]
    assert [span for span in known if span in set(kept)] == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("It is 9.\n\nGood.", ["It is 9.", "Good."]),
        ("It is 9.\n\nCheck: 4 + 5 = 9.\n\nTherefore 9.", ["It is 9.", "Therefore 9."]),
        ("No digit.\n\nCheck: 4 + 5 = 9.", ["No digit.", "Check: 4 + 5 = 9."]),
        ("First.\n\nSo 4.\n\nThis is 9, which matches the total.", ["First.", "So 4."]),
    ],
)
def test_checks_of_a_stated_result_are_left_out(text: str, kept: list[str]) -> None:
    assert [text[a:b].strip() for a, b in last_unchecked(text, 0)][::-1] == kept


def test_passages_are_taken_from_the_iterator_once() -> None:
    spans = Backwards(iter([(5, 9), (0, 5)]))
    assert [next(spans.since(1)), *spans.since(0)] == [(0, 5), (5, 9), (0, 5)]
