"""Intervals: which method, that they cover, that they depend on nothing but the values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from lic_pipeline.metrics.statistics.intervals import ci_items, ci_runs
from lic_pipeline.metrics.statistics.reliability import binomial_truth, instruction_reliability
from lic_pipeline.metrics.statistics.resampling_seeds import seed_of

Draw = Callable[[np.random.Generator, int], np.ndarray]
POPULATIONS: dict[str, Draw] = {
    "mostly able": lambda rng, n: rng.beta(2, 1, n),
    "two kinds": lambda rng, n: rng.beta(0.5, 0.5, n),
    "near the top": lambda rng, n: rng.beta(5, 0.6, n),
    "near the bottom": lambda rng, n: rng.beta(0.6, 4, n),
    "one chance for all": lambda rng, n: np.full(n, 0.7),
}


def test_few_instructions_student_t() -> None:
    values = np.array([10.0, 40, 55, 90, 100])
    interval = ci_items([values])
    assert interval is not None
    low, high = stats.t.interval(0.95, 4, loc=values.mean(), scale=stats.sem(values))
    assert (interval.low, interval.high) == pytest.approx((max(low, 0), min(high, 100)))
    assert (interval.method, interval.n) == ("Student t", 5)


def test_pseudo_values_for_aptitude_and_equal_values() -> None:
    for values, bounded in ((np.full(6, 100.0), False), (np.array([100.0, 100, 100, 0, 90, 100]), True)):
        interval = ci_items([values], bounded_values=bounded)
        assert interval is not None
        padded = np.append(values, [0.0, 100.0])
        low, high = stats.t.interval(0.95, 7, loc=padded.mean(), scale=stats.sem(padded))
        assert interval.low == pytest.approx(max(low, 0))
        assert interval.high == pytest.approx(min(max(high, values.mean()), 100))
        assert interval.method == "Student t with pseudo-values"


def test_many_instructions_bootstrap_close_to_theory() -> None:
    values = np.random.default_rng(4).uniform(0, 100, 200)
    interval = ci_items([values])
    assert interval is not None
    assert interval.method == "bootstrap over instructions"
    half = 1.96 * values.std() / np.sqrt(200)
    assert (interval.low, interval.high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.15 * half)


def test_few_distinct_values_are_resampled_alike() -> None:
    coarse = np.repeat([0.0, 50.0, 100.0], [300, 300, 900])
    fine = coarse + np.linspace(0, 1e-6, coarse.size) * np.where(coarse == 100, -1, 1)
    first, second = ci_items([coarse]), ci_items([fine])
    assert first is not None
    assert second is not None
    assert (first.low, first.high) == pytest.approx((second.low, second.high), abs=0.15)


def test_tasks_are_averaged_whatever_their_size() -> None:
    rng = np.random.default_rng(2)
    strata = [rng.uniform(0, 20, 400), rng.uniform(80, 100, 40)]
    interval = ci_items(strata)
    assert interval is not None
    centre = np.mean([s.mean() for s in strata])
    half = 1.96 * np.sqrt(sum(s.var() / s.size for s in strata)) / 2
    assert (interval.low, interval.high) == pytest.approx((centre - half, centre + half), abs=0.15 * half)
    assert interval.n == 440


def test_the_same_values_have_the_same_interval_and_other_ones_their_own() -> None:
    values = np.random.default_rng(7).uniform(0, 100, 60)
    assert ci_items([values]) == ci_items([values.tolist()])
    assert seed_of("a", [values]) == seed_of("a", [values + 1e-12]) == seed_of("a", [values.astype(">f8")])
    assert seed_of("a", [[0.0, 1.0]]) == seed_of("a", [[-0.0, 1.0]])
    seeds = [seed_of("a", [values]), seed_of("b", [values]), seed_of("a", [values[::-1]])]
    seeds += [seed_of("a", [values[:30], values[30:]]), seed_of("a", [values.reshape(30, 2)])]
    assert len(set(seeds)) == len(seeds)


def test_nothing_gives_no_interval_and_nan_is_refused() -> None:
    assert ci_items([]) is None
    assert ci_items([[1.0], []]) is None
    assert ci_runs([], [], []) is None
    assert ci_runs([50.0], [0.0], [1]) is None
    for values in ([1.0, float("nan")], [float("inf")]):
        with pytest.raises(ValueError, match="not all numbers"):
            ci_items([values])


def test_ci_runs_is_the_spread_of_reruns_of_the_same_instructions() -> None:
    rng = np.random.default_rng(1)
    chance = rng.uniform(0.1, 0.9, 40)
    reruns = np.array([(100.0 * (rng.random((40, 10)) < chance[:, None])).mean() for _ in range(2000)])
    result = instruction_reliability(100.0 * (rng.random((40, 10)) < chance[:, None]))
    interval = ci_runs(result.mean, result.variance, result.scored)
    assert interval is not None
    assert (interval.high - interval.low) / 2 == pytest.approx(1.96 * reruns.std(), rel=0.1)


def _coverage(draw: Draw, n: int, repeats: int, seed: int) -> np.ndarray:
    """Shares of intervals that hold the population's P, A90 and U90-10 at N = 10."""
    rng = np.random.default_rng(seed)
    truth = [float(np.mean(part)) for part in binomial_truth(draw(rng, 50_000), 10)]
    hits = np.zeros(3)
    for _ in range(repeats):
        result = instruction_reliability(100.0 * (rng.random((n, 10)) < draw(rng, n)[:, None]))
        for i, values in enumerate((result.mean, result.a90, result.u)):
            interval = ci_items([values], bounded_values=i > 0)
            assert interval is not None
            hits[i] += interval.low <= truth[i] <= interval.high
    return hits / repeats


def test_coverage_on_a_small_count() -> None:
    found = np.mean([_coverage(draw, 12, 60, i) for i, draw in enumerate(POPULATIONS.values())], axis=0)
    assert (found >= 0.89).all(), found


@pytest.mark.slow
@pytest.mark.parametrize("n", [6, 10, 20, 40, 100])
def test_coverage_over_populations(n: int) -> None:
    found = np.array([_coverage(draw, n, 500, i) for i, draw in enumerate(POPULATIONS.values())])
    assert (found[:, 1:] >= 0.93).all(), found  # A90 and U, in every population
    assert found[:, 0].mean() >= (0.93 if n >= 20 else 0.90), found  # P; t is short on few, skewed instructions
