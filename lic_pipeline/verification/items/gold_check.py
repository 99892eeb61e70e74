"""The gate of instructions: well formed, unique, gold scores 100, and able to tell right from wrong.

Nothing is dropped: each instruction becomes a row with a status. Scoring golds leaves the process for some tasks, so
the work is spread over threads and verdicts come from the ledger's cache on a second look.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lic_pipeline.errors import RecordError
from lic_pipeline.models.request import canonical_json, digest
from lic_pipeline.records import Instruction, Reply
from lic_pipeline.scoring.verdicts import VerdictStore, verdict_of
from lic_pipeline.tables.items import OK
from lic_pipeline.tasks.protocol import Task

THREADS = 4


def gated_instructions(task: Task, instructions: Iterable[Instruction], store: VerdictStore) -> list[dict[str, Any]]:
    """Rows of ``instructions``, ordered by id; reasons: invalid, gold, or the task's own (discrimination)."""
    unique = {instruction.instruction_id: instruction for instruction in instructions}
    listed = [unique[name] for name in sorted(unique)]
    with ThreadPoolExecutor(THREADS, thread_name_prefix="lic-gold") as executor:
        return list(executor.map(lambda one: _row(task, one, store), listed))


def instruction_of(row: Mapping[str, Any]) -> Instruction:
    """The instruction of a stored row."""
    names = ("instruction_id", "task", "benchmark", "source", "text")
    parsed = {name: json.loads(row[name]) for name in ("context", "reference", "metadata")}
    return Instruction(**{name: row[name] for name in names}, **parsed)


def _row(task: Task, instruction: Instruction, store: VerdictStore) -> dict[str, Any]:
    gold_score, status = _gate(task, instruction, store)
    return {
        "instruction_id": instruction.instruction_id,
        "task": instruction.task,
        "benchmark": instruction.benchmark,
        "source": instruction.source,
        "text": instruction.text,
        "context": canonical_json(dict(instruction.context)),
        "reference": canonical_json(dict(instruction.reference)),
        "metadata": canonical_json(dict(instruction.metadata)),
        "gold_score": gold_score,
        "status": status,
    }


def _gate(task: Task, instruction: Instruction, store: VerdictStore) -> tuple[float | None, str]:
    try:
        task.check(instruction)
        gold = task.gold(instruction)
    except RecordError as error:
        return None, f"quarantined:invalid {error}"
    if gold is None:
        return None, OK
    found = task.extract(Reply(text=gold), instruction)
    verdict = verdict_of(task, instruction, found, "robust", store)
    if verdict.score != 100.0:
        why = verdict.error or verdict.verdict
        return verdict.score, f"quarantined:gold does not score 100 ({why})"
    reason = _own_reason(task, instruction, store)
    return 100.0, OK if reason is None else f"quarantined:{reason}"


def _own_reason(task: Task, instruction: Instruction, store: VerdictStore) -> str | None:
    """The task's own reason against an item (database: discrimination), looked up once per item and scorer."""
    discriminate = getattr(task, "discrimination", None)
    if discriminate is None:
        return None
    against = canonical_json([task.name, task.scorer_version, dict(instruction.reference)])
    key = "discrimination-" + digest(against)
    stored = store.verdict(key)
    if stored is None:
        stored = {"reason": discriminate(instruction)}
        store.store_verdict(key, stored)
    reason: str | None = stored["reason"]
    return reason
