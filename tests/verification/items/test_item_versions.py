"""A manifest is scored against the instructions it was planned with, whatever took their ids since."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lic_pipeline.records import Instruction
from lic_pipeline.tasks.registry import get_task
from lic_pipeline.verification.items.gold_check import _row, instruction_of
from lic_pipeline.verification.items.item_versions import keep_versions, references_hash, wanted_versions


class NoStore:
    def verdict(self, key: str) -> None:
        return None

    def store_verdict(self, key: str, value: dict[str, Any]) -> None:
        pass


def problem(text: str, answer: str) -> Instruction:
    return Instruction(
        instruction_id="gsm8k/0", task="math", benchmark="gsm8k", text=text, reference={"answer": answer}, source="x"
    )


def keep(lake: Path, instruction: Instruction) -> None:
    keep_versions(lake, "math", [_row(get_task("math"), instruction, NoStore())])


def manifest(instruction: Instruction) -> list[dict[str, Any]]:
    return [{"instruction_id": instruction.instruction_id, "content": instruction.content_hash}]


def test_two_instructions_of_one_id_stay_apart(tmp_path: Path) -> None:
    ours, theirs = problem("Two and two?", "4"), problem("Three and three?", "6")
    keep(tmp_path, ours)
    keep(tmp_path, theirs)
    assert wanted_versions(tmp_path, "math", manifest(ours))["gsm8k/0"].reference == {"answer": "4"}
    assert wanted_versions(tmp_path, "math", manifest(theirs))["gsm8k/0"].reference == {"answer": "6"}


def test_a_corrected_reference_replaces_the_old_one_and_changes_the_fingerprint(tmp_path: Path) -> None:
    wrong, corrected = problem("Two and two?", "5"), problem("Two and two?", "4")
    keep(tmp_path, wrong)
    before = references_hash(wanted_versions(tmp_path, "math", manifest(wrong)))
    keep(tmp_path, corrected)
    found = wanted_versions(tmp_path, "math", manifest(wrong))
    assert found["gsm8k/0"].reference == {"answer": "4"}
    assert references_hash(found) != before


def test_a_version_nobody_kept_is_absent(tmp_path: Path) -> None:
    keep(tmp_path, problem("Two and two?", "4"))
    assert wanted_versions(tmp_path, "math", manifest(problem("Another?", "1"))) == {}


def test_rows_round_trip(tmp_path: Path) -> None:
    instruction = problem("Two and two?", "4")
    assert instruction_of(_row(get_task("math"), instruction, NoStore())) == instruction
