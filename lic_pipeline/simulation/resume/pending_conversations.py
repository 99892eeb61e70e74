"""What of a plan is still to be done, by the ledger's states, what the lake really holds, and what current code says.

Nothing is called here; ``reopen_pending`` alone writes to the ledger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.ledger.records import DONE, ERROR_PREFIX, OPEN
from lic_pipeline.simulation.plan.conversation_plan import ConversationSpec, Family, Plan
from lic_pipeline.simulation.resume.stopped_early import to_continue

RERUN_WITHOUT_RETRY = frozenset({"error:drift"})
"""Failed states a plain rerun takes up again: they cost no call and their cause is the user's to mend."""


class PendingConversations:
    """``settled``: ids with an outcome. ``failed``: settled ones in error by state. ``todo``: families not settled."""

    def __init__(self, plan: Plan, ledger: Ledger, store: ConversationStore) -> None:
        self.plan = plan
        self.ledger = ledger
        self.store = store
        specs = plan.specs
        self.total = len(specs)
        # States first: what the ledger calls finished was in the lake before.
        self.states: dict[str, str] = ledger.states([spec.conversation_id for spec in specs])
        endings = store.endings([spec.conversation_id for spec in specs])
        unknown = [name for name, ending in endings.items() if name not in self.states and ending.state == DONE]
        # Asked again: another process may have finished them since the first look.
        self.unknown_to_ledger = len(unknown) - len(ledger.states(unknown)) if unknown else 0
        """Finished by the lake, unknown to the ledger: its file was lost or another one is in use."""
        self.settled = {
            name
            for name, state in self.states.items()
            if state != OPEN and state not in RERUN_WITHOUT_RETRY and name in endings and endings[name].state == state
        }
        self.to_continue: frozenset[str] = frozenset(to_continue(plan, self.settled, endings, store, ledger))
        """Finished by a verdict that current code does not share, before everything was said: they go on."""
        self.settled -= self.to_continue
        self.failed = Counter(self.states[name] for name in self.settled if self.states[name] != DONE)
        self.todo = [family for family in plan.families if any(self.open_specs(family))]

    def open_specs(self, family: Family) -> Iterator[ConversationSpec]:
        """Specs of a family that still need an outcome."""
        return (spec for spec in family.specs if spec.conversation_id not in self.settled)

    def is_done(self, spec: ConversationSpec) -> bool:
        """True when a conversation is settled and not in error."""
        return spec.conversation_id in self.settled and self.states[spec.conversation_id] == DONE

    def reopen_pending(self) -> None:
        """Open what has ended by the ledger but is not settled: its row is gone from the lake, or it goes on.

        Only open conversations can be claimed. Their calls are in the ledger, so holding them again costs none.
        """
        if self.to_continue:
            self.ledger.bump_epoch(sorted(self.to_continue))
        ended = [name for name, state in self.states.items() if state != OPEN and name not in self.settled]
        if ended:
            self.ledger.reopen(ended, error_only=False)

    def settle(self, specs: Iterable[ConversationSpec]) -> None:
        """Take note of those that another process has brought to an end in the meantime."""
        states: Mapping[str, str] = self.ledger.states([spec.conversation_id for spec in specs])
        for name, state in states.items():
            self.states[name] = state
            if state == DONE or state.startswith(ERROR_PREFIX):
                self.settled.add(name)
                if state != DONE:
                    self.failed[state] += 1
