"""The library: every version of every gated instruction that was ever prepared, so that a score is never computed
against another item that has since taken the same id (our samples carry the ids of the benchmarks they imitate).

A version is known by the hash of what a prompt can show; a corrected reference replaces the old one of its version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lic_pipeline.lake.tables import read_partition, write_partition
from lic_pipeline.models.request import canonical_json, digest
from lic_pipeline.records import Instruction
from lic_pipeline.tables.items import LIBRARY, OK
from lic_pipeline.verification.items.gold_check import instruction_of


def keep_versions(lake: Path, task: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Add the usable rows of ``instructions`` to the library of their task."""
    stored = read_partition(lake, LIBRARY, {"task": task})
    kept = {(row["instruction_id"], row["content"]): row for row in stored or []}
    before = None if stored is None else dict(kept)
    for row in rows:
        if row["status"] == OK:
            content = instruction_of(row).content_hash
            names = ("instruction_id", "task", "benchmark", "source", "text", "context", "reference", "metadata")
            kept[row["instruction_id"], content] = {**{name: row[name] for name in names}, "content": content}
    if kept != before:
        write_partition(lake, LIBRARY, {"task": task}, [kept[key] for key in sorted(kept)])


def wanted_versions(lake: Path, task: str, manifest: Sequence[Mapping[str, Any]]) -> dict[str, Instruction]:
    """The instructions a manifest was planned with, by id; versions the library does not hold are absent."""
    wanted = {(row["instruction_id"], row["content"]) for row in manifest}
    rows = read_partition(lake, LIBRARY, {"task": task}) or []
    return {
        row["instruction_id"]: instruction_of(row) for row in rows if (row["instruction_id"], row["content"]) in wanted
    }


def references_hash(instructions: Mapping[str, Instruction]) -> str:
    """One hash over the references of these instructions."""
    return digest(canonical_json([[name, dict(instructions[name].reference)] for name in sorted(instructions)]))
