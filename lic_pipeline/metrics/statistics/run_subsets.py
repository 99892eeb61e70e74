"""Averages over all N-subsets of an instruction's runs, in closed form.

An interpolated percentile is a weighted sum of order statistics, and the mean of the k-th order statistic over all
N-subsets of M values is again a weighted sum of the sorted values (hypergeometric weights). So the average is exact
for every kind of score; no subsets are drawn.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb, floor

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@lru_cache(maxsize=512)
def _order_statistic_weights(runs: int, target: int, k: int) -> tuple[float, ...]:
    """E[k-th smallest of a random ``target``-subset] = sum over i of weight_i * i-th smallest of all (i, k from 1)."""
    total = comb(runs, target)
    return tuple(comb(i - 1, k - 1) * comb(runs - i, target - k) / total for i in range(1, runs + 1))


def percentile_weights(runs: int, target: int, q: float) -> FloatArray:
    """Weights (length ``runs``) on the ascending values that give the average q-percentile over all target-subsets.

    Linear interpolation (numpy's default). Raises ValueError unless 1 <= target <= runs and 0 <= q <= 100.
    """
    if not 1 <= target <= runs:
        raise ValueError(f"target N must lie in 1..{runs}, the number of runs; got {target}")
    if not 0 <= q <= 100:
        raise ValueError(f"a percentile lies in 0..100; got {q}")
    position = (target - 1) * q / 100
    below = floor(position)
    fraction = position - below
    weights = (1 - fraction) * np.array(_order_statistic_weights(runs, target, below + 1))
    if fraction > 0:
        weights += fraction * np.array(_order_statistic_weights(runs, target, below + 2))
    return weights


def subset_percentile(sorted_runs: FloatArray, target: int, q: float) -> FloatArray:
    """Average q-percentile over all ``target``-subsets of each row of ``sorted_runs`` (n, M), rows ascending."""
    runs = sorted_runs.shape[1]
    if runs == target:  # plain percentile; written as a + (b - a) t so that equal neighbours give exactly their value
        position = (runs - 1) * q / 100
        below = floor(position)
        above = min(below + 1, runs - 1)
        lower = sorted_runs[:, below]
        plain: FloatArray = lower + (sorted_runs[:, above] - lower) * (position - below)
        return plain
    mixed: FloatArray = np.clip(
        sorted_runs @ percentile_weights(runs, target, q), sorted_runs[:, 0], sorted_runs[:, -1]
    )
    return mixed


def pass_at(runs: int, solved: int, k: int) -> float:
    """pass@k: probability that at least one of k runs drawn without replacement is solved (Chen et al. 2021)."""
    _check_draw(runs, solved, k)
    return 1 - comb(runs - solved, k) / comb(runs, k)


def pass_all(runs: int, solved: int, k: int) -> float:
    """pass^k: probability that all of k runs drawn without replacement are solved."""
    _check_draw(runs, solved, k)
    return comb(solved, k) / comb(runs, k)


def _check_draw(runs: int, solved: int, k: int) -> None:
    if not (1 <= k <= runs and 0 <= solved <= runs):
        raise ValueError(f"need 1 <= k <= runs and 0 <= solved <= runs; got runs={runs}, solved={solved}, k={k}")
