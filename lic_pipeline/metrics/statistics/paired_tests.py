"""Tests and verdicts on paired instruction values: sign-flip permutation, Holm, difference in differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from lic_pipeline.metrics.statistics.degradation import paired_interval
from lic_pipeline.metrics.statistics.intervals import Interval
from lic_pipeline.metrics.statistics.resampling_seeds import generator
from lic_pipeline.metrics.statistics.run_subsets import FloatArray

FLIPS = 10_000
MARGIN = 2.0
"""Default margin δ, in points: a smaller difference does not matter."""
_EXACT_UP_TO = 13  # 2^13 sign patterns are fewer than FLIPS
_LEVELS_PAY = 100

Outcome = Literal["better", "worse", "no difference", "cannot tell"]


def sign_flip(strata: Sequence[ArrayLike]) -> float:
    """Two-sided p of the mean (over strata of the mean over instructions) of paired differences.

    Signs of instructions are flipped: all patterns when there are few, else 10,000 seeded ones with the observed
    pattern counted. Raises ValueError on NaN or an empty stratum.
    """
    values = [np.asarray(stratum, dtype=np.float64) for stratum in strata]
    if not values or any(v.size == 0 or not np.isfinite(v).all() for v in values):
        raise ValueError("a permutation test needs at least one paired difference per stratum and no NaN")
    weighted = np.concatenate([v / (v.size * len(values)) for v in values])
    observed = abs(weighted.sum()) - 1e-9 * np.abs(weighted).sum()
    if weighted.size <= _EXACT_UP_TO:
        patterns = np.arange(2**weighted.size)[:, None] >> np.arange(weighted.size) & 1
        return float((np.abs((1.0 - 2.0 * patterns) @ weighted) >= observed).mean())
    return float((1 + _as_extreme(weighted, observed)) / (FLIPS + 1))


def _as_extreme(weighted: FloatArray, observed: float) -> int:
    """How many of the drawn sign patterns are at least as extreme as observed."""
    rng = generator("sign-flip", [weighted])
    sizes = np.abs(weighted[weighted != 0])
    levels, counts = np.unique(sizes, return_counts=True)
    if len(levels) * _LEVELS_PAY < sizes.size:  # equal sizes share one binomial draw
        positive = np.zeros(FLIPS)
        for level, count in zip(levels, counts, strict=True):
            positive += level * rng.binomial(count, 0.5, size=FLIPS)
        return int((np.abs(2 * positive - sizes.sum()) >= observed).sum())
    found = 0
    step = max(1, 2_000_000 // max(1, sizes.size))
    for first in range(0, FLIPS, step):
        packed = rng.integers(0, 256, size=(min(step, FLIPS - first), -(-sizes.size // 8)), dtype=np.uint8)
        signs = np.unpackbits(packed, axis=1, count=sizes.size).astype(np.float64)
        found += int((np.abs(2 * (signs @ sizes) - sizes.sum()) >= observed).sum())
    return found


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact two-sided McNemar p from the discordant counts; for one run per item and one model only."""
    from scipy.stats import binomtest

    if only_first < 0 or only_second < 0:
        raise ValueError("discordant counts cannot be negative")
    total = only_first + only_second
    return float(binomtest(only_first, total).pvalue) if total else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p, in the order given. Raises ValueError on values outside 0..1 (NaN included)."""
    raw = np.asarray(p_values, dtype=np.float64)
    if not ((raw >= 0) & (raw <= 1)).all():
        raise ValueError("a p value lies in 0..1")
    order = np.argsort(raw, kind="stable")
    stepped = np.maximum.accumulate(raw[order] * (raw.size - np.arange(raw.size)))
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(stepped, 1.0)
    return [float(p) for p in adjusted]


@dataclass(frozen=True)
class Finding:
    """A paired difference: estimate and interval in points, p, and what may be said at the margin."""

    estimate: float
    interval: Interval | None
    p: float
    outcome: Outcome
    margin: float
    more_needed: int | None

    @property
    def sentence(self) -> str:
        """The verdict in words, with the margin or the missing number of instructions."""
        if self.outcome == "no difference":
            return f"no difference larger than {self.margin:g} points"
        if self.outcome == "cannot tell":
            more = f"about {self.more_needed} more instructions needed" if self.more_needed else "more data needed"
            return f"cannot tell; {more}"
        return self.outcome


def verdict(interval: Interval | None, estimate: float, margin: float, higher_is_better: bool = True) -> Outcome:
    """What an interval of a difference allows to say: inside the margin, on one side of 0, or nothing."""
    if interval is None:
        return "cannot tell"
    if -margin <= interval.low and interval.high <= margin:
        return "no difference"
    if interval.low > 0 or interval.high < 0:
        return "better" if (estimate > 0) == higher_is_better else "worse"
    return "cannot tell"


def compare(strata: Sequence[ArrayLike], *, margin: float = MARGIN, higher_is_better: bool = True) -> Finding:
    """A paired comparison from instruction-wise differences per stratum (task): A minus B in points.

    For a difference in differences pass (A setting - A FULL) - (B setting - B FULL) per common instruction.
    """
    values = [np.asarray(stratum, dtype=np.float64) for stratum in strata]
    p = sign_flip(values)
    interval = paired_interval(values)
    estimate = float(np.mean([v.mean() for v in values]))
    outcome = verdict(interval, estimate, margin, higher_is_better)
    more = _more_needed(interval, estimate, margin) if outcome == "cannot tell" and interval else None
    return Finding(estimate, interval, p, outcome, margin, more)


def difference_in_differences(
    a_setting: ArrayLike, a_full: ArrayLike, b_setting: ArrayLike, b_full: ArrayLike
) -> FloatArray:
    """Instruction-wise (A setting - A FULL) - (B setting - B FULL), arrays over the same instructions."""
    parts = [np.asarray(part, dtype=np.float64) for part in (a_setting, a_full, b_setting, b_full)]
    if len({part.shape for part in parts}) != 1:
        raise ValueError("a difference in differences needs the same instructions in all four cells")
    result: FloatArray = (parts[0] - parts[1]) - (parts[2] - parts[3])
    return result


def _more_needed(interval: Interval, estimate: float, margin: float) -> int | None:
    """Instructions to add until the interval would exclude 0 or lie within the margin, whichever is sooner."""
    half = (interval.high - interval.low) / 2
    target = max(abs(estimate), margin - abs(estimate))
    if target <= 0 or half <= 0:
        return None
    return max(1, ceil(interval.n * ((half / target) ** 2 - 1)))


def against_limit(interval: Interval | None, limit: float) -> Literal["pass", "fail", "cannot tell"]:
    """The paper's criterion "U below ``limit``" by the interval: upper end below passes, lower end above fails."""
    if interval is not None and interval.high < limit:
        return "pass"
    if interval is not None and interval.low > limit:
        return "fail"
    return "cannot tell"
