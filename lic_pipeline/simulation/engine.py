"""The engine: carries out one plan on one event loop, resumable at any moment (architecture: engine and ledger).

A bounded producer claims families of conversations and feeds a fixed number of workers; every reply is durable before
its conversation goes on; finished conversations go through the sink. A rerun makes only the calls that are missing.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lic_pipeline.errors import BudgetReachedError, DriftError, LicError, ProviderStoppedError, StorageError
from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.models.budget import Budget
from lic_pipeline.models.errors import BudgetError, CallError
from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.ledger.records import DONE, OPEN, StoredConversation
from lic_pipeline.records import Conversation
from lic_pipeline.simulation.conversation import Cast, ConversationLoop
from lic_pipeline.simulation.grading import Grader
from lic_pipeline.simulation.journal import Journal
from lic_pipeline.simulation.outcome import Outcome, Progress
from lic_pipeline.simulation.parameters import assistant_parameters, require_roles
from lic_pipeline.simulation.plan import ConversationSpec, Family, Plan
from lic_pipeline.simulation.progress import tell
from lic_pipeline.simulation.signals import interruptible
from lic_pipeline.simulation.sink import Sink
from lic_pipeline.simulation.voices import Voice, open_voice

CLAIM_BATCH = 256
SCORING_THREADS = 4
POLL_SECONDS = 0.25
RETRIED_BY_THEMSELVES = frozenset({"error:drift"})
"""Failed states a plain rerun takes up again: they cost no call and their cause is the user's to mend."""

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
        return work.outcome(Progress("", 0), Counter())
    require_roles(plan.experiment, plan.model)
    work.take_up()
    return asyncio.run(interruptible(Engine(work, max_connections, budget).run()))


class Work:
    """What of a plan is still to be done, by the ledger's states and what the lake really holds."""

    def __init__(self, plan: Plan, ledger: Ledger, store: ConversationStore) -> None:
        self.plan = plan
        self.ledger = ledger
        self.store = store
        specs = plan.specs
        self.total = len(specs)
        self.states: Mapping[str, str] = ledger.states([spec.conversation_id for spec in specs])
        in_lake = store.ids()
        self.settled = {
            name
            for name, state in self.states.items()
            if name in in_lake
            and (state == DONE or (state.startswith("error:") and state not in RETRIED_BY_THEMSELVES))
        }
        self.failed = Counter(self.states[name] for name in self.settled if self.states[name] != DONE)
        self.todo = [family for family in plan.families if any(self.open_specs(family))]

    def open_specs(self, family: Family) -> Iterator[ConversationSpec]:
        """Specs of a family that still need an outcome."""
        return (spec for spec in family.specs if spec.conversation_id not in self.settled)

    def take_up(self) -> None:
        """Open what has ended by the ledger but is not settled: its row is gone from the lake, or it is retried.

        Only open conversations can be claimed. Their calls are in the ledger, so holding them again costs none.
        """
        ended = [name for name, state in self.states.items() if state != OPEN and name not in self.settled]
        if ended:
            self.ledger.reopen(ended, error_only=False)

    def outcome(self, progress: Progress, missing: Counter[str]) -> Outcome:
        """The outcome given what this run did."""
        already = len(self.settled) - sum(self.failed.values())
        return Outcome(self.total, already, progress.finished, progress.calls, Counter(self.failed) + missing)


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
        with ThreadPoolExecutor(SCORING_THREADS, thread_name_prefix="lic-scoring") as executor:
            voice = await open_voice(self.plan, self.work.ledger, executor, self._budget)
            self._scope = voice.budget_scope
            try:
                await self._work_through(voice, executor)
            finally:
                await voice.close()
                await self.sink.flush()
                await self.work.ledger.flush()
        if self._fatal is not None:
            raise self._fatal
        return self.work.outcome(self.progress, self.missing)

    async def _work_through(self, voice: Voice, executor: ThreadPoolExecutor) -> None:
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
        await self._pass_over(families, cast)
        while self.elsewhere and self._fatal is None:
            waiting, self.elsewhere = self.elsewhere, []
            await asyncio.sleep(POLL_SECONDS)
            await self._pass_over(self._still_open(waiting), cast)
            self.progress.elsewhere = len(self.elsewhere)

    def _still_open(self, families: Sequence[Family]) -> list[Family]:
        names = [spec.conversation_id for family in families for spec in family.specs]
        states = self.work.ledger.states(names)
        for name, state in states.items():
            if name not in self.work.settled and state == DONE:
                self.work.settled.add(name)
            elif name not in self.work.settled and state.startswith("error:"):
                self.work.settled.add(name)
                self.work.failed[state] += 1
        return [family for family in families if any(self.work.open_specs(family))]

    async def _pass_over(self, families: Sequence[Family], cast: Cast) -> None:
        """Claim and hold these families; those claimed by another process end up in ``elsewhere``."""
        queue: asyncio.Queue[tuple[Family, dict[str, StoredConversation]] | None] = asyncio.Queue(self.connections)
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

    async def _produce(
        self, families: Sequence[Family], queue: asyncio.Queue[tuple[Family, dict[str, StoredConversation]] | None]
    ) -> None:
        remaining = iter(families)
        while self._fatal is None and (batch := _batch_of(remaining, self.work)):
            wanted = [spec.conversation_id for family in batch for spec in self.work.open_specs(family)]
            won = await self.work.ledger.claim(wanted)
            mine = [f for f in batch if all(s.conversation_id in won for s in self.work.open_specs(f))]
            others = [family for family in batch if family not in mine]
            self.elsewhere.extend(others)
            given_back = [s.conversation_id for f in others for s in f.specs if s.conversation_id in won]
            self.work.ledger.release(given_back)
            known = [s.conversation_id for f in mine for s in f.specs if s.conversation_id in self.work.states]
            stored = self.work.ledger.load(known) if known else {}
            for family in mine:
                await queue.put((family, {s.conversation_id: stored[s.conversation_id] for s in family.specs
                                          if s.conversation_id in stored}))  # fmt: skip
        for _ in range(self.connections):
            await queue.put(None)

    async def _worker(
        self, queue: asyncio.Queue[tuple[Family, dict[str, StoredConversation]] | None], cast: Cast
    ) -> None:
        while (entry := await queue.get()) is not None:
            family, stored = entry
            if self._fatal is not None:
                self.work.ledger.release([spec.conversation_id for spec in self.work.open_specs(family)])
                continue
            await self._hold_family(family, stored, cast)

    async def _hold_family(self, family: Family, stored: Mapping[str, StoredConversation], cast: Cast) -> None:
        parent: Conversation | None = None
        for spec in family.specs:
            settled = spec.conversation_id in self.work.settled
            if settled and (spec is not family.specs[0] or len(family.specs) == 1):
                continue
            if spec.parent_id is not None and (parent is None or parent.state != DONE):
                self.missing["parent_missing"] += 1
                self.work.ledger.release([spec.conversation_id])
                continue
            conversation = await self._hold(spec, stored.get(spec.conversation_id), cast, parent)
            if spec is family.specs[0]:
                parent = conversation
            if conversation is not None and not settled:
                await self._finished(conversation)

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
