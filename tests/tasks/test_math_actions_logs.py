"""Published conversations: the reference policy gives the recorded labels, robust differs only where adjudicated.

The adjudications were made by reading each reply; the files hold ids and reasons in our own words only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lic_pipeline.records import Instruction, Json, Reply, Strategy
from lic_pipeline.tasks.protocol import Task
from lic_pipeline.tasks.registry import get_task
from lic_pipeline.tasks.reply_reading import unanswered

pytestmark = pytest.mark.slow
HERE = Path(__file__).resolve().parent


def lines(path: Path) -> list[Json]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def instructions(task: str, data: Path) -> dict[str, Instruction]:
    if task == "math":
        return {
            str(place): Instruction(
                instruction_id=f"gsm8k/{place}",
                task=task,
                benchmark="gsm8k",
                text=row["question"],
                reference={"answer": row["answer"]},
            )
            for place, row in enumerate(lines(data / "raw/gsm8k/test.jsonl"))
        }
    folder = data / "raw/bfcl"
    truth = {row["id"]: row["ground_truth"] for row in lines(folder / "possible_answer/BFCL_v4_parallel.json")}
    return {
        row["id"].removeprefix("parallel_"): Instruction(
            instruction_id=f"bfcl/{row['id']}",
            task=task,
            benchmark="bfcl",
            text=row["question"][0][0]["content"],
            context={"functions": row["function"]},
            reference={"calls": truth[row["id"]]},
        )
        for row in lines(folder / "BFCL_v4_parallel.json")
    }


def attempts(task: str, data: Path) -> Iterator[tuple[str, int, Instruction, str, str, bool]]:
    """Conversation id, turn, instruction, reply, recorded extraction, recorded verdict of every graded attempt."""
    known = instructions(task, data)
    for row in lines(data / f"lic_logs/viewer_{task}.jsonl"):
        turn, reply = 0, ""
        for entry in row["trace"]:
            if entry["role"] == "assistant":
                turn, reply = turn + 1, entry["content"] or ""
            if entry["role"] == "log" and entry["content"].get("type") == "answer-evaluation":
                log = entry["content"]
                right = bool(log["is_correct"]) if log["score"] is None else log["score"] == 1
                key = row["task_id"].replace("_", "-").rpartition("-")[2]
                yield row["conv_id"], turn, known[key], reply, log["exact_answer"], right


def robust(task: Task, reply: str, instruction: Instruction) -> float | None:
    extraction = task.extract(Reply(text=reply), instruction)
    verdict = unanswered(extraction) if extraction.answer is None else task.score(extraction.answer, instruction)
    return verdict.score


@pytest.mark.parametrize(("name", "count"), [("math", 681), ("actions", 1088)])
def test_reference_policy_reproduces_the_published_labels(shared_data: Path, name: str, count: int) -> None:
    task = get_task(name)
    graded = list(attempts(name, shared_data))
    same = sum(
        task.score(recorded, instruction, "reference").correct is right
        for _, _, instruction, _, recorded, right in graded
    )
    assert len(graded) == count
    assert same == count


@pytest.mark.parametrize("name", ["math", "actions"])
def test_robust_policy_differs_only_where_a_reader_agreed(shared_data: Path, name: str) -> None:
    task = get_task(name)
    adjudicated = json.loads((HERE / f"adjudicated_{name}.json").read_text(encoding="utf-8"))
    expected = {(entry["conv_id"], entry["turn"]): entry["robust"] for entry in adjudicated}
    differing: dict[tuple[str, int], float | None] = {}
    for conversation, turn, instruction, reply, _, right in attempts(name, shared_data):
        score = robust(task, reply, instruction)
        if score != (100.0 if right else 0.0):
            differing[conversation, turn] = score
    assert differing == expected
    assert all(entry["why"] for entry in adjudicated)


def test_solutions_without_marker_are_read_by_their_conclusion(shared_data: Path) -> None:
    """The benchmark's own worked solutions, without the marker line: at least 97% by the loose rungs alone."""
    task = get_task("math")
    right = total = 0
    for instruction in instructions("math", shared_data).values():
        solution = str(instruction.reference["answer"]).partition("####")[0]
        plain = "".join(part.partition(">>")[2] if ">>" in part else part for part in solution.split("<<"))
        total += 1
        right += robust(task, plain.strip(), instruction) == 100.0
    assert total == 1319
    assert right / total >= 0.97


def test_rule_labels_of_math_agree_with_the_recorded_ones(shared_data: Path) -> None:
    """Attempt or not, over the SHARDED replies labelled there; FULL and CONCAT replies (no labels) are all attempts."""
    task = get_task("math")
    asked = Instruction(instruction_id="x", task="math", benchmark="gsm8k", text="")
    counts = {(recorded, found): 0 for recorded in (True, False) for found in (True, False)}
    for row in lines(shared_data / "lic_logs/viewer_math.jsonl"):
        reply = ""
        for entry in row["trace"]:
            if entry["role"] == "assistant":
                reply = entry["content"] or ""
                if row["conv_type"] in {"full", "concat"}:
                    assert task.label(Reply(text=reply), asked) is Strategy.ANSWER_ATTEMPT, row["conv_id"]
            if entry["role"] == "log" and entry["content"].get("type") == "system-verification":
                recorded = entry["content"]["response"]["response_type"] == "answer_attempt"
                counts[recorded, task.label(Reply(text=reply), asked) is Strategy.ANSWER_ATTEMPT] += 1
    right = counts[True, True]
    assert sum(counts.values()) == 839
    assert right / (right + counts[False, True]) >= 0.87
    assert right / (right + counts[True, False]) >= 0.94
