"""HumanEval: Python functions to complete, ``HumanEval.jsonl(.gz)`` -> code instructions ``humaneval/<n>``.

The tests are kept as text; running them is the sandbox's business.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from lic_pipeline.benchmarks.fields import need_text
from lic_pipeline.benchmarks.rawfiles import Collector, Reading
from lic_pipeline.errors import RecordError
from lic_pipeline.prompts import render
from lic_pipeline.records import Instruction, Json

GLOBS = ("HumanEval.jsonl.gz", "HumanEval.jsonl")
_TASK_ID = re.compile(r"HumanEval/(\d+)")


def read(folder: Path) -> Reading:
    """All problems below ``folder``; of a packed and a plain file the plain one is read."""
    collector = Collector(folder)
    for path in collector.find(*GLOBS)[:1]:
        for row in collector.rows(path):
            collector.add(row, lambda row: build(row.value, _instruction_id(row.value)))
    return collector.reading()


def build(value: Mapping[str, Json], instruction_id: str) -> Instruction:
    """The instruction of one row; ``canonical_solution`` may be absent (released records have none).

    Raises RecordError naming the field.
    """
    reference = {"format": "humaneval"}
    reference |= {field: need_text(value, field) for field in ("entry_point", "prompt", "test")}
    if "canonical_solution" in value:
        reference["canonical_solution"] = need_text(value, "canonical_solution")
    if not reference["entry_point"].isidentifier():
        raise RecordError(f"{reference['entry_point']!r} is no Python name", field="entry_point")
    if not re.search(rf"\bdef\s+{re.escape(reference['entry_point'])}\b", reference["prompt"]):
        raise RecordError(f"does not define {reference['entry_point']}", field="prompt")
    if not re.search(r"\bdef\s+check\s*\(", reference["test"]):
        raise RecordError("does not define check(candidate)", field="test")
    return Instruction(
        instruction_id=instruction_id,
        task="code",
        benchmark="humaneval",
        text=render("benchmarks/humaneval", prompt=reference["prompt"].strip("\n")),
        reference=reference,
    )


def _instruction_id(value: Mapping[str, Json]) -> str:
    found = _TASK_ID.fullmatch(need_text(value, "task_id").strip())
    if found is None:
        raise RecordError(f"{value['task_id']!r} is not of the form HumanEval/<number>", field="task_id")
    return f"humaneval/{int(found[1])}"
