"""Runs that Dagster's own tools start in a process of their own; slow, for each loads everything anew."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import dagster as dg
import pytest

from assets.partitions import model_key
from lic_pipeline.cli.shared.dagster_jobs import JobLauncher
from lic_pipeline.config import Home

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow


def dg_launch(home: Home, *arguments: str, **more: str) -> subprocess.Popen[str]:
    program = Path(sys.executable).with_name("dg")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests"), "DAGSTER_HOME": str(home.dagster), **more}
    return subprocess.Popen(
        [program, "launch", *arguments], cwd=ROOT, env=environment, text=True, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def config(experiment: str) -> str:
    return json.dumps({"ops": {"conversations": {"config": {"experiment": experiment}}}})


def last_run(instance: dg.DagsterInstance, job: str) -> dg.DagsterRun:
    return instance.get_runs(dg.RunsFilter(job_name=job), limit=1)[0]


def test_dg_launch_takes_a_partition_as_text_and_publishes_with_validation(
    launch: JobLauncher, home: Home, instance: dg.DagsterInstance
) -> None:
    instance.add_dynamic_partitions("model", [model_key("sim/lost")])
    key = f"{model_key('sim/lost')}|math"
    held = dg_launch(home, "--job", "evaluate", "--partition", key, "--config-json", config("tiny"))
    said, _ = held.communicate(timeout=240)
    assert held.returncode == 0, said[-3000:]
    assert last_run(instance, "evaluate").status is dg.DagsterRunStatus.SUCCESS

    published = dg_launch(home, "--job", "publish")
    said, _ = published.communicate(timeout=240)
    assert published.returncode == 0, said[-3000:]
    document = json.loads((home.validation / "validation.json").read_text(encoding="utf-8"))
    assert document["passed"] is True
    assert {table["name"] for table in document["tables"]} >= {"scores", "reliability_by_task"}


def test_sigterm_cancels_a_launched_run(
    launch: JobLauncher, home: Home, instance: dg.DagsterInstance, tmp_path: Path
) -> None:
    instance.add_dynamic_partitions("model", ["thinking"])
    started = tmp_path / "started"
    process = dg_launch(
        home, "--job", "evaluate", "--partition", "thinking|math", "--config-json", config("tiny"),
        SLOW_MODEL_STARTED=str(started),
    )  # fmt: skip
    try:
        until = time.monotonic() + 180
        while not started.exists():
            assert time.monotonic() < until
            assert process.poll() is None, process.communicate()[0][-3000:]
            time.sleep(0.2)
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=60)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode != 0, said[-3000:]
    assert last_run(instance, "evaluate").status is dg.DagsterRunStatus.CANCELED
