"""Degradation of a setting against FULL: the ratio in percent (mean over tasks) and the drop in points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lic_pipeline.metrics.statistics.intervals import LEVEL, RESAMPLES, Interval, bootstrap_means, ci_items
from lic_pipeline.metrics.statistics.run_subsets import FloatArray

FLOOR = 5.0
"""Tasks whose FULL P is below this many points are left out of the ratio: it would be noise over noise."""

_NO_WIDTH = 1e-9


@dataclass(frozen=True)
class TaskPair:
    """One task's P in both settings, and the paired instruction means (n, 2): setting, FULL; may be empty."""

    task: str
    setting_p: float
    full_p: float
    paired: FloatArray


@dataclass(frozen=True)
class Degradation:
    """``ratio`` in percent over ``tasks``; ``drop`` in points (setting - FULL) over all tasks; with intervals."""

    ratio: float | None
    ratio_ci: Interval | None
    drop: float
    drop_ci: Interval | None
    tasks: tuple[str, ...]
    left_out: tuple[str, ...]


def degradation_ratio(setting: Mapping[str, float], full: Mapping[str, float]) -> float | None:
    """Mean over tasks of setting P / FULL P, in percent ([P1] table 1); None when no task has FULL P >= 5.

    Raises ValueError when the two do not hold the same tasks: a mean over different tasks compares nothing.
    """
    if set(setting) != set(full):
        raise ValueError(f"both settings need the same tasks; differing: {sorted(set(setting) ^ set(full))}")
    ratios = [100 * setting[task] / full[task] for task in sorted(full) if full[task] >= FLOOR]
    return float(np.mean(ratios)) if ratios else None


def degradation(pairs: Sequence[TaskPair]) -> Degradation:
    """Ratio and drop with paired bootstrap intervals within task. Raises ValueError without any task or with NaN."""
    if not pairs:
        raise ValueError("degradation needs at least one task")
    pairs = sorted(pairs, key=lambda pair: pair.task)
    kept = [pair for pair in pairs if pair.full_p >= FLOOR]
    for pair in pairs:
        if not np.isfinite([pair.setting_p, pair.full_p]).all() or not np.isfinite(pair.paired).all():
            raise ValueError(f"degradation of task {pair.task} was asked of values that are not all numbers")
    return Degradation(
        ratio=degradation_ratio({p.task: p.setting_p for p in kept}, {p.task: p.full_p for p in kept}),
        ratio_ci=_ratio_interval(kept),
        drop=float(np.mean([pair.setting_p - pair.full_p for pair in pairs])),
        drop_ci=paired_interval([pair.paired[:, 0] - pair.paired[:, 1] for pair in pairs]),
        tasks=tuple(pair.task for pair in kept),
        left_out=tuple(pair.task for pair in pairs if pair.full_p < FLOOR),
    )


def paired_interval(differences: Sequence[ArrayLike]) -> Interval | None:
    """Interval of a mean (over strata) of paired differences by the rules of ``ci_items``, on the scale -100..100."""
    return ci_items(differences, scale=(-100.0, 100.0))


def _ratio_interval(kept: Sequence[TaskPair]) -> Interval | None:
    """Percentile interval; None when a task has no pairs, FULL is 0 in over 1% of the resamples, or nothing varies.

    Where all pairs have one ratio, resampling shows no spread, and an interval without width would claim certainty.
    """
    if not kept or any(len(pair.paired) == 0 for pair in kept):
        return None
    means = bootstrap_means([pair.paired for pair in kept])
    usable = (means[:, :, 1] > 0).all(axis=1)
    if usable.sum() < 0.99 * RESAMPLES:
        return None
    ratios = 100 * (means[usable, :, 0] / means[usable, :, 1]).mean(axis=1)
    low, high = np.quantile(ratios, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    if high - low < _NO_WIDTH:
        return None
    return Interval(float(low), float(high), "paired bootstrap within task", sum(len(pair.paired) for pair in kept))
