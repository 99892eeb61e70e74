"""The reading half of a ledger: questions about what is stored, and the verdicts kept in memory.

A reader never blocks the writer. Most questions wait until everything queued before is durable, so that a process sees
its own writes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from sqlalchemy import Connection

from lic_pipeline.models.ledger import reads
from lic_pipeline.models.ledger.database import Database
from lic_pipeline.models.ledger.faults import storage_errors
from lic_pipeline.models.ledger.records import CallTotals, StoredConversation, Totals
from lic_pipeline.models.ledger.writer import Writer
from lic_pipeline.records import Json

VERDICTS_IN_MEMORY = 20_000

Answer = TypeVar("Answer")


class LedgerReader:
    """Answers from what a database holds and a writer has still to write."""

    def __init__(self, database: Database, writer: Writer) -> None:
        self._database = database
        self._writer = writer

    @property
    def place(self) -> str:
        """File or URL (without password) of this ledger."""
        return self._database.place

    def states(self, ids: Iterable[str]) -> dict[str, str]:
        """State (open, done, error:<class>) of each known conversation among ``ids``."""
        return self._read(lambda connection: reads.read_states(connection, list(ids)))

    def ids(self, state: str | None = None) -> list[str]:
        """Ids of all known conversations, or of those in ``state`` (exactly, as ``error:timeout``), in order."""
        return self._read(lambda connection: reads.read_ids(connection, state))

    def load(self, ids: Sequence[str]) -> dict[str, StoredConversation]:
        """Known conversations among ``ids``; of each call and decision the row of the latest epoch."""
        return self._read(lambda connection: reads.read_conversations(connection, list(ids))) if ids else {}

    def totals(self) -> Totals:
        """Sums over the whole ledger, over all processes and runs."""
        return self._read(reads.read_totals)

    def spend(self, ids: Iterable[str]) -> dict[str, CallTotals]:
        """Sums of the calls of these conversations by role, all epochs: what was paid for them."""
        return self._read(lambda connection: reads.read_spend(connection, list(ids)))

    def calls(self) -> Iterator[dict[str, Json]]:
        """Every call as it is stored (redacted), as plain JSON, ordered by key; memory stays flat."""
        self._writer.call("flush", "", None)
        with storage_errors(self.place), self._database.reader.connect() as connection:
            yield from reads.read_calls(connection)

    def budget(self, scope: str) -> tuple[float, int]:
        """USD and tokens that all processes have spent in ``scope`` by calls that are durable, read now."""
        return self._peek(lambda connection: reads.read_budget(connection, scope))

    def blob(self, digest: str) -> str | None:
        """The text behind a hash, None when unknown."""
        return self._read(lambda connection: reads.read_blob(connection, digest))

    def _read(self, question: Callable[[Connection], Answer]) -> Answer:
        """Ask a reader's connection, after everything queued before is durable (a reader sees its own writes)."""
        if not self._writer.idle:
            self._writer.call("flush", "", None)
        return self._peek(question)

    def _peek(self, question: Callable[[Connection], Answer]) -> Answer:
        """Ask without waiting for what is queued: for questions asked while many calls are in flight."""
        with storage_errors(self.place), self._database.reader.connect() as connection:
            return question(connection)


class RecentVerdicts:
    """The verdicts used last, by key; safe to use from threads."""

    def __init__(self, most: int = VERDICTS_IN_MEMORY) -> None:
        self._most = most
        self._held: OrderedDict[str, dict[str, Json]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> dict[str, Json] | None:
        """The verdict, None when it is not held."""
        with self._lock:
            return self._held.get(key)

    def keep(self, key: str, value: dict[str, Json]) -> None:
        """Hold a verdict as the latest used one; the one not used for longest gives way."""
        with self._lock:
            self._held[key] = value
            self._held.move_to_end(key)
            if len(self._held) > self._most:
                self._held.popitem(last=False)
