"""The ledger: what was paid for and decided, durable after every call. See docs/ledger.md."""

from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.ledger.records import (
    CallKey,
    CallTotals,
    ClaimLostError,
    Decision,
    StoredCall,
    StoredConversation,
    Totals,
)

__all__ = [
    "CallKey",
    "CallTotals",
    "ClaimLostError",
    "Decision",
    "Ledger",
    "StoredCall",
    "StoredConversation",
    "Totals",
]
