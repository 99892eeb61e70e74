"""The graph as a whole: what is in it, in which group, by which partition, with which checks, and what may start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import dagster as dg
import pytest

from assets.partitions import BY_TASK, BY_TASK_AND_MODEL
from assets.simulation import asset_name
from lic_pipeline.definitions import defs
from lic_pipeline.metrics.metric_tables import METRIC_TABLES
from lic_pipeline.records import Setting
from lic_pipeline.tasks.registry import task_names

ROOT = Path(__file__).resolve().parent.parent
RAW = ("bfcl", "gsm8k", "humaneval", "livecodebench", "spider", "summhay", "totto")
CONVERSATIONS = {asset_name(setting) for setting in Setting}
TABLES = tuple(spec.name for spec in METRIC_TABLES)
GROUPS = {
    "benchmarks": {*RAW, "instructions"},
    "sharding": {"sharded_instructions", "approved_instructions"},
    "simulation": CONVERSATIONS,
    "scoring": {"judgements", "extracted_answers", "scores"},
    "metrics": set(TABLES),
    "reports": {"benchmark_report", "validation_report"},
}
CHECKS = {
    **{(name, "rows_readable"): True for name in RAW},
    ("instructions", "gold_scores_100"): True,
    ("sharded_instructions", "shards_present"): True,
    ("approved_instructions", "items_approved"): True,
    **{(name, "conversation_invariants"): True for name in CONVERSATIONS},
    ("judgements", "every_summary_judged"): False,
    ("scores", "scores_consistent"): True,
    **{(name, "within_range"): True for name in TABLES},
    ("validation_report", "tables_as_specified"): False,
}


def specs() -> dict[str, dg.AssetSpec]:
    return {spec.key.to_user_string(): spec for spec in defs.resolve_all_asset_specs()}


def test_every_asset_stands_in_its_group() -> None:
    found: dict[str, set[str]] = {}
    for name, spec in specs().items():
        found.setdefault(str(spec.group_name), set()).add(name)
    assert found == GROUPS


def test_partitions_follow_the_stage() -> None:
    for name, spec in specs().items():
        stage = spec.group_name
        by_task = stage == "sharding" or name == "instructions"
        wanted = BY_TASK if by_task else BY_TASK_AND_MODEL if stage in ("simulation", "scoring") else None
        assert spec.partitions_def == wanted, name


def test_every_asset_is_described_and_names_its_storage() -> None:
    for name, spec in specs().items():
        assert spec.description, name
        assert spec.kinds, name
    for name in ("instructions", "scores", "reliability_by_task", "sharded_conversations"):
        assert "dagster/column_schema" in specs()[name].metadata, name


def test_checks_block_and_carry_the_partitions_of_their_asset() -> None:
    found = {}
    for definition in defs.assets or []:
        assert isinstance(definition, dg.AssetsDefinition)
        for check in definition.check_specs:
            name = check.asset_key.to_user_string()
            found[name, check.name] = check.blocking
            assert check.partitions_def == specs()[name].partitions_def, name
            assert check.description, name
    assert found == CHECKS


@pytest.mark.parametrize(
    ("job", "groups"),
    [
        ("prepare", {"benchmarks", "sharding"}),
        ("evaluate", {"simulation", "scoring"}),
        ("publish", {"metrics", "reports"}),
    ],
)
def test_a_job_runs_its_stages_and_one_partitions_definition(job: str, groups: set[str]) -> None:
    resolved = defs.resolve_job_def(job)
    selected = {key.to_user_string() for key in resolved.asset_layer.executable_asset_keys}
    assert selected == set().union(*(GROUPS[group] for group in groups))
    wanted = {"prepare": BY_TASK, "evaluate": BY_TASK_AND_MODEL, "publish": None}[job]
    assert resolved.partitions_def == wanted


def test_what_may_start_by_itself() -> None:
    repository = defs.get_repository_def()
    sensors = {sensor.name: sensor.default_status.value for sensor in repository.sensor_defs}
    schedules = {schedule.name: schedule.default_status.value for schedule in repository.schedule_defs}
    assert sensors == {"new_models": "RUNNING", "metrics_follow_scores": "RUNNING"}
    assert schedules == {"rerun": "STOPPED"}
    automated = {name for name, spec in specs().items() if spec.automation_condition is not None}
    assert automated == GROUPS["metrics"] | GROUPS["reports"]


def test_conversations_of_a_partition_are_one_step_that_can_be_run_in_part() -> None:
    found = defs.resolve_assets_def("sharded_conversations")
    assert {key.to_user_string() for key in found.keys} == GROUPS["simulation"]
    assert found.can_subset


def test_tasks_are_partitions() -> None:
    assert set(BY_TASK.get_partition_keys()) == set(task_names())


def test_loading_the_graph_loads_no_heavy_library() -> None:
    code = (
        "import sys, lic_pipeline.definitions\n"
        "print([m for m in ('litellm', 'openai', 'great_expectations', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        ["dagster", "definitions", "validate", "-w", "workspace.yaml"],
        ["dg", "check", "defs"],
        ["dg", "list", "defs", "--json"],
    ],
)
def test_the_tools_of_dagster_accept_the_graph(command: list[str]) -> None:
    program = Path(sys.executable).with_name(command[0])
    done = subprocess.run([program, *command[1:]], cwd=ROOT, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
