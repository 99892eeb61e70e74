"""What the ledger hands out: plain slots classes, cheap to make by the hundred thousand.

Nothing here touches a database; the JSON of a reply is that of ``lic_pipeline.records.Reply``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from lic_pipeline.errors import StorageError
from lic_pipeline.records import Json

OPEN = "open"
DONE = "done"
ERROR_PREFIX = "error:"


class CallKey(NamedTuple):
    """Place of a call in its conversation. ``turn`` counts per role; ``ask`` > 0 only for a validation re-ask.

    ``role`` is assistant, user, classifier, extractor or judge. A named tuple, because it is a dictionary key.
    """

    role: str
    turn: int
    ask: int = 0

    def __str__(self) -> str:
        return f"{self.role}/{self.turn}/{self.ask}"


@dataclass(slots=True)
class StoredCall:
    """A paid call. ``request_fields`` maps each part of the request to its hash, to name the part that drifted.

    ``epoch`` below the conversation's own means: usable while its hash is equal, else the call is made anew.
    """

    key: CallKey
    request_hash: str
    request_fields: dict[str, str]
    reply: dict[str, Json]
    latency_s: float | None
    epoch: int


@dataclass(slots=True)
class Decision:
    """Something decided in the loop (label, attempt, stop, user, ...) and the version of what decided."""

    kind: str
    turn: int
    value: Json
    version: str
    epoch: int = 0


@dataclass(slots=True)
class StoredConversation:
    """All that is known of one conversation; of each key only the row of the latest epoch."""

    conversation_id: str
    state: str
    stop_reason: str | None
    epoch: int
    calls: dict[CallKey, StoredCall] = field(default_factory=dict)
    decisions: dict[tuple[str, int], Decision] = field(default_factory=dict)


@dataclass(slots=True)
class CallTotals:
    """Sums over the calls of one model in one role; ``unpriced`` calls have no known cost and add nothing to it."""

    calls: int = 0
    prompt: int = 0
    completion: int = 0
    reasoning: int = 0
    cached: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0

    def add(self, other: CallTotals) -> None:
        """Add the sums of ``other``."""
        for name in CallTotals.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass(slots=True)
class Totals:
    """Sums over the whole ledger: calls by (model, role), conversations by state, HTTP tries by outcome."""

    calls: dict[tuple[str, str], CallTotals] = field(default_factory=dict)
    conversations: dict[str, int] = field(default_factory=dict)
    tries: dict[str, int] = field(default_factory=dict)

    @property
    def overall(self) -> CallTotals:
        """Sums over all models and roles."""
        total = CallTotals()
        for part in self.calls.values():
            total.add(part)
        return total


class ClaimLostError(StorageError):
    """This process lost its claim (it stood still longer than the lease); another one goes on with it."""
