"""Which copy of a benchmark is read, and the real and embedded files with their exact counts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from lic_pipeline.benchmarks.registry import READERS, benchmarks_of, locate, read_source
from lic_pipeline.errors import ConfigError, InputError, UnknownNameError


def test_lic_data_wins_then_fetched_then_embedded_per_benchmark(
    tmp_path: Path, lic_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LIC_DATA", raising=False)
    assert locate("gsm8k").kind == "embedded"
    (lic_home / "fetched" / "gsm8k").mkdir(parents=True)
    assert locate("gsm8k").kind == "fetched"
    (tmp_path / "raw" / "gsm8k").mkdir(parents=True)
    monkeypatch.setenv("LIC_DATA", str(tmp_path / "raw"))
    assert (locate("gsm8k").kind, locate("gsm8k").folder) == ("lic_data", tmp_path / "raw" / "gsm8k")
    assert locate("bfcl").kind == "embedded"


def test_a_wrong_lic_data_is_an_error(lic_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LIC_DATA", str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="LIC_DATA"):
        locate("gsm8k")


def test_a_benchmark_that_is_nowhere_names_the_places(
    lic_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("LIC_DATA", raising=False)
    monkeypatch.setattr("lic_pipeline.benchmarks.registry.samples_folder", lambda: tmp_path)
    with pytest.raises(InputError, match="lic fetch"):
        locate("gsm8k")
    with pytest.raises(UnknownNameError, match="totto"):
        locate("gsm9k")


def test_every_task_has_its_benchmarks() -> None:
    assert benchmarks_of("code") == ("humaneval", "livecodebench")
    assert [benchmarks_of(task) for task in ("math", "nothing")] == [("gsm8k",), ()]


@pytest.mark.parametrize("benchmark", READERS)
def test_the_embedded_samples_are_without_problems(
    lic_home: Path, monkeypatch: pytest.MonkeyPatch, benchmark: str
) -> None:
    monkeypatch.delenv("LIC_DATA", raising=False)
    reading = read_source(locate(benchmark))
    assert [str(problem) for problem in reading.problems] == []
    assert len(reading.instructions) >= 6
    assert {item.source for item in reading.instructions} == {"embedded"}


@pytest.mark.parametrize(
    ("benchmark", "count"),
    [
        ("humaneval", 164),
        ("gsm8k", 1319),
        ("bfcl", 200),
        ("spider", 853),
        ("totto", 8),
        ("summhay", 4),
        ("livecodebench", 3),
    ],
)
def test_the_real_files_give_every_row(
    shared_data: Path, lic_home: Path, monkeypatch: pytest.MonkeyPatch, benchmark: str, count: int
) -> None:
    monkeypatch.setenv("LIC_DATA", str(shared_data / "raw"))
    source = locate(benchmark)
    reading = read_source(source)
    assert source.kind == "lic_data"
    assert [str(problem) for problem in reading.problems] == []
    assert len({item.instruction_id for item in reading.instructions}) == count
    assert all(file.bytes for file in reading.files)


def test_real_rows_of_databases_that_are_not_there_say_so(shared_data: Path, tmp_path: Path) -> None:
    (tmp_path / "database").mkdir()
    (tmp_path / "dev.json").write_bytes((shared_data / "raw/spider/dev.json").read_bytes())
    for name in ("pets_1", "world_1"):
        (tmp_path / "database" / name).symlink_to(shared_data / "raw/spider/database" / name)
    reading = READERS["spider"].read(tmp_path)
    assert len(reading.instructions) == 42 + 120
    reasons = Counter(problem.reason for problem in reading.problems)
    assert reasons["no_database: car_1"] == 92
    assert sum(reasons.values()) == 853 - 162


def test_bfcl_multiple_is_read_when_asked_for(shared_data: Path) -> None:
    from lic_pipeline.benchmarks import bfcl

    reading = bfcl.read(shared_data / "raw" / "bfcl", ("parallel", "multiple"))
    assert reading.problems == ()
    assert Counter(item.instruction_id.split("_")[0] for item in reading.instructions) == {
        "bfcl/parallel": 200,
        "bfcl/multiple": 200,
    }
