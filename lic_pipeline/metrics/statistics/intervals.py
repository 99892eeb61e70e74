"""95% intervals of means over instructions, each with the name of its method.

``ci_items`` answers "on instructions like these", ``ci_runs`` "these instructions, run again". Several strata (tasks)
are averaged with equal weight. Everything is deterministic given values in instruction order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lic_pipeline.metrics.statistics.resampling_seeds import generator
from lic_pipeline.metrics.statistics.run_subsets import FloatArray

RESAMPLES = 10_000
LEVEL = 0.95
SMALL = 30
"""Below this many instructions the bootstrap's intervals are too narrow, and Student's t is used."""
_CHUNK = 2_000_000
_LEVELS_PAY = 50


@dataclass(frozen=True)
class Interval:
    """An interval in points (or percent), how it was made and over how many instructions."""

    low: float
    high: float
    method: str
    n: int


def ci_items(
    strata: Sequence[ArrayLike], *, bounded_values: bool = False, scale: tuple[float, float] = (0.0, 100.0)
) -> Interval | None:
    """Interval of the mean over strata (tasks) of the mean over instructions; None when a stratum is empty.

    ``bounded_values``: for A90 and U90-10, whose instruction values crowd at the ends of the scale: t with one
    pseudo-value at each end of ``scale``, as whenever all values of a stratum are equal. Otherwise, percentile
    bootstrap over instructions within each stratum if all have at least 30, else Student t.
    Raises ValueError on NaN.
    """
    values = [_finite(stratum) for stratum in strata]
    if not values or any(v.size == 0 for v in values):
        return None
    estimate = float(np.mean([v.mean() for v in values]))
    n = sum(v.size for v in values)
    pseudo = [bounded_values or bool(np.ptp(v) == 0) for v in values]
    if not any(pseudo) and min(v.size for v in values) >= SMALL:
        low, high = np.quantile(bootstrap_means(values).mean(axis=1), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        return Interval(float(low), float(high), "bootstrap over instructions", n)
    ends = np.array(scale)
    padded = [np.concatenate((v, ends)) if p else v for v, p in zip(values, pseudo, strict=True)]
    low, high = _student(padded)
    low, high = max(min(low, estimate), scale[0]), min(max(high, estimate), scale[1])
    return Interval(low, high, "Student t with pseudo-values" if any(pseudo) else "Student t", n)


def ci_runs(means: ArrayLike, variances: ArrayLike, runs: ArrayLike) -> Interval | None:
    """Interval of P if the same instructions were run again: within-instruction variance only (normal theory, t).

    Arrays per instruction: mean, variance of one run (n-1), runs. Half its width is the noise floor. None when no
    instruction has two runs; the method says how many instructions stand for the variance.
    """
    values, spread, counts = _finite(means), np.asarray(variances, dtype=np.float64), np.asarray(runs, dtype=np.float64)
    known = counts >= 2
    if not values.size or not known.any():
        return None
    noise = np.where(known, spread, spread[known].mean())  # instructions with one run borrow the average variance
    half = _t(float((counts[known] - 1).sum())) * float(np.sqrt((noise / counts).sum())) / values.size
    centre = float(values.mean())
    return Interval(max(centre - half, 0.0), min(centre + half, 100.0), "runs within instructions, t", values.size)


def bootstrap_means(strata: Sequence[FloatArray]) -> FloatArray:
    """Means of 10,000 resamples of instructions, one column per stratum: (10000, strata).

    A two-dimensional stratum (instructions, k) is resampled by instruction and gives (10000, strata, k): paired.
    """
    rng = generator("bootstrap", strata)
    columns = [_resampled(np.asarray(stratum, dtype=np.float64), rng) for stratum in strata]
    return np.stack(columns, axis=1)


def _resampled(values: FloatArray, rng: np.random.Generator) -> FloatArray:
    n = len(values)
    levels, counts = np.unique(values, axis=0, return_counts=True) if n > _LEVELS_PAY else (values, np.empty(0))
    if len(levels) * _LEVELS_PAY < n:  # few distinct values: how often each is drawn is one multinomial draw
        drawn = rng.multinomial(n, counts / n, size=RESAMPLES)
        by_levels: FloatArray = drawn @ levels / n
        return by_levels
    columns = values.reshape(n, -1).T.copy()  # gathering column by column is several times faster than rows of pairs
    means = np.empty((RESAMPLES, len(columns)))
    step = max(1, _CHUNK // n)
    for first in range(0, RESAMPLES, step):
        last = min(first + step, RESAMPLES)
        places = rng.integers(0, n, size=(last - first, n))
        for i, column in enumerate(columns):
            means[first:last, i] = column.take(places).mean(axis=1)
    return means.reshape(RESAMPLES, *values.shape[1:])


def _student(strata: Sequence[FloatArray]) -> tuple[float, float]:
    """Student t for the mean of stratum means; degrees of freedom by Welch and Satterthwaite."""
    sizes = np.array([v.size for v in strata], dtype=np.float64)
    squares = np.array([v.var(ddof=1) for v in strata]) / sizes
    centre = float(np.mean([v.mean() for v in strata]))
    total = float(squares.sum())
    freedom = total**2 / float((squares**2 / (sizes - 1)).sum()) if total > 0 else float(sizes.min() - 1)
    half = _t(freedom) * total**0.5 / len(strata)
    return centre - half, centre + half


def _t(freedom: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + LEVEL) / 2))


def _finite(values: ArrayLike) -> FloatArray:
    data = np.asarray(values, dtype=np.float64)
    if not np.isfinite(data).all():
        raise ValueError("an interval was asked of values that are not all numbers")
    return data
