"""Every embedded sample, once through its reader and its task."""

from __future__ import annotations

import pytest
from sample_rows import (
    SAMPLES,
    SIDECAR,
)

from lic_pipeline.benchmarks.registry import READERS
from lic_pipeline.records import Instruction, Reply, Verdict
from lic_pipeline.tasks.database.task import discrimination
from lic_pipeline.tasks.registry import get_task

READINGS = {name: reader.read(SAMPLES / reader.folder) for name, reader in READERS.items()}
INSTRUCTIONS = [instruction for reading in READINGS.values() for instruction in reading.instructions]


def graded(text: str, instruction: Instruction) -> Verdict | None:
    """The verdict on a whole reply, None when no answer is found in it."""
    task = get_task(instruction.task)
    answer = task.extract(Reply(text=text), instruction).answer
    return None if answer is None else task.score(answer, instruction)


def test_the_readers_take_every_item() -> None:
    assert {name: [str(problem) for problem in reading.problems] for name, reading in READINGS.items()} == {
        name: [] for name in READERS
    }
    hand_made = {instruction.instruction_id for instruction in INSTRUCTIONS if instruction.task != "data2text"}
    assert hand_made == {row["instruction_id"] for row in SIDECAR}


@pytest.mark.parametrize("instruction", INSTRUCTIONS, ids=lambda instruction: instruction.instruction_id)
def test_gold_scores_100_and_the_menu_keeps_its_word(instruction: Instruction) -> None:
    task = get_task(instruction.task)
    task.check(instruction)
    gold = task.gold(instruction)
    assert gold is not None
    verdict = graded(gold, instruction)
    assert verdict is not None
    assert verdict.score == 100
    menu = task.persona_replies(instruction)
    kinds = [item.kind for item in menu]
    assert {"right", "wrong", "question", "hedge", "refusal"} <= set(kinds)
    assert kinds.count("wrong") >= 2
    for item in menu:
        verdict = graded(item.text, instruction) if item.kind in ("right", "wrong") else None
        if item.kind == "right":
            assert verdict is not None
            assert verdict.score == 100, item.text
        elif verdict is not None:
            assert verdict.score is not None
            assert verdict.score < 100, item.text


@pytest.mark.parametrize(
    "instruction",
    [instruction for instruction in INSTRUCTIONS if instruction.task == "database"],
    ids=lambda instruction: instruction.instruction_id,
)
def test_database_items_pass_the_discrimination_check(instruction: Instruction) -> None:
    assert discrimination(instruction) is None
