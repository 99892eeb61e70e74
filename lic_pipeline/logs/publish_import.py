"""The manifests of an import, and its tables in the lake: scores, attempts, one row per log conversation.

A file is written only when its content changes. Partitions an earlier import left under the same name are removed.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.lake.tables import partition_path, read_partition, write_partition
from lic_pipeline.logs.log_signature import log_signature
from lic_pipeline.logs.outcome import Entry, Imported
from lic_pipeline.logs.rescoring import ROUNDING, rescore
from lic_pipeline.logs.tables import IMPORTED_LOGS, partition_of
from lic_pipeline.records import Conversation, Instruction
from lic_pipeline.scoring.conversation_scores import ScoredTurn
from lic_pipeline.scoring.score_manifest import score_manifest
from lic_pipeline.scoring.verdicts import VerdictStore
from lic_pipeline.tables import TableSpec
from lic_pipeline.tables.runs import EXTRACTED_ANSWERS, MANIFESTS
from lic_pipeline.tables.scores import SCORES
from lic_pipeline.tasks.protocol import Task
from lic_pipeline.tasks.registry import get_task

Row = dict[str, Any]
PER_PARTITION = (MANIFESTS, EXTRACTED_ANSWERS, SCORES, IMPORTED_LOGS)


def publish_import(lake: Path, imported: Imported, experiment: str, store: VerdictStore) -> Iterator[list[Row]]:
    """Write manifests, scores and rows of an import; yields the ``imported_logs`` rows partition by partition.

    Raises StorageError.
    """
    _drop_others(lake, experiment, imported.partitions)
    for (task_name, model), entries in sorted(imported.partitions.items()):
        task = get_task(task_name)
        partition = partition_of(experiment, task_name, model)
        manifest = _manifest(experiment, task, model, entries, imported.n_shards)
        instructions = {e.instruction_id: imported.instructions[task_name, e.instruction_id] for e in entries}
        conversations = _stored(lake, task_name, model, entries)
        found, scored, rows = _scored(task, manifest, entries, instructions, conversations, store)
        tables = zip(PER_PARTITION, (manifest, found, scored, rows), strict=True)
        for spec, content in tables:
            write_changed(lake, spec, partition, content)
        yield rows


def write_changed(lake: Path, spec: TableSpec, partition: Mapping[str, str], rows: Sequence[Row]) -> None:
    """Replace one partition of a table unless it holds exactly these rows. Raises StorageError."""
    if read_partition(lake, spec, partition) != spec.arrow_table(rows).to_pylist():
        write_partition(lake, spec, partition, rows)


def _manifest(
    experiment: str, task: Task, model: str, entries: Sequence[Entry], n_shards: Mapping[str, int]
) -> list[Row]:
    cells: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        cells[entry.setting, entry.condition].append(entry)
    signatures = {cell: log_signature(task, model, cell[0], group) for cell, group in cells.items()}
    return [
        {
            "experiment": experiment,
            "task": task.name,
            "model": model,
            "setting": entry.setting,
            "condition": entry.condition,
            "instruction_id": entry.instruction_id,
            "run": entry.run,
            "conversation_id": entry.conversation_id,
            "parent_id": None,
            "n_shards": max(1, n_shards.get(entry.instruction_id, 1)),
            "approval": "released",
            "signature": signatures[entry.setting, entry.condition],
        }
        for entry in entries
    ]


def _stored(lake: Path, task: str, model: str, entries: Sequence[Entry]) -> Iterator[Conversation]:
    """The conversations, numbered as this import numbers runs: another import may have met them in another order."""
    runs = {entry.conversation_id: entry.run for entry in entries}
    for conversation in ConversationStore(lake, task, model).read(runs):
        run = runs[conversation.conversation_id]
        yield conversation if conversation.run == run else conversation.model_copy(update={"run": run})


def _scored(
    task: Task,
    manifest: Sequence[Row],
    entries: Sequence[Entry],
    instructions: Mapping[str, Instruction],
    conversations: Iterable[Conversation],
    store: VerdictStore,
) -> tuple[list[Row], list[Row], list[Row]]:
    steps: dict[str, Row] = {}

    def turns(one: Task, instruction: Instruction, held: Conversation, cache: VerdictStore) -> list[ScoredTurn]:
        scored, steps[held.conversation_id] = rescore(one, instruction, held, cache)
        return scored

    found, scores = score_manifest(task, manifest, instructions, conversations, store, turns)
    by_id = {row["conversation_id"]: row for row in scores}
    rows = [_row(entry, by_id[entry.conversation_id], steps[entry.conversation_id]) for entry in entries]
    return found, scores, rows


_COPIED = ("experiment", "task", "model", "signature", "missing_reason", "score_cumulative")


def _row(entry: Entry, score: Row, steps: Row) -> Row:
    reasons = list(steps["reasons"])
    last = steps["recorded_last"]
    if entry.recorded is not None and (last is None or abs(entry.recorded - last) > ROUNDING):
        reasons.insert(0, "recorded_final")
    if score["missing_reason"]:
        reasons.append(f"missing:{score['missing_reason']}")
    return {
        **asdict(entry),
        **{name: score[name] for name in _COPIED},
        **steps,
        "robust": score["score"],
        "moves": json.dumps(steps["moves"], sort_keys=True),
        "reasons": json.dumps(reasons),
    }


def _drop_others(lake: Path, experiment: str, partitions: Iterable[tuple[str, str]]) -> None:
    for spec in PER_PARTITION:
        kept = {partition_path(lake, spec.name, partition_of(experiment, *key)) for key in partitions}
        folder = partition_path(lake, spec.name, {"experiment": experiment}).parent
        for path in set(folder.glob("task=*/model=*/*.parquet")) - kept:
            path.unlink(missing_ok=True)
