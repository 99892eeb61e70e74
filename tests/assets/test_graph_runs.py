"""Runs of the whole graph: what the instance shows of them, whoever started them and however partitions were named."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import dagster as dg
import duckdb
import pytest
from support.graph import TINY, plain

from assets import metrics as metric_assets
from assets import scoring as score_assets
from assets.partitions import model_key, partition_key, task_and_model
from assets.simulation import asset_name
from lic_pipeline.cli.shared.dagster_jobs import OWNER_TAG, JobLauncher, job_launcher
from lic_pipeline.config import Home
from lic_pipeline.definitions import defs
from lic_pipeline.errors import InputError, InterruptedRunError
from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.lake.tables import partition_path, read_partition
from lic_pipeline.models.registry import registry
from lic_pipeline.tables.scores import SCORES
from lic_pipeline.verification.bookkeeping.fingerprints import write_fingerprint
from lic_pipeline.verification.bookkeeping.manifests import manifest_partition, read_manifest

ODD = "Örg/Odd, Model|x: 1"


@pytest.fixture(scope="module")
def evaluated(launch: JobLauncher) -> JobLauncher:
    launch.evaluate(TINY, "math", "sim/lost")
    return launch


@pytest.fixture(scope="module")
def published(evaluated: JobLauncher) -> JobLauncher:
    evaluated.publish()
    return evaluated


def last_run(instance: dg.DagsterInstance, job: str) -> dg.DagsterRun:
    return instance.get_runs(dg.RunsFilter(job_name=job), limit=1)[0]


def metadata_of(instance: dg.DagsterInstance, asset: str) -> dict[str, Any]:
    event = instance.get_latest_materialization_event(dg.AssetKey(asset))
    assert event is not None
    assert event.asset_materialization is not None
    return plain(event.asset_materialization.metadata)


def evaluations(instance: dg.DagsterInstance, asset: str, check: str) -> list[Any]:
    records = instance.event_log_storage.get_asset_check_execution_history(
        dg.AssetCheckKey(dg.AssetKey(asset), check), limit=20
    )
    return [record.event.get_dagster_event().asset_check_evaluation_data for record in records if record.event]


def test_runs_carry_their_partition_and_their_owner(evaluated: JobLauncher, instance: dg.DagsterInstance) -> None:
    prepared, held = last_run(instance, "prepare"), last_run(instance, "evaluate")
    assert prepared.status is held.status is dg.DagsterRunStatus.SUCCESS
    assert prepared.tags["dagster/partition"] == "math"
    assert held.tags["dagster/partition/task"] == "math"
    assert held.tags["dagster/partition/model"] == model_key("sim/lost")
    assert held.tags[OWNER_TAG].endswith(f":{os.getpid()}")


def test_checks_carry_the_partition_they_looked_at(evaluated: JobLauncher, instance: dg.DagsterInstance) -> None:
    (gold,) = evaluations(instance, "instructions", "gold_scores_100")
    (consistent,) = evaluations(instance, "scores", "scores_consistent")
    assert (gold.partition, gold.passed) == ("math", True)
    assert (consistent.partition, consistent.passed) == (str(partition_key("math", "sim/lost")), True)
    assert evaluations(instance, "snowball_conversations", "conversation_invariants") == []


def test_versions_say_what_they_hold(evaluated: JobLauncher, instance: dg.DagsterInstance) -> None:
    raw = metadata_of(instance, "gsm8k")
    assert raw["source"] == "embedded"
    assert all(len(file["sha256"]) == 64 for file in raw["files"])
    assert raw["dagster/row_count"] == sum(file["rows"] for file in raw["files"]) > 0
    held = metadata_of(instance, "sharded_conversations")
    assert (held["experiment"], held["planned"], held["dagster/row_count"]) == ("tiny", 4, 4)
    assert held["signature"].startswith("task:math")
    scores = metadata_of(instance, "scores")
    assert {record["setting"] for record in scores["means"]} == {"FULL", "SHARDED", "RECAP"}
    assert scores["path"].endswith("part.parquet")


def test_published_tables_and_report(published: JobLauncher, home: Home, instance: dg.DagsterInstance) -> None:
    with duckdb.connect(str(home.warehouse), read_only=True) as connection:
        (rows,) = connection.execute("SELECT count(*) FROM reliability_by_task").fetchone() or (0,)
    assert rows == metadata_of(instance, "reliability_by_task")["dagster/row_count"] == 3
    assert "sim/lost" in metadata_of(instance, "benchmark_report")["report"]
    # Great Expectations takes seconds to load: the command line leaves validation to the job in the UI.
    assert instance.get_latest_materialization_event(dg.AssetKey("validation_report")) is None


def test_a_plain_text_partition_key_is_enough(evaluated: JobLauncher, home: Home, instance: dg.DagsterInstance) -> None:
    before = ConversationStore(home.lake, "math", "sim/lost").file_names()
    done = defs.resolve_job_def("evaluate").execute_in_process(
        partition_key=f"{model_key('sim/lost')}|math",
        instance=instance,
        run_config={"ops": {"conversations": {"config": {"experiment": "tiny"}}}},
    )
    assert done.success
    assert ConversationStore(home.lake, "math", "sim/lost").file_names() == before
    nothing = metadata_of(instance, "snowball_conversations")
    assert nothing["dagster/row_count"] == 0
    assert nothing["nothing_planned"] == "experiment tiny does not hold SNOWBALL for math"


def test_a_model_over_tasks_as_a_backfill_runs_it(
    launch: JobLauncher, home: Home, instance: dg.DagsterInstance
) -> None:
    launch.prepare("actions")
    instance.add_dynamic_partitions("model", [model_key("sim/steady")])
    names = [asset_name(setting) for setting in TINY.settings]
    for task in ("math", "actions"):
        done = defs.resolve_job_def("evaluate").execute_in_process(
            partition_key=f"{model_key('sim/steady')}|{task}",
            instance=instance,
            run_config={"ops": {name: {"config": {"experiment": "tiny"}} for name in ("conversations", "judgements")}},
            asset_selection=[dg.AssetKey(name) for name in (*names, "judgements", "extracted_answers", "scores")],
            tags={"dagster/backfill": "one"},
        )
        assert done.success
        assert len(read_manifest(home.lake, "tiny", task, "sim/steady") or []) == 12
    assert len(instance.get_runs(dg.RunsFilter(tags={"dagster/backfill": "one"}))) == 2


def test_every_model_survives_as_a_partition_key(home: Home) -> None:
    keys = {}
    for alias in registry():
        key = str(partition_key("math", alias))
        assert key.count("|") == 1
        assert "," not in key
        task, model = task_and_model(key)
        assert (task, model.alias) == ("math", alias)
        keys[key] = alias
    assert ODD in keys.values()
    assert len(keys) == len(registry())


def test_a_model_with_an_odd_name_is_evaluated(launch: JobLauncher, home: Home, instance: dg.DagsterInstance) -> None:
    launch.evaluate(TINY, "math", ODD)
    assert last_run(instance, "evaluate").status is dg.DagsterRunStatus.SUCCESS
    assert metadata_of(instance, "scores")["model"] == ODD
    assert len(read_manifest(home.lake, "tiny", "math", ODD) or []) == 12


def test_an_interrupted_run_is_canceled_and_what_it_held_is_kept(
    launch: JobLauncher, home: Home, instance: dg.DagsterInstance
) -> None:
    with pytest.raises(InterruptedRunError, match="run the command again"):
        launch.evaluate(TINY, "math", "terminated")
    assert last_run(instance, "evaluate").status is dg.DagsterRunStatus.CANCELED
    assert read_manifest(home.lake, "tiny", "math", "terminated") is None


def test_the_next_launch_closes_a_run_whose_process_died(launch: JobLauncher, home: Home) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    owners = {"dead": gone.pid, "alive": os.getppid()}
    instance = launch._instance
    for name, pid in owners.items():
        tags = {OWNER_TAG: f"{os.uname().nodename}:{pid}", "name": name}
        run = dg.DagsterRun(job_name="evaluate", tags=tags)
        instance.add_run(run)
        instance.report_dagster_event(dg.DagsterEvent(dg.DagsterEventType.RUN_START.value, "evaluate"), run.run_id)
    with job_launcher(home) as again:
        status = {name: again._instance.get_runs(dg.RunsFilter(tags={"name": name}))[0].status for name in owners}
    assert status == {"dead": dg.DagsterRunStatus.FAILURE, "alive": dg.DagsterRunStatus.STARTED}


def test_a_metric_table_that_breaks_its_rules_leaves_the_published_file(
    published: JobLauncher, home: Home, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = metric_assets.build_metrics

    def spoiled(connection: duckdb.DuckDBPyConnection) -> None:
        real(connection)
        connection.execute("UPDATE reliability_by_task SET P = 150 WHERE setting = 'FULL'")

    before = home.warehouse.read_bytes()
    monkeypatch.setattr(metric_assets, "build_metrics", spoiled)
    with pytest.raises(InputError, match="within_range of reliability_by_task"):
        published.publish()
    assert home.warehouse.read_bytes() == before
    assert last_run(instance, "publish").status is dg.DagsterRunStatus.FAILURE
    assert "last good file stays" in metadata_of(instance, "attempts")["refused"]


def test_scores_that_contradict_each_other_are_not_written(
    evaluated: JobLauncher, home: Home, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = score_assets.score_manifest

    def spoiled(*given: Any) -> Any:
        found, scores = real(*given)
        return found, [{**row, "score": 50.0, "missing_reason": "no_sandbox"} for row in scores]

    partition = manifest_partition("tiny", "math", "sim/lost")
    path = partition_path(home.lake, SCORES.name, partition)
    before = path.read_bytes()
    write_fingerprint(home.lake, partition, "of another scorer")
    monkeypatch.setattr(score_assets, "score_manifest", spoiled)
    with pytest.raises(InputError, match="score_or_reason"):
        evaluated.evaluate(TINY, "math", "sim/lost")
    assert path.read_bytes() == before
    monkeypatch.undo()
    evaluated.evaluate(TINY, "math", "sim/lost")
    assert last_run(instance, "evaluate").status is dg.DagsterRunStatus.SUCCESS
    assert read_partition(home.lake, SCORES, partition) is not None
