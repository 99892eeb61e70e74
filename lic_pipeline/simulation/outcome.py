"""What a run of a plan came to, and how far it is while it runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(slots=True)
class Progress:
    """Counts of one partition under way: ``finished`` of ``total`` conversations, ``calls`` really made."""

    label: str
    total: int
    already: int = 0
    finished: int = 0
    failed: int = 0
    calls: int = 0
    cost_usd: float = 0.0
    elsewhere: int = 0


OnProgress = Callable[[Progress], None]


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
