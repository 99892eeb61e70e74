"""What starts by itself: metrics and reports follow scores; models are called only where every role opted in."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import pytest

from assets.automation import new_models, rerun
from assets.partitions import model_key, partition_key
from lic_pipeline.definitions import defs
from lic_pipeline.metrics.metric_tables import METRIC_TABLES
from lic_pipeline.models.registry import registry
from lic_pipeline.tasks.registry import task_names

TABLES = {spec.name for spec in METRIC_TABLES}
REGISTRY = """
models:
  - {alias: shy, id: openai/shy}
  - {alias: eager, id: openai/eager, skip_tasks: [summary], auto: {roles: [assistant, user, system], budget_usd: 5}}
  - {alias: judge-only, id: openai/judge, auto: {roles: [judge], budget_usd: 5}}
"""


@pytest.fixture
def instance(lic_home: Path) -> Iterator[dg.DagsterInstance]:
    lic_home.mkdir()
    (lic_home / "models.yaml").write_text(REGISTRY, encoding="utf-8")
    with dg.DagsterInstance.ephemeral() as found:
        yield found


def name_roles(monkeypatch: pytest.MonkeyPatch, user: str | None, system: str | None, judge: str | None = None) -> None:
    """Let experiment ``main`` name the models of its roles, as a user's experiment does."""
    from assets import automation

    found = automation.find_experiment

    def named(*given: object) -> object:
        roles = {"user_model": user, "system_model": system, "judge_model": judge}
        return found(*given).model_copy(update=roles)  # type: ignore[arg-type]

    monkeypatch.setattr(automation, "find_experiment", named)


def tick(instance: dg.DagsterInstance) -> dg.SensorResult | dg.SkipReason:
    result = new_models(dg.build_sensor_context(instance=instance, definitions=defs))
    assert isinstance(result, dg.SensorResult | dg.SkipReason)
    return result


def test_every_model_becomes_a_partition_and_only_opted_in_ones_run(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_roles(monkeypatch, "eager", "eager", "judge-only")
    first = tick(instance)
    assert isinstance(first, dg.SensorResult)
    (added,) = first.dynamic_partitions_requests or []
    assert set(added.partition_keys) == {model_key(alias) for alias in registry()}
    asked = {str(request.partition_key) for request in first.run_requests or []}
    assert asked == {str(partition_key(task, "eager")) for task in task_names() if task != "summary"}

    instance.add_dynamic_partitions("model", list(added.partition_keys))
    assert isinstance(tick(instance), dg.SkipReason)


@pytest.mark.parametrize(
    "roles",
    [
        ("shy", "eager"), ("eager", "shy"), ("eager", "judge-only"), (None, None), ("eager", "eager", "eager"),
        ("eager", "eager", "sim/lost"), ("eager", "eager", "nobody"),
    ],
)  # fmt: skip
def test_nothing_runs_when_a_role_did_not_opt_in(
    roles: tuple[str | None, ...], instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_roles(monkeypatch, *roles)
    first = tick(instance)
    assert isinstance(first, dg.SensorResult)
    assert first.run_requests == []


def test_the_schedule_goes_on_with_opted_in_models_only(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # A schedule opens the instance by its reference, which one in memory has not got.
    with dg.DagsterInstance.local_temp(str(tmp_path)) as stored:
        schedule_ticks(stored, monkeypatch)


def schedule_ticks(instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch) -> None:
    at = datetime(2030, 1, 2, 3, tzinfo=UTC)
    context = dg.build_schedule_context(instance=instance, scheduled_execution_time=at)
    assert isinstance(rerun(context), dg.SkipReason)
    name_roles(monkeypatch, "eager", "eager")
    instance.add_dynamic_partitions("model", [model_key(alias) for alias in registry()])
    found = rerun(context)
    assert isinstance(found, list)
    assert {request.partition_key.keys_by_dimension["model"] for request in found} == {"eager"}  # type: ignore[union-attr]
    assert len({request.run_key for request in found}) == len(task_names()) - 1


def test_metrics_and_reports_follow_scores_and_nothing_that_calls_a_model_does(instance: dg.DagsterInstance) -> None:
    instance.add_dynamic_partitions("model", [model_key("shy"), model_key("eager")])
    first = dg.evaluate_automation_conditions(defs=defs, instance=instance)
    assert first.total_requested == 0
    report_scores(instance, "eager")
    second = dg.evaluate_automation_conditions(defs=defs, instance=instance, cursor=first.cursor)
    asked = {result.key.to_user_string() for result in second.results if result.true_subset.size}
    assert asked == TABLES | {"benchmark_report", "validation_report"}
    third = dg.evaluate_automation_conditions(defs=defs, instance=instance, cursor=second.cursor)
    assert third.total_requested == 0


def report_scores(instance: dg.DagsterInstance, alias: str) -> None:
    """What a run of job evaluate leaves in the instance."""
    event = dg.AssetMaterialization("scores", partition=partition_key("math", alias))
    instance.report_runless_asset_event(event)
