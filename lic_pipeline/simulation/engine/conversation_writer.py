"""Where finished conversations go: buffered, written to the lake, and only then marked finished in the ledger.

The order makes a kill harmless: a conversation in the ledger but not in the lake is replayed without a call.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.records import Conversation

BATCH = 500


class FinishedStates(Protocol):
    """What the sink needs of the ledger."""

    def finish(self, conversation_id: str, state: str, stop_reason: str | None) -> None:
        """Queue the end of a conversation."""

    async def flush(self) -> None:
        """All queued rows durable."""


class ConversationWriter:
    """Collects finished conversations of one partition and writes them in batches."""

    def __init__(self, store: ConversationStore, ledger: FinishedStates, batch: int = BATCH) -> None:
        self._store = store
        self._ledger = ledger
        self._batch = batch
        self._waiting: list[Conversation] = []
        self._lock = asyncio.Lock()

    async def add(self, conversation: Conversation) -> None:
        """Take one conversation; writes a batch when one is full. Raises StorageError."""
        self._waiting.append(conversation)
        if len(self._waiting) >= self._batch:
            await self.flush()

    async def flush(self) -> None:
        """Write everything collected and mark it finished."""
        async with self._lock:
            batch, self._waiting = self._waiting, []
            if not batch:
                return
            # Decisions are queued, calls awaited: nothing may be called finished before both are on disk.
            await self._ledger.flush()
            try:
                await asyncio.to_thread(self._store.append, batch)
            except BaseException:
                self._waiting = batch + self._waiting
                raise
            for conversation in batch:
                reason = None if conversation.stop_reason is None else str(conversation.stop_reason)
                self._ledger.finish(conversation.conversation_id, conversation.state, reason)
            await self._ledger.flush()
