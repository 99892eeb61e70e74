"""The instance of runs in this process: the files Dagster's own storages read, kept open, closed at the end."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from lic_pipeline.config import instance_settings
from resources.instance import KeptOpenEventLogStorage, open_instance


@dg.asset(check_specs=[dg.AssetCheckSpec("fine", asset="thing")])
def thing() -> dg.MaterializeResult:
    return dg.MaterializeResult(metadata={"rows": 3}, check_results=[dg.AssetCheckResult(passed=True)])


@dg.asset
def broken() -> None:
    raise RuntimeError("on purpose")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "dagster.yaml").write_bytes(instance_settings().read_bytes())
    return tmp_path


def test_dagsters_own_storages_read_what_was_written(folder: Path) -> None:
    with open_instance(folder) as instance:
        assert isinstance(instance.event_log_storage, KeptOpenEventLogStorage)
        runs = [dg.materialize([thing], instance=instance).run_id for _ in range(3)]
        failed = dg.materialize([broken], instance=instance, raise_on_error=False).run_id
        # While ours is still open: the UI reads a run under way.
        with dg.DagsterInstance.from_config(str(folder)) as usual:
            assert not isinstance(usual.event_log_storage, KeptOpenEventLogStorage)
            assert usual.get_latest_materialization_event(dg.AssetKey("thing")) is not None
    with dg.DagsterInstance.from_config(str(folder)) as usual:
        assert {run.run_id for run in usual.get_runs()} == {*runs, failed}
        statuses = {run.run_id: run.status for run in usual.get_runs()}
        assert [statuses[run] for run in runs] == [dg.DagsterRunStatus.SUCCESS] * 3
        assert statuses[failed] is dg.DagsterRunStatus.FAILURE
        logs = [len(usual.all_logs(run)) for run in runs]
        assert logs[0] == logs[1] == logs[2] > 5
        assert "on purpose" in str(usual.all_logs(failed))


def test_files_written_by_dagster_itself_are_taken_up(folder: Path) -> None:
    with dg.DagsterInstance.from_config(str(folder)) as usual:
        first = dg.materialize([thing], instance=usual).run_id
    with open_instance(folder) as instance:
        second = dg.materialize([thing], instance=instance).run_id
        assert len(instance.all_logs(first)) == len(instance.all_logs(second))
        assert {run.run_id for run in instance.get_runs()} == {first, second}


def test_two_processes_worth_of_instances_write_side_by_side(folder: Path) -> None:
    with open_instance(folder) as one, open_instance(folder) as two:
        runs = {dg.materialize([thing], instance=which).run_id for which in (one, two, one, two)}
        assert {run.run_id for run in one.get_runs()} == {run.run_id for run in two.get_runs()} == runs


def test_nothing_is_left_open(folder: Path) -> None:
    with open_instance(folder) as instance:
        dg.materialize([thing], instance=instance)
    left = [path for path in folder.rglob("*") if path.name.endswith(("-wal", "-shm", ".tmp"))]
    assert [path.name for path in left if "schedules" not in str(path)] == []


def test_storage_of_the_users_own_choice_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "dagster.yaml").write_text(
        "storage:\n  custom:\n    module: dagster._core.storage.sqlite_storage\n    class: DagsterSqliteStorage\n"
        f"    config: {{base_dir: {tmp_path / 'elsewhere'}}}\n"
        "telemetry: {enabled: false}\n",
        encoding="utf-8",
    )
    with open_instance(tmp_path) as instance:
        dg.materialize([thing], instance=instance)
    assert (tmp_path / "elsewhere" / "history" / "runs.db").is_file()
