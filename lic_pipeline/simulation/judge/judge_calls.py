"""One question put to one judge: from a claim to its outcome in the ledger."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from functools import partial

from lic_pipeline.errors import DriftError
from lic_pipeline.models.calling.model_access import ModelAccess
from lic_pipeline.models.errors import CallError
from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.ledger.records import DONE, ERROR_PREFIX, StoredConversation
from lic_pipeline.models.redaction import redact_message
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.simulation.call_store import CallStore
from lic_pipeline.simulation.engine.outcome import Progress, ending_of
from lic_pipeline.simulation.judge.pending_questions import JUDGED, UNUSABLE, UNUSABLE_STATE, Answer
from lic_pipeline.simulation.plan.call_parameters import PER_CONVERSATION, seed_from, system_parameters
from lic_pipeline.simulation.roles.llm_judge import LLMJudge
from lic_pipeline.simulation.roles.role_model import RoleModel
from lic_pipeline.tasks.summary.stored_verdicts import Question

DRIFTED = f"{ERROR_PREFIX}drift"

logger = logging.getLogger("lic")


class JudgeCalls:
    """Puts questions to the model of ``entry``; what is spent counts in ``scope`` and in ``progress``.

    The model is opened with the first question: where everything was answered before, no key is needed.
    """

    def __init__(self, ledger: Ledger, access: ModelAccess, entry: ModelEntry, scope: str, progress: Progress) -> None:
        self._ledger = ledger
        self._access = access
        self._entry = entry
        self._scope = scope
        self._progress = progress
        self._parameters = system_parameters(entry)
        self._judges: dict[int, LLMJudge] = {}
        self._opening = asyncio.Lock()

    async def ask(self, key: str, question: Question, stored: StoredConversation | None) -> Answer:
        """The answer to a question this process has claimed.

        Raises BudgetReachedError, ProviderStoppedError, ConfigError and StorageError: no other question would fare
        better.
        """
        if stored is not None:
            # What an older epoch was answered could not be used: it is asked anew, not replayed.
            calls = {place: call for place, call in stored.calls.items() if call.epoch == stored.epoch}
            stored = replace(stored, calls=calls)
        call_store = CallStore(self._ledger, key, stored, self._scope)
        try:
            judge = await self._judge(0 if stored is None else stored.epoch)
            verdicts = await judge.ask(question, call_store)
        except DriftError as error:
            why = f"the request differs from the stored one in {error.field!r}; nothing was called"
            logger.warning("judging %s: %s", key, why)
            self._ledger.finish(key, DRIFTED, None)
            return Answer(DRIFTED, why=why)
        except CallError as error:
            self._ledger.release([key])
            return _failed(key, error)
        finally:
            self._progress.calls += call_store.calls_made
            self._progress.cost_usd += call_store.cost_usd
        if verdicts is None:
            self._ledger.finish(key, UNUSABLE_STATE, None)
            return Answer(UNUSABLE)
        self._ledger.store_verdict(key, {"judge": self._entry.alias, "verdicts": verdicts})
        self._ledger.finish(key, DONE, None)
        return Answer(JUDGED, verdicts)

    async def _judge(self, epoch: int) -> LLMJudge:
        """The judge as it is asked in one epoch: where seeds are sent, each has one of its own."""
        async with self._opening:
            if epoch not in self._judges:
                path = await self._access.path(self._entry)
                seed_of = partial(_seed_of, epoch) if self._parameters.get("seed") == PER_CONVERSATION else None
                self._judges[epoch] = LLMJudge(RoleModel("judge", path, self._parameters, seed_of))
        return self._judges[epoch]


def _failed(key: str, error: CallError) -> Answer:
    """The outcome of a call that failed for this question alone; raises what ends the run."""
    ending = ending_of(error)
    if ending is not None:
        raise ending from error
    why = redact_message(str(error))
    logger.warning("judging %s: %s", key, why)
    return Answer(f"{ERROR_PREFIX}{error.kind}", why=why)


def _seed_of(epoch: int, judgement_id: str) -> int:
    """A question is no part of one conversation: its own content stands for it."""
    return seed_from("judge", judgement_id, *([epoch] if epoch else []))
