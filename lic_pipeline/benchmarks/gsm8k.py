"""GSM8K: grade-school word problems, one per line of ``test.jsonl`` -> math instructions ``gsm8k/<line from 0>``.

The number after ``####`` is taken as it stands; reading it as a number is the math task's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from lic_pipeline.benchmarks.fields import need_text
from lic_pipeline.benchmarks.rawfiles import Collector, Reading
from lic_pipeline.errors import RecordError
from lic_pipeline.records import Instruction, Json

GLOBS = ("test.jsonl", "test.jsonl.gz")


def read(folder: Path) -> Reading:
    """All problems of the test split below ``folder``; the id is the physical line, so blank lines count."""
    collector = Collector(folder)
    for path in collector.find(*GLOBS)[:1]:
        for row in collector.rows(path):
            collector.add(row, lambda row: build(row.value, f"gsm8k/{row.index}"))
    return collector.reading()


def build(value: Mapping[str, Json], instruction_id: str) -> Instruction:
    """The instruction of one ``{question, answer}`` row. Raises RecordError naming the field."""
    question, solution = need_text(value, "question"), need_text(value, "answer")
    _, mark, answer = solution.rpartition("####")
    if not mark or not answer.strip():
        raise RecordError("has no '#### <number>' at its end", field="answer")
    return Instruction(
        instruction_id=instruction_id,
        task="math",
        benchmark="gsm8k",
        text=question.strip(),
        reference={"answer": answer.strip(), "solution": solution},
    )
