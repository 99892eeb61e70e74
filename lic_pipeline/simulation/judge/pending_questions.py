"""What the ledger knows of many questions, and which of them this process may ask: read and claimed together.

Nothing here asks anybody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.ledger.records import ERROR_PREFIX, OPEN, StoredConversation
from lic_pipeline.records import Json

JUDGED, UNUSABLE = "judged", "unusable"
UNUSABLE_STATE = f"{ERROR_PREFIX}{UNUSABLE}"
"""State in the ledger of a question whose answers could not be used: it is not asked again by itself."""

WINDOW = 256
"""Questions looked up and claimed in one go."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a question: ``judged`` with its verdicts, ``unusable``, or ``error:<class>`` and ``why``."""

    state: str
    verdicts: list[Json] | None = None
    why: str = ""


class ClaimedQuestions(NamedTuple):
    """Questions by what is to be done: answered before; claimed here, with what is stored of them; held elsewhere."""

    known: Mapping[str, Answer]
    mine: Mapping[str, StoredConversation | None]
    elsewhere: frozenset[str]


async def claim_questions(ledger: Ledger, keys: Sequence[str]) -> ClaimedQuestions:
    """Look these questions up and claim what is open and free."""
    states = ledger.states(keys)
    known = {key: Answer(UNUSABLE) for key, state in states.items() if state == UNUSABLE_STATE}
    # States first: what is called done had its verdict stored before.
    stored = ledger.verdicts([key for key in keys if key not in known])
    known |= {key: Answer(JUDGED, value["verdicts"]) for key, value in stored.items()}
    rest = [key for key in keys if key not in known]
    # Ended without a verdict (it was lost, or the request drifted): what was answered is stored and costs nothing.
    ended = [key for key in rest if states.get(key, OPEN) != OPEN]
    if ended:
        ledger.reopen(ended, error_only=False)
    if not rest:
        return ClaimedQuestions(known, {}, frozenset())
    won = await ledger.claim(rest)
    found = ledger.load([key for key in rest if key in won.ids and key not in won.new])
    return ClaimedQuestions(known, {key: found.get(key) for key in rest if key in won.ids}, frozenset(rest) - won.ids)


def ask_again(ledger: Ledger, keys: Sequence[str]) -> int:
    """Open questions that ended in an error (unusable answers included) for new answers; returns how many.

    They get a new epoch, so what was answered before stays paid and stored but is not read again.
    """
    ended = sorted(key for key, state in ledger.states(keys).items() if state.startswith(ERROR_PREFIX))
    if ended:
        ledger.bump_epoch(ended)
        ledger.reopen(ended)
    return len(ended)
