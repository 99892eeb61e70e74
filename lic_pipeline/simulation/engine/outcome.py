"""What a run of a plan came to, and how far it is while it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from lic_pipeline.errors import BudgetReachedError, LicError, ProviderStoppedError
from lic_pipeline.models.errors import BudgetError, CallError

COUNTS = ("finished", "failed", "calls", "cost_usd", "unpriced_tokens")
"""What adds up over the processes of a run."""


@dataclass(slots=True)
class Progress:
    """Counts of one partition under way: ``finished`` of ``total`` conversations, ``calls`` really made.

    ``beside``: the counts of the other processes of the run, by process. ``unpriced_tokens`` is filled in theirs alone;
    those of this process are metered where calls are answered.
    """

    label: str
    total: int
    already: int = 0
    finished: int = 0
    failed: int = 0
    calls: int = 0
    cost_usd: float = 0.0
    elsewhere: int = 0
    unpriced_tokens: int = 0
    beside: dict[int, Progress] = field(default_factory=dict)

    @property
    def overall(self) -> Progress:
        """The counts of all processes of the run together."""
        if not self.beside:
            return self
        everyone = [self, *self.beside.copy().values()]
        return replace(self, beside={}, **{name: sum(getattr(one, name) for one in everyone) for name in COUNTS})


OnProgress = Callable[[Progress], None]


@dataclass(slots=True)
class Tally:
    """What a run has come to so far: its progress, what is ``missing`` by reason, and the error that stops it."""

    progress: Progress
    missing: Counter[str] = field(default_factory=Counter)
    fatal: LicError | None = None

    def stop(self, error: LicError) -> None:
        """Nothing more is begun; the first error is the one a person is told."""
        self.fatal = self.fatal or error


def ending_of(error: CallError) -> LicError | None:
    """What ends the whole run when a call fails like this; None where one conversation or question alone is hit."""
    if isinstance(error, BudgetError):
        return BudgetReachedError(str(error))
    return ProviderStoppedError(str(error)) if error.stops_run else None


@dataclass(frozen=True)
class Outcome:
    """The end of a run: ``already`` finished before, ``held`` now; ``missing`` counts the rest by reason."""

    total: int
    already: int
    held: int
    calls: int
    missing: Mapping[str, int] = field(default_factory=Counter)
    skipped: str | None = None

    @property
    def complete(self) -> bool:
        """True when every planned conversation has an outcome that counts."""
        return not self.missing
