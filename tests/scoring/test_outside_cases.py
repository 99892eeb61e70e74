"""Replies made after public bug reports and by hand, with certain verdicts, read from outside the project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lic_pipeline.scoring.find_scorer import find_task
from lic_pipeline.scoring.line_scorer import LineScorer
from lic_pipeline.scoring.score_stream import score_lines

FILES = ("outside_cases.jsonl", "replies.jsonl")
TASKS = [
    ("math", 319, 5),
    ("code", 125, 0),
    ("database", 109, 0),
    ("actions", 147, 0),
    ("data2text", 13, 0),
    ("summary", 98, 0),
    ("instruction_following", 3, 0),
]


def as_expected(expected: Any, line: dict[str, Any]) -> bool:
    if isinstance(expected, str):
        return line["correct"] is (expected == "correct")
    return line["score"] is not None and abs(line["score"] - expected) < 0.5


@pytest.mark.parametrize(("task", "count", "wrong"), TASKS)
def test_outside_cases_are_scored_as_a_reader_would(shared_data: Path, task: str, count: int, wrong: int) -> None:
    lines = [line for name in FILES for line in (shared_data / "cases" / name).read_text(encoding="utf-8").splitlines()]
    cases = [case for case in map(json.loads, lines) if case["task"] == task]
    raw = [json.dumps(case["input"]).encode() for case in cases]
    scored = list(score_lines(raw, LineScorer(find_task(task))))
    missed = [case["kind"] for case, line in zip(cases, scored, strict=True) if not as_expected(case["expected"], line)]
    assert len(cases) == count
    assert len(missed) <= wrong, missed
