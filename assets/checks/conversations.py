"""The check of conversations: every invariant of every planned conversation, by setting."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import dagster as dg

from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.records import Setting
from lic_pipeline.simulation.invariants import INVARIANTS, broken_invariants

INVARIANTS_CHECK = "conversation_invariants"
_MOST_IDS = 20


@dataclass
class InvariantCounts:
    """What was found: conversations read, and ids by setting and broken invariant."""

    rows: Counter[Setting] = field(default_factory=Counter)
    broken: dict[Setting, dict[str, list[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    errors: dict[Setting, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def result(self, setting: Setting, asset: str) -> dg.AssetCheckResult:
        """The check result of one setting: a broken invariant blocks, conversations that ended in an error warn."""
        broken = self.broken[setting]
        errors = self.errors[setting]
        return dg.AssetCheckResult(
            asset_key=asset,
            check_name=INVARIANTS_CHECK,
            passed=not broken and not errors,
            severity=dg.AssetCheckSeverity.ERROR if broken else dg.AssetCheckSeverity.WARN,
            metadata={
                "conversations": self.rows[setting],
                "rules": dg.MetadataValue.json(sorted(INVARIANTS)),
                "broken": dg.MetadataValue.json({name: len(ids) for name, ids in broken.items()}),
                "offending": dg.MetadataValue.json({name: ids[:_MOST_IDS] for name, ids in broken.items()}),
                "ended_in_error": dg.MetadataValue.json(dict(errors)),
            },
        )


def invariants_check(store: ConversationStore, planned: Mapping[str, Setting]) -> InvariantCounts:
    """Read every planned conversation that is stored and test it."""
    counts = InvariantCounts()
    for conversation in store.read(planned):
        counts.rows[conversation.setting] += 1
        if conversation.state != "done":
            counts.errors[conversation.setting][conversation.state] += 1
        for name in broken_invariants(conversation):
            counts.broken[conversation.setting][name].append(conversation.conversation_id)
    return counts
