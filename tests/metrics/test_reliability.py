"""Percentiles, P, A90, U and averages over subsets of runs against numpy, brute force and the paper's own example."""

from __future__ import annotations

import csv
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from lic_pipeline.metrics.statistics.reliability import (
    binomial_truth,
    checked_scores,
    group_reliability,
    instruction_reliability,
    percentile,
)
from lic_pipeline.metrics.statistics.run_subsets import pass_all, pass_at, percentile_weights, subset_percentile


@pytest.mark.parametrize("n", [1, 2, 3, 7, 10, 33])
def test_percentile_is_numpys_linear_one(n: int) -> None:
    values = np.random.default_rng(n).uniform(0, 100, n)
    for q in (0, 10, 37.5, 50, 90, 100):
        assert percentile(values, q) == pytest.approx(np.percentile(values, q), abs=1e-12)


@pytest.mark.parametrize(
    ("values", "q"), [([], 50), ([1.0, float("nan")], 50), ([1.0], 101), ([1.0], -1), ([1.0], float("nan"))]
)
def test_percentile_refuses_what_has_none(values: list[float], q: float) -> None:
    with pytest.raises(ValueError, match="percentile"):
        percentile(values, q)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -0.1, 100.0001])
def test_no_score_off_the_scale_enters(bad: float) -> None:
    with pytest.raises(ValueError, match="a score must be"):
        checked_scores([50.0, bad])
    with pytest.raises(ValueError, match="a score must be"):
        group_reliability(np.array([0, 0]), [50.0, bad], np.array([2]))
    with pytest.raises(ValueError, match="a score must be"):
        instruction_reliability([[0.0, bad]])


def test_equal_runs_have_exactly_their_value() -> None:
    result = instruction_reliability(np.full((3, 10), 73.3))
    assert (result.a90 == 73.3).all()
    assert (result.u == 0).all()


@pytest.mark.parametrize(("runs", "target"), [(5, 5), (6, 5), (8, 3), (9, 4), (7, 1), (12, 10)])
@pytest.mark.parametrize("binary", [True, False])
def test_subset_average_equals_brute_force(runs: int, target: int, binary: bool) -> None:
    rng = np.random.default_rng(runs * 100 + target)
    values = np.sort(100.0 * (rng.random(runs) < 0.6) if binary else rng.uniform(0, 100, runs))
    for q in (10, 50, 90):
        every = [np.percentile(subset, q) for subset in combinations(values, target)]
        assert subset_percentile(values[None, :], target, q)[0] == pytest.approx(np.mean(every), abs=1e-9)


def test_two_hundred_drawn_subsets_agree_with_the_closed_form() -> None:
    rng = np.random.default_rng(11)
    values = np.sort(rng.uniform(0, 100, 30))
    drawn = [np.percentile(rng.choice(values, 10, replace=False), 90) for _ in range(200)]
    exact = subset_percentile(values[None, :], 10, 90)[0]
    assert abs(np.mean(drawn) - exact) < 4 * np.std(drawn) / np.sqrt(200)


def test_weights_sum_to_one_and_refuse_too_few_runs() -> None:
    assert percentile_weights(17, 10, 90).sum() == pytest.approx(1)
    for runs, target in ((5, 6), (5, 0)):
        with pytest.raises(ValueError, match="target N"):
            percentile_weights(runs, target, 50)


def test_groups_of_different_size_in_any_order() -> None:
    rng = np.random.default_rng(3)
    sizes = {0: 10, 1: 4, 2: 0, 3: 12, 4: 10}
    groups = np.concatenate([np.full(n, g) for g, n in sizes.items()])
    scores = rng.uniform(0, 100, len(groups))
    shuffled = rng.permutation(len(groups))
    result = group_reliability(groups[shuffled], scores[shuffled], np.full(5, 10))
    assert result.reaches.tolist() == [True, False, False, True, True]
    for g in (0, 4):
        own = scores[groups == g]
        assert result.mean[g] == pytest.approx(own.mean())
        assert result.variance[g] == pytest.approx(own.var(ddof=1))
        assert result.a90[g] == pytest.approx(np.percentile(own, 90))
        assert result.u[g] == pytest.approx(np.percentile(own, 90) - np.percentile(own, 10))
    assert np.isnan(result.mean[2])
    assert np.isnan(result.a90[[1, 2]]).all()
    own = scores[groups == 3]
    every = [np.percentile(subset, 90) for subset in combinations(own, 10)]
    assert result.a90[3] == pytest.approx(np.mean(every))


def _paper_example(shared_data: Path) -> dict[str, dict[str, float]]:
    cells: dict[str, dict[str, float]] = {}
    with (shared_data / "published" / "paper1_other.csv").open(encoding="utf-8") as handle:
        for row in csv.DictReader(handle):
            if row["table"] == "AppE_metric_fixture":
                cells.setdefault(row["key1"], {})[row["key2"]] = float(row["value"])
    return cells


def test_papers_worked_example(shared_data: Path) -> None:
    cells = _paper_example(shared_data)
    assert len(cells) == 4
    for name, printed in cells.items():
        rows = []
        for count, solved, runs in re.findall(r"(\d+) instr (\d+)/(\d+)", name):
            rows += [[100.0] * int(solved) + [0.0] * (int(runs) - int(solved))] * int(count)
        result = instruction_reliability(rows)
        assert result.mean.mean() == pytest.approx(printed["P"])
        assert result.a90.mean() == pytest.approx(printed["A"])
        # the paper prints 60 for situation 3; five of ten instructions with 6/10 solved give 50 by its own formula
        expected = 50.0 if "situation 3" in name else printed["U"]
        assert result.u.mean() == pytest.approx(expected), name


def test_pass_at_k_by_enumeration() -> None:
    runs = [1, 1, 1, 0, 0, 0, 0]
    for k in range(1, 8):
        subsets = list(combinations(runs, k))
        assert pass_at(7, 3, k) == pytest.approx(np.mean([max(s) for s in subsets]))
        assert pass_all(7, 3, k) == pytest.approx(np.mean([min(s) for s in subsets]))
    for arguments in ((7, 3, 0), (7, 3, 8), (7, 8, 1)):
        with pytest.raises(ValueError, match="k <= runs"):
            pass_at(*arguments)


@pytest.mark.parametrize("p", [0.0, 0.2, 0.5, 0.93, 1.0])
def test_binomial_truth_is_the_mean_of_simulated_instructions(p: float) -> None:
    simulated = instruction_reliability(100.0 * (np.random.default_rng(8).random((20_000, 10)) < p))
    for truth, values in zip(binomial_truth(p, 10), (simulated.mean, simulated.a90, simulated.u), strict=True):
        assert float(truth) == pytest.approx(values.mean(), abs=max(4 * values.std() / np.sqrt(20_000), 0.02))


def test_a_million_scores_take_seconds_at_most() -> None:
    from time import process_time

    groups = np.repeat(np.arange(100_000), 10)
    scores = np.random.default_rng(0).integers(0, 2, 1_000_000) * 100.0
    start = process_time()
    result = group_reliability(groups, scores, np.full(100_000, 10))
    assert process_time() - start < 2
    assert result.reaches.all()
