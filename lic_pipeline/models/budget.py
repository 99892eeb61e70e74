"""Hard caps of a run, in USD and tokens, over every role and every process. What was spent is read from the ledger."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from lic_pipeline.errors import ConfigError
from lic_pipeline.models.errors import BudgetError
from lic_pipeline.models.prices import price_of
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.records import Reply


@dataclass(frozen=True, slots=True)
class Budget:
    """Caps of one scope; None = no cap. Every call of the scope counts, whenever it was made."""

    scope: str
    usd: float | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        if not self.scope:
            raise ConfigError("a budget needs a scope")
        if (self.usd is not None and not self.usd >= 0) or (self.tokens is not None and self.tokens < 0):
            raise ConfigError("a budget cannot be negative")


class Spending(Protocol):
    """What a ledger knows of spending."""

    def budget(self, scope: str) -> tuple[float, int]:
        """USD and tokens, read now."""

    def budget_seen(self, scope: str) -> tuple[float, int]:
        """USD and tokens at the last commit."""


class SpendRecords(Protocol):
    """Where spending is written that no call row carries."""

    def add_spend(self, scope: str, usd: float, tokens: int) -> None:
        """Add to a scope."""


def require_countable(budget: Budget | None, entries: Iterable[ModelEntry]) -> None:
    """Raise ConfigError when a USD cap would not hold: a model of unknown price, and no token cap."""
    if budget is None or budget.usd is None or budget.tokens is not None:
        return
    unpriced = sorted({entry.alias for entry in entries if price_of(entry) is None})
    if unpriced:
        raise ConfigError(
            f"the price of {', '.join(unpriced)} is unknown, so a budget in USD cannot hold: add a token budget, or a "
            "price to the registry entry"
        )


@dataclass(slots=True)
class Meter:
    """Tokens of this process's calls whose cost is unknown. For showing only: what counts is in the ledger."""

    unpriced_tokens: int = 0


METER = Meter()


class BudgetWatch:
    """Refuses calls once a budget is used up; overshoot is at most the calls in flight."""

    def __init__(self, budget: Budget, ledger: Spending) -> None:
        self.budget = budget
        self._ledger = ledger
        self._usd, self._tokens = ledger.budget(budget.scope)

    def answered(self, reply: Reply, tokens: int, estimated_usd: float, records: SpendRecords) -> None:
        """Count an answered call at once: its row may not be committed yet when the next one is asked for.

        ``tokens`` and ``estimated_usd`` stand in for what the provider did not report. The call's own row carries what
        it did report; only the estimate is written beside it.
        """
        usd = estimated_usd if reply.cost_usd is None else reply.cost_usd
        self._usd += usd
        self._tokens += tokens
        if reply.cost_usd is None:
            METER.unpriced_tokens += tokens
        reported = (reply.usage.prompt or 0) + (reply.usage.completion or 0)
        unreported = 0.0 if reply.cost_usd is not None else usd
        if unreported or tokens > reported:
            records.add_spend(self.budget.scope, unreported, tokens - reported)

    def check(self) -> None:
        """Raise BudgetError when a cap is reached."""
        budget = self.budget
        if budget.usd is None and budget.tokens is None:
            return
        seen_usd, seen_tokens = self._ledger.budget_seen(budget.scope)
        usd, tokens = max(self._usd, seen_usd), max(self._tokens, seen_tokens)
        reached = []
        if budget.usd is not None and usd >= budget.usd:
            reached.append(f"${usd:.4f} of ${budget.usd:.4f}")
        if budget.tokens is not None and tokens >= budget.tokens:
            reached.append(f"{tokens} of {budget.tokens} tokens")
        if reached:
            raise BudgetError(
                f"the budget of {budget.scope} is used up ({' and '.join(reached)}); everything paid for is stored, "
                "raise the budget to go on"
            )
