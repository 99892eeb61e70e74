"""Gates on real runs: one bad row warns and is named, too many stop the run and leave the last good version."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from support.graph import math_rows, plain

from assets.checks.layer import blocks, layer_check, spec_breaks, tolerated_share
from assets.checks.scores import RULES, scores_check
from assets.layers import REFUSED
from lic_pipeline.cli.shared.dagster_jobs import JobLauncher
from lic_pipeline.config import Home
from lic_pipeline.errors import ConfigError, InputError
from lic_pipeline.lake.tables import partition_path, read_partition
from lic_pipeline.tables import Column, TableSpec
from lic_pipeline.tables.items import INSTRUCTIONS, PROBLEMS

MATH = {"task": "math"}


def check_of(instance: dg.DagsterInstance, asset: str, name: str) -> Any:
    (record,) = instance.event_log_storage.get_asset_check_execution_history(
        dg.AssetCheckKey(dg.AssetKey(asset), name), limit=1
    )
    assert record.event is not None
    return record.event.get_dagster_event().asset_check_evaluation_data


@pytest.fixture
def raw(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LIC_DATA", str(tmp_path))
    return tmp_path


def test_one_bad_row_in_twenty_warns_and_is_named(
    raw: Path, launch: JobLauncher, home: Home, instance: dg.DagsterInstance
) -> None:
    math_rows(raw, 20, broken=1)
    launch.prepare("math")
    for asset, name in (("gsm8k", "rows_readable"), ("instructions", "gold_scores_100")):
        check = check_of(instance, asset, name)
        assert (check.passed, check.severity) == (False, dg.AssetCheckSeverity.WARN), asset
        assert "1 of 20 rows set aside" in check.description
        (row,) = plain(check.metadata)["offending"]
        assert "line 20" in row["which"]
    assert len(read_partition(home.lake, INSTRUCTIONS, MATH) or []) == 19
    (problem,) = read_partition(home.lake, PROBLEMS, {"layer": "benchmarks", **MATH}) or []
    assert (problem["file"], problem["line"]) == ("gsm8k/test.jsonl", 20)


def test_too_many_bad_rows_stop_the_run_and_the_last_good_version_stays(
    raw: Path, launch: JobLauncher, home: Home, instance: dg.DagsterInstance
) -> None:
    math_rows(raw, 30, broken=0)
    launch.prepare("math")
    kept = partition_path(home.lake, INSTRUCTIONS.name, MATH).read_bytes()
    math_rows(raw, 30, broken=2)
    with pytest.raises(InputError, match=r"rows_readable of gsm8k: 2 of 30 rows.*line 29"):
        launch.prepare("math")
    run = instance.get_runs(dg.RunsFilter(job_name="prepare"), limit=1)[0]
    assert run.status is dg.DagsterRunStatus.FAILURE
    assert partition_path(home.lake, INSTRUCTIONS.name, MATH).read_bytes() == kept
    events = instance.all_logs(run.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION)
    assert [event.get_dagster_event().asset_key.to_user_string() for event in events] == ["gsm8k"]


def test_items_that_cannot_be_used_stop_at_their_own_layer_too(
    raw: Path, launch: JobLauncher, home: Home, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    math_rows(raw, 20, broken=0)
    launch.prepare("math")
    kept = partition_path(home.lake, INSTRUCTIONS.name, MATH).read_bytes()
    math_rows(raw, 20, broken=3)
    with pytest.raises(InputError, match="gold_scores_100"):
        launch._run("prepare", partition_key="math", assets=["instructions", "sharded_instructions"])
    assert partition_path(home.lake, INSTRUCTIONS.name, MATH).read_bytes() == kept
    assert len(read_partition(home.lake / REFUSED, INSTRUCTIONS, MATH) or []) == 17
    event = instance.get_latest_materialization_event(dg.AssetKey("instructions"))
    assert event is not None
    assert event.asset_materialization is not None
    assert "last good version stays" in str(event.asset_materialization.metadata["refused"].value)

    monkeypatch.setenv("LIC_TOLERATED_SHARE", "0.2")
    launch.prepare("math")
    assert len(read_partition(home.lake, INSTRUCTIONS, MATH) or []) == 17


@pytest.mark.parametrize(
    ("bad", "lost", "expected", "passed", "blocked"),
    [
        (0, 0, (), True, False),
        (1, 0, (), False, False),
        (5, 0, (), False, False),
        (6, 0, (), False, True),
        (0, 5, (), False, False),
        (0, 7, (), False, True),
        (3, 3, (), False, True),
        (50, 0, ("no_shards",), False, False),
        (50, 7, ("no_shards",), False, True),
    ],
)
def test_share_of_faults_decides(bad: int, lost: int, expected: tuple[str, ...], passed: bool, blocked: bool) -> None:
    rows = [{"instruction_id": f"i{n}", "status": "quarantined:no_shards" if n < bad else "ok"} for n in range(100)]
    check = layer_check("c", rows, expected=expected, lost=[(f"line {n}", "cut short") for n in range(lost)])
    assert (check.passed, blocks(check)) == (passed, blocked)


def test_an_empty_layer_passes_and_a_broken_rule_blocks() -> None:
    assert layer_check("c", []).passed
    assert blocks(layer_check("c", [{"instruction_id": "a", "status": "ok"}], ["key stands 2 times: a"]))


@pytest.mark.parametrize("share", ["much", "-0.1", "1.5", "nan"])
def test_a_share_that_is_none_is_refused(share: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIC_TOLERATED_SHARE", share)
    with pytest.raises(ConfigError, match="LIC_TOLERATED_SHARE"):
        tolerated_share()


def test_breaks_of_a_table_name_column_value_and_row() -> None:
    spec = TableSpec(
        "t",
        "A table.",
        (
            Column("id", "string", "Id"),
            Column("p", "float", "P", True, 0, 100),
            Column("k", "string", "K", choices=("a",)),
        ),
        ("id",),
    )
    rows = [{"id": "x", "p": 101.0, "k": "a"}, {"id": "x", "p": -1.0, "k": "b"}, {"id": "y", "p": None, "k": "a"}]
    breaks = spec_breaks(spec, rows)
    assert len(breaks) == 4
    for part in (
        "101.0 is above 100 (x)",
        "-1.0 is below 0 (x)",
        "'b' is none of the allowed",
        "key stands 2 times: x",
    ):
        assert any(part in found for found in breaks), part


GOOD = {
    "conversation_id": "c", "score": 100.0, "missing_reason": None, "score_max": 100.0, "score_last": 100.0,
    "score_first": 0.0, "n_attempts": 2, "n_turns": 3, "solved_at_turn": 3, "state": "done",
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        ({"missing_reason": "no_sandbox"}, "score_or_reason"),
        ({"score_max": 50.0}, "max_is_highest"),
        ({"n_attempts": 0, "score": 100.0}, "no_attempt_scores_0"),
        ({"n_attempts": 4}, "attempts_within_turns"),
        ({"score": 50.0}, "solved_turn_exists"),
        ({"state": "error:refused"}, "error_has_no_score"),
    ],
)
def test_scores_that_contradict_each_other_block(changed: dict[str, Any], rule: str) -> None:
    assert all(keeps(GOOD) for keeps in RULES.values())
    check = scores_check([GOOD, {**GOOD, **changed, "conversation_id": "odd"}], [])
    assert blocks(check)
    assert rule in {record["rule"] for record in plain(dict(check.metadata))["offending"]}


def test_missing_scores_warn_with_their_reasons() -> None:
    missing = {**GOOD, "score": None, "missing_reason": "no_sandbox", "solved_at_turn": None}
    check = scores_check([GOOD, missing], [])
    assert not check.passed
    assert not blocks(check)
    assert "1 of 2 conversations have no score" in str(check.description)
