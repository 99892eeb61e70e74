"""Plain records ``{id, task, instruction, shards?, reference, context?, metadata?}``: people's own sharded items.

``context`` and ``reference`` hold the keys of docs/contracts.md. What the values must be beyond their kind is checked
by the tasks; released records are another form (``released``).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from lic_pipeline.benchmarks.fields import need_id, need_list, need_object, need_text
from lic_pipeline.errors import RecordError
from lic_pipeline.records import IMPORTED, Instruction, Json, Provenance, ShardedInstruction
from lic_pipeline.sharding.shardlists import shards_for

_NEEDS: dict[str, tuple[tuple[str, str, type], ...]] = {
    "math": (("reference", "answer", str),),
    "code": (("reference", "format", str),),
    "database": (("context", "schema_sql", str), ("reference", "reference_sql", str)),
    "actions": (("context", "functions", list), ("reference", "calls", list)),
    "data2text": (("reference", "references", list),),
    "summary": (
        ("context", "topic", str),
        ("context", "query", str),
        ("context", "documents", list),
        ("reference", "insights", list),
    ),
}
_CODE_NEEDS: dict[str, tuple[tuple[str, str, type], ...]] = {
    "humaneval": (("reference", "entry_point", str), ("reference", "prompt", str), ("reference", "test", str)),
    "functional": (("reference", "entry_point", str), ("reference", "tests", list)),
    "stdin": (("reference", "tests", list),),
}
TASKS = tuple(_NEEDS)


def parse_plain(
    record: Mapping[str, Json], base: Path, task: str | None = None
) -> tuple[Instruction, ShardedInstruction | None]:
    """The instruction and, when there are any, its shards. Relative database paths are taken from ``base``.

    ``task`` serves records that name none. Shards count as ``authored`` unless ``provenance`` says otherwise.
    Raises RecordError naming the field.
    """
    name = need_id(record, "id")
    task = need_text(record, "task") if task is None or "task" in record else task
    if task not in _NEEDS:
        raise RecordError(f"{task!r} is none of {', '.join(TASKS)}", field="task")
    parts = {part: _part(record, part, task) for part in ("context", "reference", "metadata")}
    for needs in (_NEEDS[task], _CODE_NEEDS[_format(parts)] if task == "code" else ()):
        for part, field, kind in needs:
            check = need_text if kind is str else need_list
            check(parts[part], field, label=f"{part}.{field}")
    if task == "database":
        parts["reference"] = _with_rows(parts["reference"], base)
    instruction = Instruction(
        instruction_id=name,
        task=task,
        benchmark=str(record.get("benchmark") or "own"),
        text=need_text(record, "instruction"),
        source=IMPORTED,
        **parts,
    )
    return instruction, _sharded(record, instruction)


def to_plain(instruction: Instruction, sharded: ShardedInstruction | None) -> dict[str, Any]:
    """The plain record of an instruction and its shards; ``parse_plain`` reads it back."""
    record: dict[str, Any] = {
        "id": instruction.instruction_id,
        "task": instruction.task,
        "benchmark": instruction.benchmark,
        "instruction": instruction.text,
    }
    if sharded is not None:
        record["shards"] = [
            {"shard_id": shard.shard_id, "shard": shard.text}
            | ({"doc_idxs": list(shard.documents)} if shard.documents else {})
            for shard in sharded.shards
        ]
        record["provenance"] = sharded.provenance
    for part in ("context", "reference", "metadata"):
        if value := dict(getattr(instruction, part)):
            record[part] = value
    return record


def _part(record: Mapping[str, Json], part: str, task: str) -> dict[str, Json]:
    if part not in record and part != "reference":
        return {}
    value = record.get(part)
    if task == "math" and part == "reference" and isinstance(value, str | int | float) and not isinstance(value, bool):
        return {"answer": str(value)}
    return need_object(record, part)


def _format(parts: Mapping[str, Mapping[str, Json]]) -> str:
    form = need_text(parts["reference"], "format", label="reference.format")
    if form not in _CODE_NEEDS:
        raise RecordError(f"{form!r} is none of {', '.join(_CODE_NEEDS)}", field="reference.format")
    return form


def _with_rows(reference: dict[str, Json], base: Path) -> dict[str, Json]:
    if "databases" not in reference:
        need_text(reference, "schema", label="reference.schema")
        return reference
    paths = []
    for named in need_list(reference, "databases", label="reference.databases"):
        path = base / named if isinstance(named, str) else None
        if path is None or not path.is_file():
            raise RecordError(f"{named!r} is no file", field="reference.databases")
        paths.append(str(path.resolve()))
    return {**reference, "databases": paths}


def _sharded(record: Mapping[str, Json], instruction: Instruction) -> ShardedInstruction | None:
    if record.get("shards") is None:
        return None
    provenance: Provenance = record.get("provenance", "authored")
    if provenance not in get_args(Provenance):
        raise RecordError(f"{provenance!r} is none of {', '.join(get_args(Provenance))}", field="provenance")
    return ShardedInstruction(
        instruction_id=instruction.instruction_id,
        task=instruction.task,
        shards=shards_for(record, instruction),
        provenance=provenance,
    )
