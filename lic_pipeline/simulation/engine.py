"""The engine: carries out one plan on one event loop, resumable at any moment (architecture: engine and ledger).

A bounded producer claims families of conversations and feeds a fixed number of workers; every reply is durable before
its conversation goes on; finished conversations go through the sink. A rerun makes only the calls that are missing.
Where one process is not enough, a crew of others works through the same plan (``crew``).
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
from lic_pipeline.models.keys import require_keys
from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.ledger.records import ClaimLostError, StoredConversation
from lic_pipeline.models.open_files import calls_in_reach
from lic_pipeline.simulation.collector import calm_collector
from lic_pipeline.simulation.conversation import Cast
from lic_pipeline.simulation.crew import Crew
from lic_pipeline.simulation.grading import Grader
from lic_pipeline.simulation.holding import FamilyHolder
from lic_pipeline.simulation.ordering import longest_last_ones_first
from lic_pipeline.simulation.outcome import Outcome, Progress, Tally
from lic_pipeline.simulation.parameters import assistant_parameters, role_models
from lic_pipeline.simulation.plan import Family, Plan
from lic_pipeline.simulation.progress import tell
from lic_pipeline.simulation.scoring_threads import ScoringThreads
from lic_pipeline.simulation.signals import interruptible
from lic_pipeline.simulation.sink import Sink
from lic_pipeline.simulation.voices import Voice, open_voice
from lic_pipeline.simulation.work import Work as Work

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
    work = Work(plan, ledger, ConversationStore(lake, plan.task.name, plan.model.alias))
    if not work.todo:
        return Outcome(work.total, len(work.settled) - work.failed.total(), 0, 0, work.failed)
    if work.forgotten:
        raise StorageError(
            f"{work.forgotten} finished conversations of {plan.task.name} x {plan.model.alias} are in the lake, but "
            f"ledger {ledger.place} does not know them; calling again would pay again. Put the old ledger back, or "
            "run `lic ledger rebuild`, or move the lake away to hold them anew"
        )
    # Before any process is started or anything is held: a key may be missing for a role that speaks late.
    calling = [plan.model, *role_models(plan.experiment, plan.model)]
    require_keys(calling)
    work.take_up()
    connections = max_connections or plan.model.limits.concurrency
    size = min(processes, connections, -(-len(work.todo) // CLAIMED_AT_ONCE))
    crew = Crew.of(plan, ledger, lake, connections, budget, size)
    share = calls_in_reach(min(crew.own_share, len(work.todo)), calling)
    engine = Engine(work, share, budget, lambda: crew.fatal is not None or stopped())
    with calm_collector(), crew.at_work(engine.tally.progress):
        asyncio.run(interruptible(engine.run()))
    if crew.fatal is not None:
        raise crew.fatal
    return engine.outcome()


class Engine:
    """One process's run over the work of one plan."""

    def __init__(
        self,
        work: Work,
        connections: int,
        budget: Budget | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> None:
        self.work = work
        self.plan = work.plan
        self.connections = connections
        self.conversations = connections + connections // SPARE
        label = f"{work.plan.task.name} x {work.plan.model.alias}"
        self.tally = Tally(Progress(label, work.total, already=len(work.settled)))
        self.sink = Sink(work.store, work.ledger)
        self.elsewhere: list[Family] = []
        self._budget = budget
        self._stopped = stopped

    @property
    def over(self) -> bool:
        """True once nothing new may be begun."""
        return self.tally.fatal is not None or self._stopped()

    def outcome(self) -> Outcome:
        """What the run came to, all its processes together."""
        work, everyone = self.work, self.tally.progress.overall
        by_others = everyone.finished - self.tally.progress.finished
        already = len(work.settled) - work.failed.total() - by_others
        missing = Counter(work.failed) + self.tally.missing
        return Outcome(work.total, already, everyone.finished, everyone.calls, missing)

    async def run(self) -> None:
        """Do all work; raises the first fatal error after everything finished is stored."""
        executor = ScoringThreads(SCORING_THREADS)
        try:
            voice = await open_voice(self.plan, self.work.ledger, executor, self._budget, self.connections)
            try:
                await self._work_through(voice, executor)
            finally:
                try:
                    await self.sink.flush()
                    await self.work.ledger.flush()
                finally:
                    await voice.close()
        finally:
            # Not waited for: an interrupted run ends now, a verdict nobody waits for is worth nothing.
            executor.shutdown(wait=False, cancel_futures=True)
        if self.tally.fatal is not None:
            raise self.tally.fatal

    async def _work_through(self, voice: Voice, executor: Executor) -> None:
        roles = voice.roles
        grader = Grader(self.plan.task, roles, self.work.ledger, executor)
        parameters = assistant_parameters(self.plan.experiment, self.plan.model)
        cast = Cast(self.plan.task, self.plan.experiment, self.plan.model.id, parameters, roles, grader, voice.speak)
        holder = FamilyHolder(self.work, cast, self.sink, self.tally, voice.budget_scope)
        families = self._askable(voice)
        await self._pass_over(longest_last_ones_first(families, self.connections), holder)
        while self.elsewhere and not self.over:
            waiting, self.elsewhere = self.elsewhere, []
            # Others may wait for what stands in our buffer: two processes must not wait for each other.
            await self.sink.flush()
            await asyncio.sleep(POLL_SECONDS)
            await self._pass_over(self._still_open(waiting), holder)
            self.tally.progress.elsewhere = len(self.elsewhere)
            tell(self.tally.progress)

    def _askable(self, voice: Voice) -> list[Family]:
        """What is to do, less what this voice cannot be asked about, which is missing."""
        families = []
        for family in self.work.todo:
            reason = voice.missing.get(family.specs[0].instruction_id)
            if reason is None:
                families.append(family)
            else:
                self.tally.missing[reason] += sum(1 for _ in self.work.open_specs(family))
        return families

    def _still_open(self, families: Sequence[Family]) -> list[Family]:
        self.work.settle([spec for family in families for spec in self.work.open_specs(family)])
        return [family for family in families if any(self.work.open_specs(family))]

    async def _pass_over(self, families: Sequence[Family], holder: FamilyHolder) -> None:
        """Claim and hold these families; those claimed by another process end up in ``elsewhere``."""
        queue: asyncio.Queue[Entry | None] = asyncio.Queue(self.connections)
        workers = [asyncio.ensure_future(self._worker(queue, holder)) for _ in range(self.conversations)]
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
        while not self.over and (batch := _batch_of(remaining, self.work)):
            wanted = [[spec.conversation_id for spec in self.work.open_specs(family)] for family in batch]
            won = await self.work.ledger.claim([name for names in wanted for name in names])
            mine: list[Family] = []
            for family, names in zip(batch, wanted, strict=True):
                whole = won.ids.issuperset(names)
                (mine if whole else self.elsewhere).append(family)
                if not whole:
                    self.work.ledger.release([name for name in names if name in won.ids])
            # Read after the claim: until then another process may have held a part, and paid for it.
            known = [spec.conversation_id for family in mine for spec in family.specs]
            stored = self.work.ledger.load([name for name in known if name not in won.new])
            for family in mine:
                names = [spec.conversation_id for spec in family.specs]
                await queue.put((family, {name: stored[name] for name in names if name in stored}))
        for _ in range(self.conversations):
            await queue.put(None)

    async def _worker(self, queue: asyncio.Queue[Entry | None], holder: FamilyHolder) -> None:
        while (entry := await queue.get()) is not None:
            family, stored = entry
            if self.over:
                self.work.ledger.release([spec.conversation_id for spec in self.work.open_specs(family)])
                continue
            try:
                await holder.hold(family, stored)
            except ClaimLostError as error:
                # This process stood still beyond its lease (a sleeping machine): whoever took over goes on with it.
                logger.warning("%s", error)
                self.work.ledger.release([spec.conversation_id for spec in self.work.open_specs(family)])
                self.elsewhere.append(family)


def _batch_of(families: Iterator[Family], work: Work) -> list[Family]:
    """The next families whose open conversations fit one claiming transaction."""
    batch: list[Family] = []
    size = 0
    for family in families:
        batch.append(family)
        size += sum(1 for _ in work.open_specs(family))
        if size >= CLAIMED_AT_ONCE:
            break
    return batch
