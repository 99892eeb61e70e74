"""The lexical judge agrees with people about as well as recorded model judges do, on topics it was not fitted on."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    path = Path(__file__).resolve().parents[3] / "bench" / "judge_agreement.py"
    spec = importlib.util.spec_from_file_location("judge_agreement", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_agreement_beside_model_judges(bench: ModuleType, shared_data: Path) -> None:
    judged = bench.load(shared_data / "raw/summhay/judge_benchmark.json")
    assert len(judged) == 713
    rows = bench.table(judged)
    ours = rows["lexical (left out)"]
    assert ours.correlation > 0.65
    assert ours.weighted_kappa > 0.55
    assert ours.link > 0.87
    assert sum(ours.weighted_kappa > row.weighted_kappa for name, row in rows.items() if "lexical" not in name) >= 3


def test_shipped_thresholds_are_near_the_fitted_ones(bench: ModuleType, shared_data: Path) -> None:
    fitted = bench.fit(bench.load(shared_data / "raw/summhay/judge_benchmark.json"))
    assert fitted == pytest.approx((bench.PARTIAL_FROM, bench.FULL_FROM), abs=0.05)
