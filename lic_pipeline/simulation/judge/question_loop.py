"""Many questions answered by one judge on one event loop: each once, looked up and claimed in batches.

Cases (a conversation, a line, with the questions it raises) come from an iterator and go back in its order, once all
their questions are answered. Memory holds at most ``AHEAD`` cases and a window, however many there are. Questions
claimed by another process are awaited.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from lic_pipeline.errors import BudgetReachedError, ProviderStoppedError
from lic_pipeline.models.budget import Budget, require_countable
from lic_pipeline.models.calling.model_access import ModelAccess
from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.ledger.records import ClaimLostError, StoredConversation
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.simulation.engine.interrupts import interruptible
from lic_pipeline.simulation.engine.outcome import Progress
from lic_pipeline.simulation.engine.progress_listeners import notify
from lic_pipeline.simulation.engine.scoring_threads import ScoringThreads
from lic_pipeline.simulation.judge.judge_calls import JudgeCalls
from lic_pipeline.simulation.judge.pending_questions import WINDOW, Answer, ask_again, claim_questions
from lic_pipeline.tasks.summary.stored_verdicts import Question

AHEAD = 4 * WINDOW
"""Cases read beyond the oldest that waits: room for what other processes have claimed."""

POLL_SECONDS = 0.25
WINDOW_SECONDS = 0.5

Item = TypeVar("Item")
logger = logging.getLogger("lic")


class ToJudge(NamedTuple, Generic[Item]):
    """Something to be judged and the questions it raises, by key."""

    item: Item
    questions: Mapping[str, Question]


OnAnswered = Callable[[Item, Mapping[str, Answer]], None]
"""Takes a case's item with the answers to its questions."""


def answer_questions(
    entry: ModelEntry,
    ledger: Ledger,
    budget: Budget,
    cases: Iterator[ToJudge[Item]],
    on_answered: OnAnswered[Item],
    progress: Progress,
    *,
    connections: int | None = None,
    again: bool = False,
) -> None:
    """Have a judge answer all questions of all cases; ``on_answered`` gets the cases in order.

    ``connections``: questions asked at once, by default as many as the entry allows. ``again``: what ended without a
    usable answer before is asked once more. Raises BudgetReachedError, ProviderStoppedError, InterruptedRunError,
    StorageError, ConfigError; what was paid for is stored and a rerun goes on from there.
    """
    require_countable(budget, [entry])

    async def work() -> None:
        access = ModelAccess(ledger, budget)
        try:
            judge_calls = JudgeCalls(ledger, access, entry, budget.scope, progress)
            most = connections or entry.limits.concurrency
            await QuestionLoop(ledger, judge_calls, on_answered, progress, most, again=again).run(cases)
        finally:
            await access.close()

    asyncio.run(interruptible(work()))


class _Waiting(NamedTuple):
    """A question that was raised and not answered yet."""

    question: Question
    answer: asyncio.Future[Answer]


_Claimed = tuple[str, StoredConversation | None]
_Due = tuple[Item, Mapping[str, asyncio.Future[Answer]]]


class QuestionLoop(Generic[Item]):
    """One run of one judge."""

    def __init__(
        self,
        ledger: Ledger,
        judge_calls: JudgeCalls,
        on_answered: OnAnswered[Item],
        progress: Progress,
        connections: int,
        *,
        again: bool = False,
    ) -> None:
        self._ledger = ledger
        self._judge_calls = judge_calls
        self._on_answered = on_answered
        self._progress = progress
        self._connections = connections
        self._waiting: dict[str, _Waiting] = {}
        self._elsewhere: set[str] = set()
        self._claimed: asyncio.Queue[_Claimed] = asyncio.Queue(connections)
        self._due: asyncio.Queue[_Due[Item] | None] = asyncio.Queue(max(AHEAD, 2 * connections))
        self._asking: set[asyncio.Task[None]] = set()
        self._stopped = False
        self._again = again
        self._in_vain: set[str] = set()

    async def run(self, cases: Iterator[ToJudge[Item]]) -> None:
        """Return when every case was handed over; the first error ends it, with everything answered stored."""
        workers = [asyncio.ensure_future(self._worker()) for _ in range(self._connections)]
        deliverer = asyncio.ensure_future(self._deliver())
        others = [asyncio.ensure_future(work) for work in (self._produce(cases), self._watch())]
        tasks = [deliverer, *others, *workers]
        try:
            await _until(deliverer, tasks)
        except (BudgetReachedError, ProviderStoppedError):
            # What is in flight will be paid for: it is waited for and stored, nothing else is asked.
            self._stopped = True
            await asyncio.gather(*self._asking, return_exceptions=True)
            raise
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._ledger.release(list(self._waiting))
            await self._ledger.flush()

    async def _produce(self, cases: Iterator[ToJudge[Item]]) -> None:
        """Read windows of cases; have them delivered in order, and their questions looked up, claimed and asked."""
        # A daemon's thread: reading may wait for a pipe, and an interrupted run ends now.
        executor = ScoringThreads(1)
        loop = asyncio.get_running_loop()
        try:
            while window := await loop.run_in_executor(executor, _next_window, cases):
                fresh: list[str] = []
                for case in window:
                    await self._due.put((case.item, self._enter(case, fresh)))
                if self._again:
                    ask_again(self._ledger, [key for key in fresh if key not in self._in_vain])
                await self._claim(fresh)
            await self._due.put(None)
        finally:
            executor.shutdown(wait=False, cancel_futures=True)

    def _enter(self, case: ToJudge[Item], fresh: list[str]) -> dict[str, asyncio.Future[Answer]]:
        """The answers a case waits for; questions nobody has raised before join ``fresh``."""
        for key, question in case.questions.items():
            if key not in self._waiting:
                self._waiting[key] = _Waiting(question, asyncio.get_running_loop().create_future())
                fresh.append(key)
        return {key: self._waiting[key].answer for key in case.questions}

    async def _claim(self, keys: Sequence[str]) -> None:
        """Settle what is known of these questions and have the workers ask those that are ours."""
        claimed_here = await claim_questions(self._ledger, keys)
        self._elsewhere.difference_update(keys)
        self._elsewhere.update(claimed_here.elsewhere)
        self._progress.elsewhere = len(self._elsewhere)
        for key, answer in claimed_here.known.items():
            self._settle(key, answer)
        for claimed in claimed_here.mine.items():
            await self._claimed.put(claimed)

    async def _watch(self) -> None:
        """Look again at what other processes hold: they answer it, or leave it to us."""
        while True:
            await asyncio.sleep(POLL_SECONDS)
            if self._elsewhere:
                await self._claim(sorted(self._elsewhere))

    async def _worker(self) -> None:
        while not self._stopped:
            key, stored = await self._claimed.get()
            self._asking.add(_this_task())
            try:
                self._settle(key, await self._judge_calls.ask(key, self._waiting[key].question, stored))
            except ClaimLostError as error:
                # This process stood still beyond its lease (a sleeping machine): whoever took over goes on with it.
                logger.warning("%s", error)
                self._ledger.release([key])
                self._elsewhere.add(key)
            finally:
                self._asking.discard(_this_task())

    def _settle(self, key: str, answer: Answer) -> None:
        if self._again and answer.verdicts is None:
            self._in_vain.add(key)
        self._waiting.pop(key).answer.set_result(answer)

    async def _deliver(self) -> None:
        while (due := await self._due.get()) is not None:
            item, answers = due
            self._on_answered(item, {key: await answer for key, answer in answers.items()})
            self._progress.finished += 1
            notify(self._progress)


def _next_window(cases: Iterator[ToJudge[Item]]) -> list[ToJudge[Item]]:
    """The next cases, with about one window of questions; none at the end. Those of a slow pipe go on in time."""
    window: list[ToJudge[Item]] = []
    raised = 0
    latest = time.monotonic() + WINDOW_SECONDS
    for case in cases:
        window.append(case)
        raised += len(case.questions)
        if max(raised, len(window)) >= WINDOW or time.monotonic() > latest:
            break
    return window


async def _until(last: asyncio.Task[None], tasks: Iterable[asyncio.Task[None]]) -> None:
    """Wait for ``last``; raises what ends any of the tasks before."""
    pending = set(tasks)
    while not last.done():
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()


def _this_task() -> asyncio.Task[None]:
    task = asyncio.current_task()
    assert task is not None
    return task
