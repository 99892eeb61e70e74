"""Stage 3: conversations. One step per (task, model) on one event loop, an asset per setting to look at.

A run of any of these assets carries out one experiment; the manifest it publishes says which conversations count.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import dagster as dg
from dagster._core.errors import DagsterExecutionInterruptedError

from assets.checks.conversations import INVARIANTS_CHECK, invariants_check
from assets.partitions import AUTOMATIC_TAG, BY_TASK_AND_MODEL, task_and_model
from assets.sharding import approved_instructions
from lic_pipeline.errors import InterruptedRunError
from lic_pipeline.lake.conversation_rows import CONVERSATIONS
from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.lake.files import safe_part
from lic_pipeline.models.budget import Budget
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.records import Setting
from lic_pipeline.simulation.engine.engine import run
from lic_pipeline.simulation.engine.outcome import Outcome
from lic_pipeline.simulation.plan import caps
from lic_pipeline.simulation.plan.conversation_plan import Plan
from lic_pipeline.simulation.plan.experiment import Experiment
from lic_pipeline.simulation.plan.stored_experiments import find_experiment
from lic_pipeline.verification.bookkeeping.manifests import plan_for, publish_manifest
from resources.home import HomeResource
from resources.ledger import LedgerResource
from resources.tables import counts_table, definition_metadata


class ConversationsConfig(dg.Config):
    """Which experiment to carry out; ``main`` needs no configuration."""

    experiment: str = "main"


def asset_name(setting: Setting) -> str:
    """Asset of one setting."""
    return f"{setting.lower().replace('-', '_')}_conversations"


SETTING_OF = {asset_name(setting): setting for setting in Setting}
MEANING = {
    Setting.FULL: ": the whole instruction at once.",
    Setting.CONCAT: ": every shard at once, as a list.",
    Setting.SHUFFLE_CONCAT: ": every shard at once, in random order.",
    Setting.SHARDED: ": one shard a turn.",
    Setting.RECAP: ": SHARDED, then one more turn that repeats every shard.",
    Setting.RETRY: ": SHARDED, then one more turn that repeats nothing; the control of RECAP.",
    Setting.SNOWBALL: ": one shard a turn, every turn repeating the shards before.",
}
"""What a reader of the graph must know of each setting."""


@dg.multi_asset(
    name="conversations",
    specs=[
        dg.AssetSpec(
            name,
            deps=[approved_instructions],
            group_name="simulation",
            kinds={"llm", "parquet"},
            description=f"Conversations held in setting {setting}{MEANING.get(setting, '.')}",
            metadata={**definition_metadata(CONVERSATIONS), "setting": str(setting)},
            partitions_def=BY_TASK_AND_MODEL,
        )
        for name, setting in SETTING_OF.items()
    ],
    check_specs=[
        dg.AssetCheckSpec(
            INVARIANTS_CHECK,
            asset=name,
            blocking=True,
            partitions_def=BY_TASK_AND_MODEL,
            description="Every planned conversation keeps the rules of its setting; one that ended in an error warns.",
        )
        for name in SETTING_OF
    ],
    can_subset=True,
    partitions_def=BY_TASK_AND_MODEL,
    pool="models",
)
def conversations(
    context: dg.AssetExecutionContext, config: ConversationsConfig, home: HomeResource, ledger: LedgerResource
) -> Iterator[dg.MaterializeResult]:
    """Hold what is missing of the experiment's conversations, then publish its manifest."""
    task, model = task_and_model(context.partition_key)
    lake = home.home().lake
    experiment = find_experiment(home.home(), config.experiment)
    selected = {SETTING_OF[key.to_python_identifier()] for key in context.selected_asset_keys}
    plan = plan_for(lake, experiment, task, model, _with_continued(selected))
    with ledger.open() as opened, report_interrupts(context):
        budget = budget_for(context, experiment, model)
        outcome = run(plan, opened, lake, max_connections=caps.connections(), budget=budget, processes=caps.processes())
    store = ConversationStore(lake, task, model.alias)
    store.compact()
    publish_manifest(lake, plan_for(lake, experiment, task, model))
    context.log.info("%s: %d planned, %d already held, %d held now", task, outcome.total, outcome.already, outcome.held)
    yield from _results(plan, store, outcome, selected, experiment)


@contextmanager
def report_interrupts(context: dg.AssetExecutionContext) -> Iterator[None]:
    """Have Dagster see its own interrupt where the library was interrupted inside, and that it was asked for.

    Else a run stopped by Ctrl-C or SIGTERM counts as failed, or even as succeeded.
    """
    try:
        yield
    except InterruptedRunError as error:
        context.instance.report_run_canceling(context.run, str(error))
        raise DagsterExecutionInterruptedError(str(error)) from error


def budget_for(context: dg.AssetExecutionContext, experiment: Experiment, model: ModelEntry) -> Budget | None:
    """What may be spent: a run that started by itself has the budget its models opted in with."""
    if context.run.tags.get(AUTOMATIC_TAG) != "true":
        return caps.budget_of(experiment)
    return caps.automatic_budget(experiment, model, context.run.run_id, f"{datetime.now(UTC):%Y-%m-%d}")


def _with_continued(selected: set[Setting]) -> set[Setting]:
    """The selected settings; a continued one brings what it continues."""
    return selected | {Setting.SHARDED} if selected & {Setting.RECAP, Setting.RETRY} else selected


def _results(
    plan: Plan, store: ConversationStore, outcome: Outcome, selected: set[Setting], experiment: Experiment
) -> Iterator[dg.MaterializeResult]:
    planned = Counter(spec.setting for spec in plan.specs)
    checks = invariants_check(store, {spec.conversation_id: spec.setting for spec in plan.specs})
    for setting in (known for known in Setting if known in selected):
        name = asset_name(setting)
        yield dg.MaterializeResult(
            asset_key=name,
            metadata={
                "dagster/row_count": checks.rows[setting],
                "model": plan.model.alias,
                "experiment": experiment.name,
                "planned": planned[setting],
                "turns": checks.turns[setting],
                "stop_reasons": counts_table("stop_reason", checks.stops[setting]),
                "path": dg.MetadataValue.path(str(store.folder / f"setting={safe_part(setting)}")),
                **_whole_run(outcome),
                **_why_nothing(plan, setting),
            },
            check_results=[checks.result(setting, name)],
        )


def _whole_run(outcome: Outcome) -> dict[str, Any]:
    """What the step as a whole did: all its settings share one event loop and one count of calls."""
    found: dict[str, Any] = {"calls_of_this_run": outcome.calls, "held_in_this_run": outcome.held}
    if outcome.missing:
        found["missing"] = counts_table("reason", outcome.missing)
    return found


def _why_nothing(plan: Plan, setting: Setting) -> dict[str, str]:
    if plan.skipped is not None:
        return {"nothing_planned": plan.skipped}
    if setting not in plan.signatures:
        return {"nothing_planned": f"experiment {plan.experiment.name} does not hold {setting} for {plan.task.name}"}
    return {"signature": plan.signatures[setting]}
