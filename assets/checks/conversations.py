"""The check of conversations: every invariant of every planned conversation, by setting."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import dagster as dg

from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.records import Setting
from lic_pipeline.simulation.conversation.invariants import INVARIANTS, broken_invariants
from resources.tables import counts_table, records_table

INVARIANTS_CHECK = "conversation_invariants"
_MOST_IDS = 20


@dataclass
class InvariantCounts:
    """What was found: conversations read, and ids by setting and broken invariant."""

    rows: Counter[Setting] = field(default_factory=Counter)
    turns: Counter[Setting] = field(default_factory=Counter)
    stops: dict[Setting, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    broken: dict[Setting, dict[str, list[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    errors: dict[Setting, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def result(self, setting: Setting, asset: str) -> dg.AssetCheckResult:
        """The check result of one setting: a broken invariant blocks, conversations that ended in an error warn."""
        broken = self.broken[setting]
        errors = self.errors[setting]
        told = [f"{len(ids)} break {name}" for name, ids in broken.items()]
        told += [f"{number} ended as {state}" for state, number in errors.items()]
        return dg.AssetCheckResult(
            asset_key=asset,
            check_name=INVARIANTS_CHECK,
            passed=not broken and not errors,
            description="; ".join(told) or f"All {self.rows[setting]} conversations keep every rule.",
            severity=dg.AssetCheckSeverity.ERROR if broken else dg.AssetCheckSeverity.WARN,
            metadata={
                "conversations": self.rows[setting],
                "rules": len(INVARIANTS),
                **({"offending": _offending(broken)} if broken else {}),
                **({"ended_in_error": counts_table("state", errors)} if errors else {}),
            },
        )


def _offending(broken: Mapping[str, list[str]]) -> dg.TableMetadataValue:
    rows = [(name, len(ids), ", ".join(ids[:_MOST_IDS])) for name, ids in sorted(broken.items())]
    return records_table(("rule", "conversations", "first_ids"), rows)


def invariants_check(store: ConversationStore, planned: Mapping[str, Setting]) -> InvariantCounts:
    """Read every planned conversation that is stored and test it."""
    counts = InvariantCounts()
    for conversation in store.read(planned):
        counts.rows[conversation.setting] += 1
        counts.turns[conversation.setting] += len(conversation.turns)
        counts.stops[conversation.setting][str(conversation.stop_reason or conversation.state)] += 1
        if conversation.state != "done":
            counts.errors[conversation.setting][conversation.state] += 1
        for name in broken_invariants(conversation):
            counts.broken[conversation.setting][name].append(conversation.conversation_id)
    return counts
