"""The engine: carries out one plan on one event loop, resumable at any moment (architecture: engine and ledger).

A bounded producer claims families of conversations and feeds a fixed number of workers; every reply is durable before
its conversation goes on; finished conversations go through the sink. A rerun makes only the calls that are missing.
Where one process is not enough, worker processes work through the same plan (``workers``).
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path

from lic_pipeline.errors import StorageError
from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.models.budget import Budget
from lic_pipeline.models.calling.open_files import calls_in_reach
from lic_pipeline.models.keys import require_keys
from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.ledger.records import ClaimLostError, StoredConversation
from lic_pipeline.simulation.conversation.assistants import Assistant, open_assistant
from lic_pipeline.simulation.conversation.grading import Grader
from lic_pipeline.simulation.conversation.loop import ConversationSetup
from lic_pipeline.simulation.engine.conversation_writer import ConversationWriter
from lic_pipeline.simulation.engine.family_order import longest_of_the_last_first
from lic_pipeline.simulation.engine.family_runner import FamilyRunner
from lic_pipeline.simulation.engine.garbage_collection import rare_garbage_collection
from lic_pipeline.simulation.engine.interrupts import interruptible
from lic_pipeline.simulation.engine.outcome import Outcome, Progress, Tally
from lic_pipeline.simulation.engine.progress_listeners import notify
from lic_pipeline.simulation.engine.scoring_threads import ScoringThreads
from lic_pipeline.simulation.engine.workers.worker_processes import WorkerProcesses
from lic_pipeline.simulation.plan.call_parameters import assistant_parameters, role_models
from lic_pipeline.simulation.plan.conversation_plan import Family, Plan
from lic_pipeline.simulation.resume.pending_conversations import PendingConversations

CLAIM_BATCH = 256
CLAIMED_AT_ONCE = CLAIM_BATCH // 2
SCORING_THREADS = 4
POLL_SECONDS = 0.25
SPARE = 2
"""One conversation more for every so many connections: they call while others wait for a reply to be durable."""

Entry = tuple[Family, Mapping[str, StoredConversation]]
"""A claimed family with what the ledger holds of it."""

logger = logging.getLogger("lic")


def run(
    plan: Plan,
    ledger: Ledger,
    lake: Path,
    *,
    max_connections: int | None = None,
    budget: Budget | None = None,
    processes: int = 1,
    stopped: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Hold every planned conversation that is not yet held; returns when all are finished, failed or held elsewhere.

    ``budget`` caps what all roles spend; without one, spending is still counted under the experiment's name.
    ``processes`` share ``max_connections`` and the plan, as far as there is work for more than one. Once ``stopped``
    says so nothing new is begun.

    Raises ConfigError (a role without model or key) before anything is called;
    InterruptedRunError (SIGINT, SIGTERM), DriftError, ProviderStoppedError, BudgetReachedError, StorageError;
    in every case what was paid for is stored and a rerun goes on from there.
    """
    if plan.skipped is not None:
        return Outcome(0, 0, 0, 0, skipped=plan.skipped)
    pending = PendingConversations(plan, ledger, ConversationStore(lake, plan.task.name, plan.model.alias))
    if not pending.todo:
        return Outcome(pending.total, len(pending.settled) - pending.failed.total(), 0, 0, pending.failed)
    if pending.unknown_to_ledger:
        raise StorageError(
            f"{pending.unknown_to_ledger} finished conversations of {plan.task.name} x {plan.model.alias} are in the "
            f"lake, but ledger {ledger.place} does not know them; calling again would pay again. Put the old ledger "
            "back, or run `lic ledger rebuild`, or move the lake away to hold them anew"
        )
    # Before any process is started or anything is held: a key may be missing for a role that speaks late.
    calling = [plan.model, *role_models(plan.experiment, plan.model)]
    require_keys(calling)
    pending.reopen_pending()
    connections = max_connections or plan.model.limits.concurrency
    size = min(processes, connections, -(-len(pending.todo) // CLAIMED_AT_ONCE))
    workers = WorkerProcesses.of(plan, ledger, lake, connections, budget, size)
    share = calls_in_reach(min(workers.own_share, len(pending.todo)), calling)
    engine = Engine(pending, share, budget, lambda: workers.fatal is not None or stopped())
    with rare_garbage_collection(), workers.running(engine.tally.progress):
        asyncio.run(interruptible(engine.run()))
    if workers.fatal is not None:
        raise workers.fatal
    return engine.outcome()


class Engine:
    """One process's run over the work of one plan."""

    def __init__(
        self,
        pending: PendingConversations,
        connections: int,
        budget: Budget | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.pending = pending
        self.plan = pending.plan
        self.connections = connections
        self.conversations = connections + connections // SPARE
        label = f"{pending.plan.task.name} x {pending.plan.model.alias}"
        self.tally = Tally(Progress(label, pending.total, already=len(pending.settled)))
        self.writer = ConversationWriter(pending.store, pending.ledger)
        self.elsewhere: list[Family] = []
        self._budget = budget
        self._stopped = stopped

    @property
    def over(self) -> bool:
        """True once nothing new may be begun."""
        return self.tally.fatal is not None or self._stopped()

    def outcome(self) -> Outcome:
        """What the run came to, all its processes together."""
        pending, everyone = self.pending, self.tally.progress.overall
        by_others = everyone.finished - self.tally.progress.finished
        already = len(pending.settled) - pending.failed.total() - by_others
        missing = Counter(pending.failed) + self.tally.missing
        return Outcome(pending.total, already, everyone.finished, everyone.calls, missing)

    async def run(self) -> None:
        """Do all work; raises the first fatal error after everything finished is stored."""
        executor = ScoringThreads(SCORING_THREADS)
        try:
            assistant = await open_assistant(self.plan, self.pending.ledger, executor, self._budget, self.connections)
            try:
                await self._run_pending(assistant, executor)
            finally:
                try:
                    await self.writer.flush()
                    await self.pending.ledger.flush()
                finally:
                    await assistant.close()
        finally:
            # Not waited for: an interrupted run ends now, a verdict nobody waits for is worth nothing.
            executor.shutdown(wait=False, cancel_futures=True)
        if self.tally.fatal is not None:
            raise self.tally.fatal

    async def _run_pending(self, assistant: Assistant, executor: Executor) -> None:
        roles = assistant.roles
        grader = Grader(self.plan.task, roles, self.pending.ledger, executor)
        parameters = assistant_parameters(self.plan.experiment, self.plan.model)
        setup = ConversationSetup(
            self.plan.task, self.plan.experiment, self.plan.model.id, parameters, roles, grader, assistant.reply
        )
        runner = FamilyRunner(self.pending, setup, self.writer, self.tally, assistant.budget_scope)
        families = self._askable(assistant)
        await self._pass_over(longest_of_the_last_first(families, self.connections), runner)
        while self.elsewhere and not self.over:
            waiting, self.elsewhere = self.elsewhere, []
            # Others may wait for what stands in our buffer: two processes must not wait for each other.
            await self.writer.flush()
            await asyncio.sleep(POLL_SECONDS)
            await self._pass_over(self._still_open(waiting), runner)
            self.tally.progress.elsewhere = len(self.elsewhere)
            notify(self.tally.progress)

    def _askable(self, assistant: Assistant) -> list[Family]:
        """What is to do, less what this assistant cannot be asked about, which is missing."""
        families = []
        for family in self.pending.todo:
            reason = assistant.missing.get(family.specs[0].instruction_id)
            if reason is None:
                families.append(family)
            else:
                self.tally.missing[reason] += sum(1 for _ in self.pending.open_specs(family))
        return families

    def _still_open(self, families: Sequence[Family]) -> list[Family]:
        self.pending.settle([spec for family in families for spec in self.pending.open_specs(family)])
        return [family for family in families if any(self.pending.open_specs(family))]

    async def _pass_over(self, families: Sequence[Family], runner: FamilyRunner) -> None:
        """Claim and hold these families; those claimed by another process end up in ``elsewhere``."""
        queue: asyncio.Queue[Entry | None] = asyncio.Queue(self.connections)
        workers = [asyncio.ensure_future(self._worker(queue, runner)) for _ in range(self.conversations)]
        producer = asyncio.ensure_future(self._produce(families, queue))
        tasks = [producer, *workers]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            for task in done:
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _produce(self, families: Sequence[Family], queue: asyncio.Queue[Entry | None]) -> None:
        remaining = iter(families)
        while not self.over and (batch := _batch_of(remaining, self.pending)):
            wanted = [[spec.conversation_id for spec in self.pending.open_specs(family)] for family in batch]
            won = await self.pending.ledger.claim([name for names in wanted for name in names])
            mine: list[Family] = []
            for family, names in zip(batch, wanted, strict=True):
                whole = won.ids.issuperset(names)
                (mine if whole else self.elsewhere).append(family)
                if not whole:
                    self.pending.ledger.release([name for name in names if name in won.ids])
            # Read after the claim: until then another process may have held a part, and paid for it.
            known = [spec.conversation_id for family in mine for spec in family.specs]
            stored = self.pending.ledger.load([name for name in known if name not in won.new])
            for family in mine:
                names = [spec.conversation_id for spec in family.specs]
                await queue.put((family, {name: stored[name] for name in names if name in stored}))
        for _ in range(self.conversations):
            await queue.put(None)

    async def _worker(self, queue: asyncio.Queue[Entry | None], runner: FamilyRunner) -> None:
        while (entry := await queue.get()) is not None:
            family, stored = entry
            if self.over:
                self.pending.ledger.release([spec.conversation_id for spec in self.pending.open_specs(family)])
                continue
            try:
                await runner.run(family, stored)
            except ClaimLostError as error:
                # This process stood still beyond its lease (a sleeping machine): whoever took over goes on with it.
                logger.warning("%s", error)
                self.pending.ledger.release([spec.conversation_id for spec in self.pending.open_specs(family)])
                self.elsewhere.append(family)


def _batch_of(families: Iterator[Family], pending: PendingConversations) -> list[Family]:
    """The next families whose open conversations fit one claiming transaction."""
    batch: list[Family] = []
    size = 0
    for family in families:
        batch.append(family)
        size += sum(1 for _ in pending.open_specs(family))
        if size >= CLAIMED_AT_ONCE:
            break
    return batch
