"""Which instructions a task has, and whose shards they carry: benchmark files, imported records, our sidecar.

Reading only. Shards that our own pipeline generates or people review are joined by later stages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lic_pipeline.benchmarks import summhay_text, totto_text
from lic_pipeline.benchmarks.fields import need_text
from lic_pipeline.benchmarks.rawfiles import Collector, Row
from lic_pipeline.benchmarks.registry import READERS, benchmarks_of, locate, read_source, samples_folder
from lic_pipeline.benchmarks.spider_databases import Databases
from lic_pipeline.config import Home
from lic_pipeline.errors import InputError, RecordError
from lic_pipeline.records import Instruction, RecordProblem, Shard, ShardedInstruction
from lic_pipeline.sharding.plain import parse_plain
from lic_pipeline.sharding.release_store import StoredRecord, stored_records
from lic_pipeline.sharding.released import Interpreted, Joins, interpret, task_of
from lic_pipeline.sharding.shardlists import shards_for

SIDECAR = "shards.jsonl"


@dataclass(frozen=True)
class ShardSet:
    """Shards by instruction id, and what is wrong; an instruction nobody sharded is the problem ``no_shards``."""

    sharded: Mapping[str, ShardedInstruction]
    problems: tuple[RecordProblem, ...]


def all_instructions(task: str, home: Home | None = None) -> tuple[list[Instruction], list[RecordProblem]]:
    """Every instruction of a task: the benchmark rows, then imported ones that no row stands for; and the problems.

    A row wins over an imported copy of it. An imported record that asks something else under the id of a row is kept
    as ``released/<id>`` (see ``released``). Raises InputError when no copy of a benchmark can be found.
    """
    found, problems = _rows(task)
    known = {instruction.instruction_id for instruction in found}
    for item in interpreted(stored_records(home), [task], found):
        if item.instruction is None:
            problems.append(_problem(item))
        elif item.instruction.instruction_id not in known:
            known.add(item.instruction.instruction_id)
            found.append(item.instruction)
    return found, problems


def sharded_for(instructions: Sequence[Instruction], home: Home | None = None) -> ShardSet:
    """Shards of these instructions: imported ones (the latest wins), for our own samples the sidecar's.

    Samples of data2text and summary without a sidecar line are cut by the rules of their texts.
    """
    wanted = {instruction.instruction_id: instruction for instruction in instructions}
    tasks = sorted({instruction.task for instruction in instructions})
    authored, problems = _authored([instruction for instruction in instructions if instruction.source == "embedded"])
    imported = {
        item.sharded.instruction_id: item.sharded
        for item in interpreted(stored_records(home), tasks)
        if item.sharded is not None and item.sharded.instruction_id in wanted
    }
    found = {**authored, **imported}
    problems += [_no_shards(instruction) for name, instruction in wanted.items() if name not in found]
    return ShardSet({name: found[name] for name in wanted if name in found}, tuple(problems))


def interpreted(
    records: Iterable[StoredRecord], tasks: Sequence[str] | None = None, rows: Iterable[Instruction] | None = None
) -> list[Interpreted]:
    """What each stored record of these tasks (None = all) is, given all their benchmark rows (None = read them now)."""
    records = [record for record in records if tasks is None or _task(record) in tasks]
    if not records:
        return []
    if rows is None:
        rows = [row for task in sorted({_task(record) for record in records}) for row in _rows_or_none(task)]
    joins = Joins({row.instruction_id: row for row in rows}, Databases(_spider_folder()))
    return [
        interpret(record.record, joins) if record.form == "released" else _plain(record, joins) for record in records
    ]


def _plain(record: StoredRecord, joins: Joins) -> Interpreted:
    name = str(record.record.get("id", ""))
    try:
        instruction, sharded = parse_plain(record.record, Path(record.base), record.task)
    except RecordError as error:
        return Interpreted(name, _task(record), "unusable", error.reason, error.field or "")
    row = joins.instructions.get(instruction.instruction_id)
    if row is not None and (row.text, row.task) != (instruction.text, instruction.task):
        own = {"instruction_id": f"released/{instruction.instruction_id}"}
        instruction = instruction.model_copy(update=own)
        sharded = sharded.model_copy(update=own) if sharded else None
    return Interpreted(name, instruction.task, "usable", instruction=instruction, sharded=sharded)


def _task(record: StoredRecord) -> str:
    return task_of(record.record) or record.task or ""


def _rows(task: str) -> tuple[list[Instruction], list[RecordProblem]]:
    found: list[Instruction] = []
    problems: list[RecordProblem] = []
    for benchmark in benchmarks_of(task):
        reading = read_source(locate(benchmark))
        found += reading.instructions
        folder = READERS[benchmark].folder
        problems += [item.model_copy(update={"file": _placed(folder, item.file)}) for item in reading.problems]
    return found, problems


def _rows_or_none(task: str) -> list[Instruction]:
    try:
        return _rows(task)[0]
    except InputError:  # a record can be usable without any copy of its benchmark
        return []


def _spider_folder() -> Path | None:
    try:
        return locate("spider").folder
    except InputError:
        return None


def _authored(
    samples: Sequence[Instruction],
) -> tuple[dict[str, ShardedInstruction], list[RecordProblem]]:
    if not samples:
        return {}, []
    by_id = {sample.instruction_id: sample for sample in samples}
    collector = Collector(samples_folder())
    found: dict[str, ShardedInstruction] = {}
    for path in collector.find(SIDECAR):
        for row in collector.lines(path):
            _sidecar_line(collector, row, by_id, found)
    for sample in samples:
        if sample.instruction_id not in found and (shards := _by_rule(sample)):
            found[sample.instruction_id] = _by_us(sample, shards)
    return found, collector.problems


def _sidecar_line(
    collector: Collector, row: Row, samples: Mapping[str, Instruction], found: dict[str, ShardedInstruction]
) -> None:
    try:
        name = need_text(row.value, "instruction_id")
        if name in found:
            raise RecordError("stands twice; the first line is used", field="instruction_id")
        if name in samples:
            found[name] = _by_us(samples[name], shards_for(row.value, samples[name]))
    except RecordError as error:
        name = str(row.value.get("instruction_id", ""))
        collector.reject(row, error.reason, field=error.field or "", record_id=name)


def _by_rule(sample: Instruction) -> tuple[Shard, ...]:
    rules: dict[str, Callable[[], tuple[Shard, ...]]] = {
        "data2text": lambda: totto_text.build_shards(sample.metadata),
        "summary": lambda: summhay_text.build_shards(
            sample.context["documents"], sample.context["topic"], sample.context["query"]
        ),
    }
    return rules[sample.task]() if sample.task in rules else ()


def _by_us(sample: Instruction, shards: tuple[Shard, ...]) -> ShardedInstruction:
    return ShardedInstruction(
        instruction_id=sample.instruction_id, task=sample.task, shards=shards, provenance="authored"
    )


def _no_shards(instruction: Instruction) -> RecordProblem:
    metadata = instruction.metadata
    return RecordProblem(
        file=_placed(instruction.benchmark, str(metadata.get("file", ""))) if metadata.get("file") else "",
        line=int(metadata.get("line", 0)),
        record_id=instruction.instruction_id,
        reason="no_shards",
    )


def _problem(item: Interpreted) -> RecordProblem:
    return RecordProblem(file="imported records", record_id=item.record_id, field=item.field, reason=item.reason)


def _placed(folder: str, file: str) -> str:
    return file if file == folder else f"{folder}/{file}"
