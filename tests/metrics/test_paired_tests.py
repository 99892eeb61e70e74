"""Degradation, tests and verdicts."""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from lic_pipeline.metrics.statistics.degradation import TaskPair, degradation, degradation_ratio
from lic_pipeline.metrics.statistics.intervals import Interval
from lic_pipeline.metrics.statistics.paired_tests import (
    against_limit,
    compare,
    difference_in_differences,
    holm,
    mcnemar,
    sign_flip,
    verdict,
)


def test_papers_degradation_columns(shared_data: Path) -> None:
    printed: dict[tuple[str, str], float] = {}
    cells: dict[tuple[str, str], dict[str, float]] = {}
    with (shared_data / "published" / "paper1_table1.csv").open(encoding="utf-8") as handle:
        for row in csv.DictReader(handle):
            if not row["score"]:  # a cell the paper leaves open
                continue
            if row["task"] == "overall":
                printed[row["model"], row["setting"].split("/")[0]] = float(row["score"])
            else:
                cells.setdefault((row["model"], row["setting"]), {})[row["task"]] = float(row["score"])
    assert len(printed) == 30
    within = 0
    for (model, setting), expected in printed.items():
        own, full = cells[model, setting], cells[model, "FULL"]
        ratio = degradation_ratio(own, full)
        least = degradation_ratio({t: p - 0.05 for t, p in own.items()}, {t: p + 0.05 for t, p in full.items()})
        most = degradation_ratio({t: p + 0.05 for t, p in own.items()}, {t: p - 0.05 for t, p in full.items()})
        assert ratio is not None
        assert least is not None
        assert most is not None
        assert least - 0.05 <= expected <= most + 0.05, (model, setting)
        within += abs(ratio - expected) <= 0.1 + 1e-9
    assert within >= 28  # the cells are printed with one decimal, which moves two of the thirty means by 0.13


def test_low_full_tasks_are_left_out_of_the_ratio_and_named() -> None:
    paired = np.array([[50.0, 100.0]] * 10)
    low = np.array([[0.0, 4.0]] * 10)
    result = degradation([TaskPair("b", 50.0, 100.0, paired), TaskPair("a", 0.0, 4.0, low)])
    assert result.ratio == pytest.approx(50)
    assert (result.tasks, result.left_out) == (("b",), ("a",))
    assert result.drop == pytest.approx(-27)
    none = degradation([TaskPair("a", 0.0, 4.0, low)])
    assert none.ratio is None
    assert none.ratio_ci is None


def test_degradation_refuses_other_tasks_and_nan() -> None:
    with pytest.raises(ValueError, match="same tasks"):
        degradation_ratio({"a": 1.0}, {"b": 50.0})
    with pytest.raises(ValueError, match="at least one task"):
        degradation([])
    with pytest.raises(ValueError, match="not all numbers"):
        degradation([TaskPair("a", float("nan"), 50.0, np.zeros((1, 2)))])


def test_ratio_interval_is_paired() -> None:
    rng = np.random.default_rng(3)
    full = rng.uniform(20, 100, 80)
    own = 0.6 * full + rng.normal(0, 1, 80)
    close = degradation([TaskPair("a", own.mean(), full.mean(), np.column_stack((own, full)))]).ratio_ci
    apart = degradation([TaskPair("a", own.mean(), full.mean(), np.column_stack((own, full[::-1])))]).ratio_ci
    assert close is not None
    assert apart is not None
    assert close.low < 60 < close.high
    assert apart.high - apart.low > 5 * (close.high - close.low)


def test_a_ratio_that_never_varies_has_no_interval() -> None:
    paired = np.array([[60.0, 100.0]] * 6)
    result = degradation([TaskPair("a", 60.0, 100.0, paired)])
    assert (result.ratio, result.ratio_ci) == (60.0, None)
    assert result.drop_ci is not None
    assert result.drop_ci.low < -40 < result.drop_ci.high


def test_sign_flip_exact_by_enumeration() -> None:
    values = np.array([3.0, -1.0, 4.0, 1.5, 9.0])
    patterns = [abs(np.dot(signs, values)) for signs in product((-1, 1), repeat=5)]
    assert sign_flip([values]) == pytest.approx(np.mean([p >= abs(values.sum()) - 1e-9 for p in patterns]))
    assert sign_flip([np.zeros(20)]) == 1.0


@pytest.mark.parametrize("levels", [None, 3])
def test_sign_flip_drawn_agrees_with_theory(levels: int | None) -> None:
    rng = np.random.default_rng(5)
    values = rng.normal(2, 10, 400)
    if levels:
        values = np.round(values / 10) * 10
    z = values.sum() / np.sqrt((values**2).sum())
    assert sign_flip([values]) == pytest.approx(2 * stats.norm.sf(abs(z)), abs=0.015)
    assert sign_flip([values]) == sign_flip([values])


def test_sign_flip_null_is_uniform() -> None:
    rng = np.random.default_rng(6)
    p = np.array([sign_flip([rng.normal(size=20)]) for i in range(80)])
    assert (p < 0.05).mean() <= 0.12


@pytest.mark.parametrize("strata", [[], [[]], [[1.0, float("nan")]]])
def test_sign_flip_refuses(strata: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="permutation"):
        sign_flip(strata)


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.09, 0.09, 0.5])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []
    with pytest.raises(ValueError, match="p value"):
        holm([float("nan")])


def test_mcnemar() -> None:
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(1, 9) == pytest.approx(stats.binomtest(1, 10).pvalue)
    with pytest.raises(ValueError, match="negative"):
        mcnemar(-1, 2)


@pytest.mark.parametrize(
    ("low", "high", "higher_is_better", "expected"),
    [
        (1.0, 9.0, True, "better"),
        (1.0, 9.0, False, "worse"),
        (-9.0, -1.0, True, "worse"),
        (-1.5, 1.9, True, "no difference"),
        (0.2, 1.9, True, "no difference"),
        (-1.0, 9.0, True, "cannot tell"),
    ],
)
def test_verdicts(low: float, high: float, higher_is_better: bool, expected: str) -> None:
    assert verdict(Interval(low, high, "t", 10), (low + high) / 2, 2.0, higher_is_better) == expected
    assert verdict(None, 1.0, 2.0) == "cannot tell"


def test_compare_says_how_many_more_are_needed() -> None:
    rng = np.random.default_rng(9)
    noisy = rng.normal(0.5, 20, 40)
    found = compare([noisy])
    assert found.outcome == "cannot tell"
    assert found.more_needed is not None
    assert found.more_needed > 40
    assert "more instructions needed" in found.sentence
    assert compare([np.full(40, 0.1)], margin=50).sentence == "no difference larger than 50 points"


def test_difference_in_differences() -> None:
    assert difference_in_differences([50.0], [90.0], [60.0], [80.0]) == pytest.approx([-20.0])
    with pytest.raises(ValueError, match="same instructions"):
        difference_in_differences([1.0], [1.0, 2.0], [1.0], [1.0])


def test_limit_by_the_interval() -> None:
    assert against_limit(Interval(3, 14, "t", 9), 15) == "pass"
    assert against_limit(Interval(16, 30, "t", 9), 15) == "fail"
    assert against_limit(Interval(10, 30, "t", 9), 15) == "cannot tell"
    assert against_limit(None, 15) == "cannot tell"
