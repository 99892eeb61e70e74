"""The verdict on an extraction, and the cache that keeps a costly candidate from running twice."""

from __future__ import annotations

from typing import Protocol

from lic_pipeline.models.request import canonical_json, digest
from lic_pipeline.records import Extraction, Instruction, Json, Policy, Rung, Verdict
from lic_pipeline.tasks.protocol import Task

_MOST_HASHES = 4096
_reference_hashes: dict[int, tuple[Instruction, str]] = {}


class VerdictStore(Protocol):
    """The cache of costly verdicts."""

    def verdict(self, key: str) -> dict[str, Json] | None:
        """A stored verdict."""

    def store_verdict(self, key: str, value: dict[str, Json]) -> None:
        """Store one."""


def verdict_key(task: Task, instruction: Instruction, answer: str, policy: Policy) -> str:
    """Cache key: scorer, its version, policy, candidate, and what it is scored against."""
    against = reference_hash(instruction)
    return digest("\x1f".join((task.name, str(task.scorer_version), policy, against, answer)))


def judge_stamp(task: Task, instruction: Instruction) -> str:
    """What a judgement of a reply depends on beside the reply: the scorer and the reference."""
    return f"{task.scorer_version}:{reference_hash(instruction)[:16]}"


def reference_hash(instruction: Instruction) -> str:
    """Hash of an instruction's reference. Kept by object: the tests of one program can be megabytes."""
    key = id(instruction)
    found = _reference_hashes.get(key)
    if found is None or found[0] is not instruction:
        if len(_reference_hashes) >= _MOST_HASHES:
            _reference_hashes.clear()
        found = _reference_hashes[key] = (instruction, digest(canonical_json(dict(instruction.reference))))
    return found[1]


def no_answer(found: Extraction) -> Verdict:
    """The verdict on an extraction without an answer: a score of 0, named as what it is."""
    return Verdict(score=0.0, verdict="ambiguous" if found.rung is Rung.AMBIGUOUS else "no_answer")


def verdict_of(task: Task, instruction: Instruction, found: Extraction, policy: Policy, store: VerdictStore) -> Verdict:
    """The verdict on an extraction. A verdict with an error says nothing about the answer and is never cached."""
    if found.answer is None:
        return no_answer(found)
    if not task.costly:
        return task.score(found.answer, instruction, policy)
    key = verdict_key(task, instruction, found.answer, policy)
    stored = store.verdict(key)
    if stored is not None:
        return Verdict.model_validate(stored)
    verdict = task.score(found.answer, instruction, policy)
    if verdict.error is None:
        store.store_verdict(key, verdict.model_dump(mode="json"))
    return verdict
