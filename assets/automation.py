"""Jobs, sensors and schedules. Nothing here spends by itself unless a registry entry opted in with a budget."""

import dagster as dg

from assets.benchmarks import RAW_ASSETS, instructions
from assets.metrics import metrics
from assets.partitions import MODELS, model_key, partition_key
from assets.reports import benchmark_report
from assets.scoring import scoring
from assets.sharding import approved_instructions, sharded_instructions
from assets.simulation import conversations
from lic_pipeline.models.registry import registry
from lic_pipeline.tasks.registry import task_names

PREPARE = dg.define_asset_job(
    "prepare",
    selection=dg.AssetSelection.assets(*RAW_ASSETS, instructions, sharded_instructions, approved_instructions),
    description="Raw benchmark files to approved items, by task.",
)
EVALUATE = dg.define_asset_job(
    "evaluate",
    selection=dg.AssetSelection.assets(*conversations.keys, *scoring.keys),
    description="Conversations to scores, by task and model. Calls the model: a paid one spends.",
)
PUBLISH = dg.define_asset_job(
    "publish",
    selection=dg.AssetSelection.assets(*metrics.keys, *benchmark_report.keys),
    description="Metric tables and reports from everything scored.",
)
JOBS = [PREPARE, EVALUATE, PUBLISH]


@dg.sensor(job=EVALUATE, minimum_interval_seconds=60, default_status=dg.DefaultSensorStatus.STOPPED)
def new_models(context: dg.SensorEvaluationContext) -> dg.SensorResult:
    """A new registry entry becomes a partition; runs are requested only for entries that opted in (``auto``)."""
    known = set(context.instance.get_dynamic_partitions("model"))
    fresh = [entry for entry in registry().values() if model_key(entry.alias) not in known]
    requests = [
        dg.RunRequest(run_key=f"{entry.alias}|{task}", partition_key=partition_key(task, entry.alias))
        for entry in fresh
        if entry.auto is not None
        for task in task_names()
        if task not in entry.skip_tasks
    ]
    added = [MODELS.build_add_request([model_key(entry.alias) for entry in fresh])] if fresh else []
    return dg.SensorResult(run_requests=requests, dynamic_partitions_requests=added)


FOLLOWING = dg.AutomationConditionSensorDefinition(
    "metrics_follow_scores",
    target=dg.AssetSelection.assets(*metrics.keys, *benchmark_report.keys),
    default_status=dg.DefaultSensorStatus.RUNNING,
)
RERUN = dg.ScheduleDefinition(
    name="republish_nightly",
    job=PUBLISH,
    cron_schedule="0 3 * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.STOPPED,
)
