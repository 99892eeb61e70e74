"""ToTTo: one-sentence descriptions of highlighted table cells, ``*.jsonl`` -> data2text ``totto/<example_id>``.

How a table is shown to a model is in ``totto_text``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from lic_pipeline.benchmarks.fields import any_text, need_id, need_list, need_objects, need_text
from lic_pipeline.benchmarks.rawfiles import Collector, Reading
from lic_pipeline.benchmarks.totto_text import build_text
from lic_pipeline.errors import RecordError
from lic_pipeline.records import Instruction, Json

GLOBS = ("*.jsonl", "*.jsonl.gz")


def read(folder: Path) -> Reading:
    """All examples of all files below ``folder``."""
    collector = Collector(folder)
    for path in collector.find(*GLOBS):
        for row in collector.rows(path):
            collector.add(row, lambda row: _build_row(row.value))
    return collector.reading()


def build(instruction_id: str, metadata: Mapping[str, Json], references: Sequence[Json]) -> Instruction:
    """The instruction out of what rendering needs (docs/contracts.md) and the reference sentences.

    Raises RecordError naming the field; empty sentences are dropped, none left is an error.
    """
    sentences = [sentence.strip() for sentence in references if isinstance(sentence, str) and sentence.strip()]
    if not sentences:
        raise RecordError("no reference sentence that is not empty", field="references")
    return Instruction(
        instruction_id=instruction_id,
        task="data2text",
        benchmark="totto",
        text=build_text(metadata),
        reference={"references": sentences},
        metadata=metadata,
    )


def _build_row(value: Mapping[str, Json]) -> Instruction:
    example = need_id(value, "example_id")
    metadata = {
        "table": need_list(value, "table"),
        "highlighted_cells": need_list(value, "highlighted_cells"),
        "page_title": need_text(value, "table_page_title"),
        "section_title": any_text(value, "table_section_title"),
        "section_text": any_text(value, "table_section_text"),
    }
    annotations = need_objects(value, "sentence_annotations")
    return build(f"totto/{example}", metadata, [annotation.get("final_sentence") for annotation in annotations])
