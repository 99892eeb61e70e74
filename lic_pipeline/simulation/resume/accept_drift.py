"""Accepting drift: conversations whose stored requests would be made differently today are asked anew, on demand."""

from __future__ import annotations

from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.ledger.records import OPEN
from lic_pipeline.simulation.plan.conversation_plan import Plan
from lic_pipeline.simulation.resume.pending_conversations import RERUN_WITHOUT_RETRY


def accept_drift(plan: Plan, ledger: Ledger) -> int:
    """Open a new epoch for every conversation of the plan that is under way or drifted; returns how many there are.

    A stored call stays good where its request is still the same, so only what differs is paid for. Finished
    conversations keep what they are.
    """
    states = ledger.states([spec.conversation_id for spec in plan.specs])
    names = sorted(name for name, state in states.items() if state == OPEN or state in RERUN_WITHOUT_RETRY)
    if names:
        ledger.bump_epoch(names)
    return len(names)
