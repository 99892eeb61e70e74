"""Jobs, sensors and schedules. Nothing here spends by itself unless every role's registry entry opted in."""

from collections.abc import Iterable, Iterator

import dagster as dg

from assets.benchmarks import RAW_ASSETS, instructions
from assets.judging import judgements
from assets.metrics import metrics
from assets.partitions import AUTOMATIC_TAG, MODELS, model_key, partition_key
from assets.reports import benchmark_report, validation_report
from assets.scoring import scoring
from assets.sharding import approved_instructions, sharded_instructions
from assets.simulation import conversations
from lic_pipeline.config import Home
from lic_pipeline.errors import LicError
from lic_pipeline.models.registry import ModelEntry, registry
from lic_pipeline.simulation.plan.call_parameters import role_entries
from lic_pipeline.simulation.plan.stored_experiments import find_experiment
from lic_pipeline.tasks.registry import task_names

PREPARE = dg.define_asset_job(
    "prepare",
    selection=dg.AssetSelection.assets(*RAW_ASSETS, instructions, sharded_instructions, approved_instructions),
    description="Raw benchmark files to approved items, by task.",
)
EVALUATE = dg.define_asset_job(
    "evaluate",
    selection=dg.AssetSelection.assets(*conversations.keys, *judgements.keys, *scoring.keys),
    description="Conversations to scores, by task and model. Calls the model: a paid one spends.",
)
PUBLISHED = dg.AssetSelection.assets(*metrics.keys, *benchmark_report.keys, *validation_report.keys)
PUBLISH = dg.define_asset_job(
    "publish",
    selection=PUBLISHED,
    description="Metric tables, report and validation from everything scored.",
)
JOBS = [PREPARE, EVALUATE, PUBLISH]


def starts_by_itself(entry: ModelEntry) -> bool:
    """True when experiment ``main`` of this model may be run without a person asking: the entry opted in as assistant,
    and so did the entry of every other role a model would play. Personas cost nothing and still wait to be asked for.
    """
    if entry.auto is None or "assistant" not in entry.auto.roles:
        return False
    try:
        roles = role_entries(find_experiment(Home.locate(), "main"), entry, "summary")
        return all(played.auto is not None and role in played.auto.roles for role, played in roles.items())
    except LicError:  # no model named for a role: such a run could only fail
        return False


def requests(entries: Iterable[ModelEntry], occasion: str = "") -> Iterator[dg.RunRequest]:
    """Runs of job ``evaluate`` for the entries that opted in, a task each; ``occasion`` tells repetitions apart."""
    for entry in entries:
        if starts_by_itself(entry):
            for task in task_names():
                if task not in entry.skip_tasks:
                    key = partition_key(task, entry.alias)
                    yield dg.RunRequest(run_key=f"{key}{occasion}", partition_key=key, tags={AUTOMATIC_TAG: "true"})


@dg.sensor(
    job=EVALUATE,
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="New registry entries become partitions; only what opted in with a budget for every role is run.",
)
def new_models(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    """A new registry entry becomes a partition; runs are requested only where every role opted in (``auto``)."""
    known = set(context.instance.get_dynamic_partitions("model"))
    fresh = [entry for entry in registry().values() if model_key(entry.alias) not in known]
    if not fresh:
        return dg.SkipReason(f"all {len(known)} models are partitions already")
    added = MODELS.build_add_request([model_key(entry.alias) for entry in fresh])
    return dg.SensorResult(run_requests=list(requests(fresh)), dynamic_partitions_requests=[added])


@dg.schedule(
    job=EVALUATE,
    cron_schedule="0 3 * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description="Nightly, for opted-in models: go on with what is missing. Off until you switch it on.",
)
def rerun(context: dg.ScheduleEvaluationContext) -> list[dg.RunRequest] | dg.SkipReason:
    """Go on with what the opted-in models are missing; what is complete is not called again."""
    known = set(context.instance.get_dynamic_partitions("model"))
    entries = [entry for entry in registry().values() if model_key(entry.alias) in known]
    found = list(requests(entries, f"@{context.scheduled_execution_time:%Y-%m-%dT%H:%M}"))
    return found or dg.SkipReason("no model opted in: give its entry `auto: {roles, budget_usd}` in models.yaml")


FOLLOWING = dg.AutomationConditionSensorDefinition(
    "metrics_follow_scores",
    target=PUBLISHED,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Publishes again when scores change. It watches metrics and reports only and calls no model.",
)
SENSORS = [new_models, FOLLOWING]
SCHEDULES = [rerun]
