"""The judging stage: summaries of finished conversations are put before a judge that is a model.

Every question is a conversation of its own in the ledger (claimed, called, finished), known by its content: a rerun, a
second process or an identical summary pays for nothing. Verdicts go into the ledger's cache, where scoring reads them.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lic_pipeline.errors import BudgetReachedError, LicError, ProviderStoppedError
from lic_pipeline.models.access import ModelAccess
from lic_pipeline.models.budget import Budget, require_countable
from lic_pipeline.models.errors import BudgetError, CallError
from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.ledger.records import DONE, OPEN
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.records import Conversation, Instruction, Json, Policy
from lic_pipeline.simulation.experiment import Experiment
from lic_pipeline.simulation.journal import Journal
from lic_pipeline.simulation.outcome import Progress
from lic_pipeline.simulation.parameters import PER_CONVERSATION, judge_of, seed_from, system_parameters
from lic_pipeline.simulation.progress import tell
from lic_pipeline.simulation.roles.ask import RoleModel
from lic_pipeline.simulation.roles.judge import LLMJudge, judge_identity
from lic_pipeline.simulation.signals import interruptible
from lic_pipeline.tasks.protocol import Task
from lic_pipeline.tasks.summary.stored import Collector, Question, StoredJudge
from lic_pipeline.tasks.summary.task import Summary

JUDGED, UNUSABLE = "judged", "unusable"
POLICIES: tuple[Policy, ...] = ("robust", "reference")
POLL_SECONDS = 0.25
Row = dict[str, Any]


def judged_task(task: Task, experiment: Experiment, ledger: Ledger) -> Task:
    """The task as it scores in this experiment: a summary by the verdicts its judge has given."""
    entry = judge_of(experiment, task.name)
    if entry is None:
        return task

    def find(key: str) -> Json | None:
        stored = ledger.verdict(key)
        return None if stored is None else stored["verdicts"]

    return Summary(StoredJudge(entry.alias, judge_identity(entry), find))


@dataclass
class Judging:
    """``rows`` of the table ``judgements``, a summary and policy each; ``calls`` made; ``states`` of the rows."""

    rows: list[Row] = field(default_factory=list)
    calls: int = 0

    @property
    def states(self) -> Counter[str]:
        """How many rows stand in which state."""
        return Counter(row["state"] for row in self.rows)


def judge(
    experiment: Experiment,
    entry: ModelEntry,
    ledger: Ledger,
    manifest: Iterable[Mapping[str, Any]],
    instructions: Mapping[str, Instruction],
    conversations: Iterable[Conversation],
    *,
    budget: Budget | None = None,
) -> Judging:
    """Put the last reply of every finished conversation before the judge, unless that was done before.

    Raises BudgetReachedError, ProviderStoppedError, InterruptedRunError, StorageError; what was paid for is stored and
    a rerun goes on from there.
    """
    budget = budget or Budget(f"experiment:{experiment.name}")
    require_countable(budget, [entry])
    planned = {row["conversation_id"]: row for row in manifest}
    run = _Run(entry, ledger, Progress(f"judging by {entry.alias}", len(planned)))
    asked = _asked(planned, instructions, conversations, run.identity)
    found = asyncio.run(interruptible(run.work(asked, budget)))
    order = {name: place for place, name in enumerate(planned)}
    found.rows.sort(key=lambda row: (order[row["conversation_id"]], POLICIES.index(row["policy"])))
    return found


def questions_of(conversation: Conversation, instruction: Instruction) -> Iterator[tuple[Policy, Question]]:
    """What a judge has to be asked about the last reply, by policy; nothing where no judge is needed."""
    if conversation.state != DONE or not conversation.turns:
        return
    for policy in POLICIES:
        collector = Collector()
        task = Summary(collector)
        answer = task.extract(conversation.turns[-1].reply, instruction, policy).answer
        if answer is not None:
            task.score(answer, instruction, policy)
            yield from ((policy, question) for question in collector.questions)


def still_to_ask(
    entry: ModelEntry, ledger: Ledger, instructions: Mapping[str, Instruction], conversations: Iterable[Conversation]
) -> Counter[str]:
    """Questions the judge was never asked, by the first conversation that raises them. Calls nothing."""
    identity = judge_identity(entry)
    raised: dict[str, str] = {}
    for conversation in conversations:
        for _, question in questions_of(conversation, instructions[conversation.instruction_id]):
            raised.setdefault(question.key(identity), conversation.conversation_id)
    states = ledger.states(list(raised))
    answered = (DONE, f"error:{UNUSABLE}")
    return Counter(name for key, name in raised.items() if states.get(key) not in answered)


Asked = tuple[Row, Question]


def _asked(
    planned: Mapping[str, Mapping[str, Any]],
    instructions: Mapping[str, Instruction],
    conversations: Iterable[Conversation],
    identity: str,
) -> Iterator[list[Asked]]:
    """The questions of each conversation with the row they will make."""
    copied = ("experiment", "conversation_id", "task", "model", "setting", "instruction_id", "run")
    for conversation in conversations:
        head = {name: planned[conversation.conversation_id][name] for name in copied}
        instruction = instructions[conversation.instruction_id]
        yield [
            (
                {**head, "turn": conversation.turns[-1].turn, "policy": policy, "judgement_id": question.key(identity)},
                question,
            )
            for policy, question in questions_of(conversation, instruction)
        ]


class _Run:
    """One judge at work on one event loop."""

    def __init__(self, entry: ModelEntry, ledger: Ledger, progress: Progress) -> None:
        self.entry = entry
        self.identity = judge_identity(entry)
        self._ledger = ledger
        self._progress = progress
        self._found = Judging()
        self._fatal: LicError | None = None
        self._scope: str | None = None
        self._under_way: dict[str, asyncio.Lock] = {}

    async def work(self, asked: Iterator[list[Asked]], budget: Budget) -> Judging:
        access = ModelAccess(self._ledger, budget)
        self._scope = budget.scope
        try:
            path = await access.path(self.entry)
            parameters = system_parameters(self.entry)
            seed_of = _seed_of if parameters.get("seed") == PER_CONVERSATION else None
            model = LLMJudge(RoleModel("judge", path, parameters, seed_of))
            workers = [asyncio.ensure_future(self._worker(asked, model)) for _ in range(self.entry.limits.concurrency)]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
                await self._ledger.flush()
        finally:
            await access.close()
        if self._fatal is not None:
            raise self._fatal
        return self._found

    async def _worker(self, asked: Iterator[list[Asked]], model: LLMJudge) -> None:
        for questions in asked:
            for row, question in questions:
                if self._fatal is not None:
                    return
                state, verdicts = await self._settle(row["judgement_id"], question, model)
                self._found.rows.append({**row, "judge": self.entry.alias, "state": state, **_counts(verdicts)})
            self._progress.finished += 1
            tell(self._progress)

    async def _settle(self, key: str, question: Question, model: LLMJudge) -> tuple[str, list[Json] | None]:
        """The state of a question, and its verdicts once it is judged. Equal questions wait for one another."""
        async with self._under_way.setdefault(key, asyncio.Lock()):
            while True:
                stored = self._ledger.verdict(key)
                if stored is not None:
                    return JUDGED, stored["verdicts"]
                if self._ledger.states([key]).get(key) == f"error:{UNUSABLE}":
                    return UNUSABLE, None
                won = await self._ledger.claim([key])
                if key in won.ids:
                    stored_calls = None if key in won.new else self._ledger.load([key]).get(key)
                    return await self._ask(question, Journal(self._ledger, key, stored_calls, self._scope), model)
                # Done but without a verdict in the cache (it was lost): its calls are stored, reading them costs none.
                if self._ledger.states([key]).get(key) != OPEN:
                    self._ledger.reopen([key], error_only=False)
                else:
                    await asyncio.sleep(POLL_SECONDS)

    async def _ask(self, question: Question, journal: Journal, model: LLMJudge) -> tuple[str, list[Json] | None]:
        key = journal.conversation_id
        try:
            verdicts = await model.ask(question, journal)
        except BudgetError as error:
            return self._stop(key, "budget", BudgetReachedError(str(error)))
        except CallError as error:
            if error.stops_run:
                return self._stop(key, f"error:{error.kind}", ProviderStoppedError(str(error)))
            self._ledger.release([key])
            return f"error:{error.kind}", None
        finally:
            self._found.calls += journal.calls_made
            self._progress.calls += journal.calls_made
            self._progress.cost_usd += journal.cost_usd
        if verdicts is None:
            self._ledger.finish(key, f"error:{UNUSABLE}", None)
            return UNUSABLE, None
        self._ledger.store_verdict(key, {"judge": self.entry.alias, "verdicts": verdicts})
        self._ledger.finish(key, DONE, None)
        return JUDGED, verdicts

    def _stop(self, key: str, state: str, error: LicError) -> tuple[str, None]:
        self._fatal = self._fatal or error
        self._ledger.release([key])
        return state, None


def _seed_of(judgement_id: str) -> int:
    """A question is no part of one conversation: its own content stands for it."""
    return seed_from("judge", judgement_id)


def _counts(verdicts: list[Json] | None) -> dict[str, int | None]:
    if verdicts is None:
        return dict.fromkeys(("full", "partial", "none"))
    counted = Counter(verdict["coverage"] for verdict in verdicts)
    return {name: counted[name] for name in ("full", "partial", "none")}
