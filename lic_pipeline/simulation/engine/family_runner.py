"""Holding families of conversations, one after the other of a family: each to its outcome, none of them lost.

Every error of a call ends in a stored outcome, or leaves the conversation open and stops the run; nothing here decides
what is held when, or by which process.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from lic_pipeline.errors import DriftError, LicError, StorageError
from lic_pipeline.models.errors import BudgetError, CallError
from lic_pipeline.models.ledger.records import DONE, StoredConversation
from lic_pipeline.records import Conversation
from lic_pipeline.simulation.call_store import CallStore
from lic_pipeline.simulation.conversation.loop import ConversationLoop, ConversationSetup
from lic_pipeline.simulation.engine.conversation_writer import ConversationWriter
from lic_pipeline.simulation.engine.outcome import Tally, ending_of
from lic_pipeline.simulation.engine.progress_listeners import notify
from lic_pipeline.simulation.plan.conversation_plan import ConversationSpec, Family
from lic_pipeline.simulation.resume.pending_conversations import PendingConversations

logger = logging.getLogger("lic")


class FamilyRunner:
    """Holds claimed families with one cast; what comes of it goes to the sink and into the tally.

    What is spent counts in ``budget_scope`` (None = nowhere).
    """

    def __init__(
        self,
        pending: PendingConversations,
        setup: ConversationSetup,
        writer: ConversationWriter,
        tally: Tally,
        budget_scope: str | None,
    ) -> None:
        self._pending = pending
        self._setup = setup
        self._writer = writer
        self._tally = tally
        self._scope = budget_scope

    async def run(self, family: Family, stored: Mapping[str, StoredConversation]) -> None:
        """Hold what is open of a family. ``stored``: what the ledger holds of its conversations.

        Raises ClaimLostError, StorageError; other errors of calls are in the tally.
        """
        first, *following = family.specs
        parent: Conversation | None = None
        if first.conversation_id not in self._pending.settled:
            parent = await self._run_and_store(first, stored, None)
        elif following and self._pending.is_done(first):
            # Settled, but what follows it needs its transcript: every call is in the ledger.
            parent = await self._run_one(first, stored.get(first.conversation_id), None)
        for spec in following:
            if spec.conversation_id in self._pending.settled:
                continue
            if parent is not None and parent.state == DONE:
                await self._run_and_store(spec, stored, parent)
            else:
                self._tally.missing["parent_missing"] += 1
                self._pending.ledger.release([spec.conversation_id])

    async def _run_and_store(
        self, spec: ConversationSpec, stored: Mapping[str, StoredConversation], parent: Conversation | None
    ) -> Conversation | None:
        conversation = await self._run_one(spec, stored.get(spec.conversation_id), parent)
        if conversation is not None:
            await self._finished(conversation)
        return conversation

    async def _run_one(
        self, spec: ConversationSpec, stored: StoredConversation | None, parent: Conversation | None
    ) -> Conversation | None:
        """One conversation to its outcome; None when it stays open (budget, a provider that refuses everything)."""
        call_store = CallStore(self._pending.ledger, spec.conversation_id, stored, self._scope)
        loop = ConversationLoop(self._setup, spec, self._pending.plan.items[spec.instruction_id], call_store, parent)
        try:
            return await loop.run()
        except DriftError as error:
            self._tally.stop(error)
            return loop.failed("drift")
        except StorageError:
            raise
        except CallError as error:
            ending = ending_of(error)
            if ending is None:
                logger.warning("%s %s run %d: %s", spec.setting, spec.instruction_id, spec.run, error)
                return loop.failed(error.kind)
            self._leave_open(spec, "budget" if isinstance(error, BudgetError) else f"error:{error.kind}", ending)
        except LicError:
            raise
        except Exception:
            logger.exception("%s %s run %d failed inside lic_pipeline", spec.setting, spec.instruction_id, spec.run)
            return loop.failed("internal")
        finally:
            self._tally.progress.calls += call_store.calls_made
            self._tally.progress.cost_usd += call_store.cost_usd
        return None

    def _leave_open(self, spec: ConversationSpec, reason: str, error: LicError) -> None:
        self._tally.stop(error)
        self._tally.missing[reason] += 1
        self._pending.ledger.release([spec.conversation_id])

    async def _finished(self, conversation: Conversation) -> None:
        progress = self._tally.progress
        if conversation.state == DONE:
            progress.finished += 1
        else:
            progress.failed += 1
            self._tally.missing[conversation.state] += 1
        await self._writer.add(conversation)
        notify(progress)
