"""Grading inside the loop: the gate, the extraction ladder, the verdict; costly verdicts are cached by content."""

from __future__ import annotations

import asyncio
from concurrent.futures import Executor

from lic_pipeline.records import Attempt, Extraction, Instruction, Reply, Strategy, Verdict
from lic_pipeline.scoring.verdicts import VerdictStore, no_answer, verdict_key, verdict_of
from lic_pipeline.simulation.call_store import CallStore
from lic_pipeline.simulation.roles.scripted import Roles
from lic_pipeline.tasks.protocol import Task


class Grader:
    """Scores answers of one task. Costly ones run in ``executor``, each distinct candidate once."""

    def __init__(self, task: Task, roles: Roles, store: VerdictStore, executor: Executor | None = None) -> None:
        self.task = task
        self._roles = roles
        self._store = store
        self._executor = executor
        self._running: dict[str, asyncio.Task[Verdict]] = {}

    async def attempt(
        self, instruction: Instruction, reply: Reply, strategy: Strategy, turn: int, call_store: CallStore
    ) -> Attempt | None:
        """The graded attempt a reply makes, None when the gate holds it back.

        The gate is the same in every setting: labelled ``answer_attempt``, or a strict rung yields an answer and the
        label is not ``hedging`` (measurement: gate).
        """
        if strategy is Strategy.MISSING:
            return None
        found = self.task.extract(reply, instruction)
        version = self.task.scorer_version
        if self.task.kind == "refinement":
            return Attempt(extraction=found, verdict=None, gate="always", scorer_version=version)
        labelled = strategy is Strategy.ANSWER_ATTEMPT
        strict = found.strict and found.answer is not None
        if not labelled and (not strict or strategy is Strategy.HEDGING):
            return None
        if not strict:
            found = await self._roles.extractor.extract(self.task, instruction, reply, found, turn, call_store)
        verdict = await self.verdict(instruction, found)
        gate = "labelled" if labelled else "ungated"
        return Attempt(extraction=found, verdict=verdict, gate=gate, scorer_version=version)

    async def verdict(self, instruction: Instruction, found: Extraction) -> Verdict:
        """The robust verdict on an extraction; no answer is a score of 0 with its verdict."""
        if found.answer is None:
            return no_answer(found)
        if not self.task.costly:
            return self.task.score(found.answer, instruction)
        key = verdict_key(self.task, instruction, found.answer, "robust")
        stored = self._store.verdict(key)
        if stored is not None:
            return Verdict.model_validate(stored)
        if key not in self._running:
            self._running[key] = asyncio.ensure_future(self._score_away(instruction, found))
            self._running[key].add_done_callback(lambda _: self._running.pop(key, None))
        # Shielded: a cancelled conversation must not take the verdict from another that waits for it.
        return await asyncio.shield(self._running[key])

    async def _score_away(self, instruction: Instruction, found: Extraction) -> Verdict:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._executor, verdict_of, self.task, instruction, found, "robust", self._store
        )
