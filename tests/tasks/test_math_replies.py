"""Whole replies in the style of chat models, written for this project; the weights were fitted on one of the two files.

``math_replies.jsonl`` is part of the fit, ``math_replies_unseen.jsonl`` never was (58 of 60 read right at first sight).
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lic_pipeline.records import Instruction, Reply
from lic_pipeline.tasks.math import TASK
from lic_pipeline.tasks.math.weights import CLEAR, SURE, UNSURE, WEIGHTS

HERE = Path(__file__).resolve().parent


def read_right(name: str) -> tuple[int, int]:
    rows = [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]
    right = 0
    for row in rows:
        problem = Instruction(
            instruction_id="t/0",
            task="math",
            benchmark="test",
            text=row["question"],
            reference={"answer": row["answer"]},
        )
        answer = TASK.extract(Reply(text=row["response"]), problem).answer
        right += answer is not None and TASK.score(answer, problem).correct
    return right, len(rows)


@pytest.mark.parametrize(
    ("name", "least", "count"), [("math_replies.jsonl", 326, 336), ("math_replies_unseen.jsonl", 58, 60)]
)
def test_replies_are_read_right(name: str, least: int, count: int) -> None:
    right, total = read_right(name)
    assert total == count
    assert right >= least


def test_margins_are_in_order() -> None:
    assert 0 < UNSURE < SURE < CLEAR
    assert WEIGHTS["boxed"] > WEIGHTS["bold_alone"] > 0 > WEIGHTS["given"] > WEIGHTS["place_before_last"]


def attempts(data: Path) -> Iterator[tuple[str, int, Instruction, str, bool]]:
    """Conversation id, turn, instruction, reply and recorded verdict of every graded attempt of the fork's log."""
    rows = [json.loads(line) for line in (data / "raw/gsm8k/test.jsonl").read_text(encoding="utf-8").splitlines()]
    with gzip.open(data / "lic_logs/fork_math_snowball.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            log, turn, reply = json.loads(line), 0, ""
            row = rows[int(log["task_id"].rpartition("/")[2])]
            problem = Instruction(
                instruction_id=log["task_id"], task="math", benchmark="gsm8k", text=row["question"],
                reference={"answer": row["answer"]},
            )  # fmt: skip
            for entry in log["trace"]:
                content = entry["content"]
                if entry["role"] == "assistant":
                    turn, reply = turn + 1, content or ""
                elif entry["role"] == "log" and content.get("type") == "answer-evaluation":
                    yield log["conv_id"], turn, problem, reply, content["score"] == 1


@pytest.mark.slow
def test_the_fork_differs_from_its_recorded_verdicts_only_where_a_reader_looked(shared_data: Path) -> None:
    adjudicated = json.loads((HERE / "adjudicated_math_fork.json").read_text(encoding="utf-8"))
    differing: dict[tuple[str, int], float] = {}
    for conversation, turn, problem, reply, right in attempts(shared_data):
        answer = TASK.extract(Reply(text=reply), problem).answer
        score = 0.0 if answer is None else TASK.score(answer, problem).score
        if score != (100.0 if right else 0.0):
            differing[conversation, turn] = float(score or 0.0)
    assert differing == {(entry["conv_id"], entry["turn"]): entry["robust"] for entry in adjudicated}
    assert all(entry["why"] for entry in adjudicated)
    assert sum(entry["why"].startswith("ours is wrong") for entry in adjudicated) <= 6
