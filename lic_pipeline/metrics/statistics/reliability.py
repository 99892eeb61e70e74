"""Performance, aptitude and unreliability of instructions from the scores of their runs, vectorised over groups.

Pure numpy on scores 0..100; what is undefined is NaN *inside* these arrays together with an explicit mask, and becomes
None or NULL at the border. No cell rules, no intervals, no files here.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lic_pipeline.metrics.statistics.run_subsets import FloatArray, subset_percentile

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

LOW, HIGH = 10.0, 90.0
"""The percentiles of U90-10 and A90."""


def checked_scores(values: ArrayLike) -> FloatArray:
    """Scores as a float array. Raises ValueError naming the first value that is NaN or outside 0..100."""
    scores = np.asarray(values, dtype=np.float64)
    bad = ~((scores >= 0) & (scores <= 100))
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(f"a score must be a number in 0..100; got {scores[where]} at position {where}")
    return scores


def percentile(values: ArrayLike, q: float) -> float:
    """The q-percentile of one list by linear interpolation. Raises ValueError on an empty list, NaN or q off 0..100."""
    data = np.sort(np.asarray(values, dtype=np.float64).ravel())
    if not data.size or np.isnan(data).any():
        raise ValueError("a percentile needs at least one value and no NaN")
    if not 0 <= q <= 100:
        raise ValueError(f"a percentile lies in 0..100; got {q}")
    return float(subset_percentile(data[None, :], data.size, q)[0])


@dataclass(frozen=True)
class Reliability:
    """Values per group (= instruction in a cell), arrays of one length.

    ``mean`` is NaN where nothing is scored, ``variance`` (n-1 in the denominator) where fewer than two runs are,
    ``a90`` and ``u`` where ``reaches`` is False (fewer scored runs than the target).
    """

    scored: IntArray
    solved: IntArray
    mean: FloatArray
    variance: FloatArray
    a90: FloatArray
    u: FloatArray
    reaches: BoolArray


def group_reliability(groups: IntArray, scores: ArrayLike, targets: IntArray) -> Reliability:
    """P, A90 and U90-10 of every group.

    ``groups`` (m,) holds the group 0..g-1 of each score (m,), ``targets`` (g,) each group's target N. Runs beyond the
    target enter A90 and U by the average over all N-subsets. Raises ValueError on NaN or scores outside 0..100.
    """
    values = checked_scores(scores)
    if (targets < 1).any():
        raise ValueError("a target N must be at least 1")
    count = len(targets)
    order = np.lexsort((values, groups))
    values, groups = values[order], groups[order]
    scored = np.bincount(groups, minlength=count).astype(np.int64)
    starts = np.concatenate(([0], np.cumsum(scored)[:-1])).astype(np.int64)
    result = Reliability(
        scored=scored,
        solved=np.bincount(groups[values == 100.0], minlength=count).astype(np.int64),
        mean=np.full(count, np.nan),
        variance=np.full(count, np.nan),
        a90=np.full(count, np.nan),
        u=np.full(count, np.nan),
        reaches=scored >= targets,
    )
    for runs in np.unique(scored[scored > 0]):
        for target in np.unique(targets[scored == runs]):
            chosen = np.flatnonzero((scored == runs) & (targets == target))
            _fill(result, chosen, values[starts[chosen, None] + np.arange(runs)], int(target))
    return result


def _fill(result: Reliability, chosen: IntArray, matrix: FloatArray, target: int) -> None:
    result.mean[chosen] = matrix.mean(axis=1)
    if matrix.shape[1] > 1:
        result.variance[chosen] = matrix.var(axis=1, ddof=1)
    if matrix.shape[1] >= target:
        high = subset_percentile(matrix, target, HIGH)
        result.a90[chosen] = high
        result.u[chosen] = high - subset_percentile(matrix, target, LOW)


def instruction_reliability(matrix: ArrayLike, target: int | None = None) -> Reliability:
    """The same for instructions with equally many runs: ``matrix`` is (instructions, runs); target = all runs."""
    scores = checked_scores(matrix)
    if scores.ndim != 2 or not scores.size:
        raise ValueError(f"need a table of instructions x runs with at least one score; got shape {scores.shape}")
    count, runs = scores.shape
    groups = np.repeat(np.arange(count), runs)
    return group_reliability(groups, scores.ravel(), np.full(count, target or runs, dtype=np.int64))


def binomial_truth(p: ArrayLike, n: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """E[P], E[A90], E[U90-10] (0..100) of n runs that are each solved with probability ``p`` (any shape).

    From the binomial law and the same percentile rule; the curve E[U_N | one p for all] of the reports.
    """
    chance = np.asarray(p, dtype=np.float64)
    if not ((chance >= 0) & (chance <= 1)).all():
        raise ValueError("a probability lies in 0..1")
    solved = np.arange(n + 1)
    runs = np.where(np.arange(n)[None, :] >= n - solved[:, None], 100.0, 0.0)
    ways = np.array([comb(n, int(c)) for c in solved], dtype=np.float64)
    law = ways * chance[..., None] ** solved * (1 - chance[..., None]) ** (n - solved)
    high, low = subset_percentile(runs, n, HIGH), subset_percentile(runs, n, LOW)
    return 100 * chance, law @ high, law @ (high - low)
