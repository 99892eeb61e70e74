"""The engine: carries out one plan on one event loop, resumable at any moment (architecture: engine and ledger).

A bounded producer claims families of conversations and feeds a fixed number of workers; every reply is durable before
its conversation goes on; finished conversations go through the sink. A rerun makes only the calls that are missing.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path

from lic_pipeline.errors import BudgetReachedError, DriftError, LicError, ProviderStoppedError, StorageError
from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.models.budget import Budget
from lic_pipeline.models.errors import BudgetError, CallError
from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.ledger.records import DONE, ClaimLostError, StoredConversation
from lic_pipeline.records import Conversation
from lic_pipeline.simulation.collector import calm_collector
from lic_pipeline.simulation.conversation import Cast, ConversationLoop
from lic_pipeline.simulation.grading import Grader
from lic_pipeline.simulation.journal import Journal
from lic_pipeline.simulation.ordering import longest_last_ones_first
from lic_pipeline.simulation.outcome import Outcome, Progress
from lic_pipeline.simulation.parameters import assistant_parameters, require_roles
from lic_pipeline.simulation.plan import ConversationSpec, Family, Plan
from lic_pipeline.simulation.progress import tell
from lic_pipeline.simulation.scoring_threads import ScoringThreads
from lic_pipeline.simulation.signals import interruptible
from lic_pipeline.simulation.sink import Sink
from lic_pipeline.simulation.voices import Voice, open_voice
from lic_pipeline.simulation.work import Work as Work

CLAIM_BATCH = 256
SCORING_THREADS = 4
POLL_SECONDS = 0.25

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
) -> Outcome:
    """Hold every planned conversation that is not yet held; returns when all are finished, failed or held elsewhere.

    ``budget`` caps what all roles spend; without one, spending is still counted under the experiment's name.

    Raises InterruptedRunError (SIGINT, SIGTERM), DriftError, ProviderStoppedError, BudgetReachedError, StorageError;
    in every case what was paid for is stored and a rerun goes on from there.
    """
    if plan.skipped is not None:
        return Outcome(0, 0, 0, 0, skipped=plan.skipped)
    work = Work(plan, ledger, ConversationStore(lake, plan.task.name, plan.model.alias))
    if not work.todo:
        return _outcome(work, Progress("", 0), Counter())
    if work.forgotten:
        raise StorageError(
            f"{work.forgotten} finished conversations of {plan.task.name} x {plan.model.alias} are in the lake, but "
            f"ledger {ledger.place} does not know them; calling again would pay again. Put the old ledger back, or "
            "run `lic ledger rebuild`, or move the lake away to hold them anew"
        )
    require_roles(plan.experiment, plan.model)
    work.take_up()
    with calm_collector():
        return asyncio.run(interruptible(Engine(work, max_connections, budget).run()))


class Engine:
    """One run over the work of one plan."""

    def __init__(self, work: Work, max_connections: int | None, budget: Budget | None = None) -> None:
        self.work = work
        self._budget = budget
        self._scope: str | None = None
        self.plan = work.plan
        self.connections = max_connections or work.plan.model.limits.concurrency
        label = f"{work.plan.task.name} x {work.plan.model.alias}"
        self.progress = Progress(label, work.total, already=len(work.settled))
        self.missing: Counter[str] = Counter()
        self.sink = Sink(work.store, work.ledger)
        self.elsewhere: list[Family] = []
        self._fatal: LicError | None = None

    async def run(self) -> Outcome:
        """Do all work; raises the first fatal error after everything finished is stored."""
        executor = ScoringThreads(SCORING_THREADS)
        try:
            voice = await open_voice(self.plan, self.work.ledger, executor, self._budget)
            self._scope = voice.budget_scope
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
        if self._fatal is not None:
            raise self._fatal
        return _outcome(self.work, self.progress, self.missing)

    async def _work_through(self, voice: Voice, executor: Executor) -> None:
        roles = voice.roles
        grader = Grader(self.plan.task, roles, self.work.ledger, executor)
        parameters = assistant_parameters(self.plan.experiment, self.plan.model)
        cast = Cast(self.plan.task, self.plan.experiment, self.plan.model.id, parameters, roles, grader, voice.speak)
        families = []
        for family in self.work.todo:
            reason = voice.missing.get(family.specs[0].instruction_id)
            if reason is None:
                families.append(family)
            else:
                self.missing[reason] += sum(1 for _ in self.work.open_specs(family))
        await self._pass_over(longest_last_ones_first(families, self.connections), cast)
        while self.elsewhere and self._fatal is None:
            waiting, self.elsewhere = self.elsewhere, []
            # Others may wait for what stands in our buffer: two processes must not wait for each other.
            await self.sink.flush()
            await asyncio.sleep(POLL_SECONDS)
            await self._pass_over(self._still_open(waiting), cast)
            self.progress.elsewhere = len(self.elsewhere)

    def _still_open(self, families: Sequence[Family]) -> list[Family]:
        self.work.settle([spec for family in families for spec in self.work.open_specs(family)])
        return [family for family in families if any(self.work.open_specs(family))]

    async def _pass_over(self, families: Sequence[Family], cast: Cast) -> None:
        """Claim and hold these families; those claimed by another process end up in ``elsewhere``."""
        queue: asyncio.Queue[Entry | None] = asyncio.Queue(self.connections)
        workers = [asyncio.ensure_future(self._worker(queue, cast)) for _ in range(self.connections)]
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
        while self._fatal is None and (batch := _batch_of(remaining, self.work)):
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
        for _ in range(self.connections):
            await queue.put(None)

    async def _worker(self, queue: asyncio.Queue[Entry | None], cast: Cast) -> None:
        while (entry := await queue.get()) is not None:
            family, stored = entry
            if self._fatal is not None:
                self.work.ledger.release([spec.conversation_id for spec in self.work.open_specs(family)])
                continue
            try:
                await self._hold_family(family, stored, cast)
            except ClaimLostError as error:
                # This process stood still beyond its lease (a sleeping machine): whoever took over goes on with it.
                logger.warning("%s", error)
                self.work.ledger.release([spec.conversation_id for spec in self.work.open_specs(family)])
                self.elsewhere.append(family)

    async def _hold_family(self, family: Family, stored: Mapping[str, StoredConversation], cast: Cast) -> None:
        first, *following = family.specs
        parent: Conversation | None = None
        if first.conversation_id not in self.work.settled:
            parent = await self._hold_and_keep(first, stored, cast, None)
        elif following and self.work.is_done(first):
            # Settled, but what follows it needs its transcript: every call is in the ledger.
            parent = await self._hold(first, stored.get(first.conversation_id), cast, None)
        for spec in following:
            if spec.conversation_id in self.work.settled:
                continue
            if parent is not None and parent.state == DONE:
                await self._hold_and_keep(spec, stored, cast, parent)
            else:
                self.missing["parent_missing"] += 1
                self.work.ledger.release([spec.conversation_id])

    async def _hold_and_keep(
        self, spec: ConversationSpec, stored: Mapping[str, StoredConversation], cast: Cast, parent: Conversation | None
    ) -> Conversation | None:
        conversation = await self._hold(spec, stored.get(spec.conversation_id), cast, parent)
        if conversation is not None:
            await self._finished(conversation)
        return conversation

    async def _hold(
        self, spec: ConversationSpec, stored: StoredConversation | None, cast: Cast, parent: Conversation | None
    ) -> Conversation | None:
        """One conversation to its outcome; None when it stays open (budget, a provider that refuses everything)."""
        journal = Journal(self.work.ledger, spec.conversation_id, stored, self._scope)
        loop = ConversationLoop(cast, spec, self.plan.items[spec.instruction_id], journal, parent)
        try:
            return await loop.run()
        except DriftError as error:
            self._fatal = self._fatal or error
            return loop.failed("drift")
        except StorageError:
            raise
        except BudgetError as error:
            self._stop(spec, "budget", BudgetReachedError(str(error)))
        except CallError as error:
            if not error.stops_run:
                logger.warning("%s %s run %d: %s", spec.setting, spec.instruction_id, spec.run, error)
                return loop.failed(error.kind)
            self._stop(spec, f"error:{error.kind}", ProviderStoppedError(str(error)))
        except LicError:
            raise
        except Exception:
            logger.exception("%s %s run %d failed inside lic_pipeline", spec.setting, spec.instruction_id, spec.run)
            return loop.failed("internal")
        finally:
            self.progress.calls += journal.calls_made
            self.progress.cost_usd += journal.cost_usd
        return None

    def _stop(self, spec: ConversationSpec, reason: str, error: LicError) -> None:
        self._fatal = self._fatal or error
        self.missing[reason] += 1
        self.work.ledger.release([spec.conversation_id])

    async def _finished(self, conversation: Conversation) -> None:
        if conversation.state == DONE:
            self.progress.finished += 1
        else:
            self.progress.failed += 1
            self.missing[conversation.state] += 1
        await self.sink.add(conversation)
        tell(self.progress)


def _batch_of(families: Iterator[Family], work: Work) -> list[Family]:
    """The next families whose open conversations fit one claiming transaction."""
    batch: list[Family] = []
    size = 0
    for family in families:
        batch.append(family)
        size += sum(1 for _ in work.open_specs(family))
        if size >= CLAIM_BATCH // 2:
            break
    return batch


def _outcome(work: Work, progress: Progress, missing: Counter[str]) -> Outcome:
    already = len(work.settled) - sum(work.failed.values())
    return Outcome(work.total, already, progress.finished, progress.calls, Counter(work.failed) + missing)
