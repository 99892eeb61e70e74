"""Stage 4a: summaries put before a judge that is a model, where the experiment names one. It may cost money."""

from collections.abc import Mapping
from typing import Any

import dagster as dg

from assets.partitions import BY_TASK_AND_MODEL, task_and_model
from assets.simulation import SETTING_OF, ConversationsConfig, budget_for, report_interrupts
from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.lake.tables import partition_path, read_partition, write_partition
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.simulation.judge.judge_conversations import Judgements, judge_conversations
from lic_pipeline.simulation.plan import caps
from lic_pipeline.simulation.plan.call_parameters import judge_entry
from lic_pipeline.simulation.plan.stored_experiments import find_experiment
from lic_pipeline.tables.runs import JUDGEMENTS
from lic_pipeline.verification.bookkeeping.fingerprints import mark_judged
from lic_pipeline.verification.bookkeeping.manifests import manifest_partition, plan_for, read_manifest
from lic_pipeline.verification.items.item_versions import wanted_versions
from resources.home import HomeResource
from resources.ledger import LedgerResource
from resources.tables import counts_table, definition_metadata


@dg.multi_asset(
    name="judgements",
    specs=[
        dg.AssetSpec(
            "judgements",
            deps=list(SETTING_OF),
            group_name="scoring",
            kinds={"llm", "parquet"},
            description="What a model says of summaries, where the experiment names one as judge; empty elsewhere.",
            metadata=definition_metadata(JUDGEMENTS, "judgements"),
            partitions_def=BY_TASK_AND_MODEL,
        )
    ],
    check_specs=[
        dg.AssetCheckSpec(
            "every_summary_judged",
            asset="judgements",
            partitions_def=BY_TASK_AND_MODEL,
            description="The judge gave usable verdicts on every summary; one without has no score, never 0. "
            "`lic retry --errors` asks again.",
        )
    ],
    partitions_def=BY_TASK_AND_MODEL,
    pool="models",
)
def judgements(
    context: dg.AssetExecutionContext, config: ConversationsConfig, home: HomeResource, ledger: LedgerResource
) -> dg.MaterializeResult:
    """Ask the experiment's judge about what it has not judged yet."""
    task, model = task_and_model(context.partition_key)
    lake = home.home().lake
    experiment = find_experiment(home.home(), config.experiment)
    partition = manifest_partition(experiment.name, task, model.alias)
    entry = judge_entry(experiment, task)
    manifest = read_manifest(lake, experiment.name, task, model.alias) or []
    if entry is None or not manifest:
        if read_partition(lake, JUDGEMENTS, partition) is not None:
            write_partition(lake, JUDGEMENTS, partition, [])
        why = "no judge that is a model" if entry is None else "no conversation is planned"
        return _result(Judgements(), {"nothing_judged": why})
    plan = plan_for(lake, experiment, task, model)
    instructions = wanted_versions(lake, task, manifest)
    ids = [row["conversation_id"] for row in manifest if row["instruction_id"] in instructions]
    with ledger.open() as opened, report_interrupts(context):
        store = ConversationStore(lake, task, model.alias)
        found = judge_conversations(
            experiment, entry, opened, manifest, instructions, store.read(ids),
            max_connections=caps.connections(), budget=budget_for(context, experiment, model),
        )  # fmt: skip
    write_partition(lake, JUDGEMENTS, partition, found.rows)
    mark_judged(lake, plan, entry)
    return _result(found, _about(entry, str(partition_path(lake, JUDGEMENTS.name, partition))))


def _about(entry: ModelEntry, path: str) -> dict[str, Any]:
    return {"judge": entry.alias, "path": dg.MetadataValue.path(path)}


def _result(found: Judgements, more: Mapping[str, Any]) -> dg.MaterializeResult:
    unjudged = {state: count for state, count in found.states.items() if state != "judged"}
    told = ", ".join(f"{count} {state}" for state, count in sorted(unjudged.items()))
    return dg.MaterializeResult(
        asset_key="judgements",
        metadata={
            "dagster/row_count": len(found.rows),
            "calls_of_this_run": found.calls,
            "states": counts_table("state", found.states),
            **more,
        },
        check_results=[
            dg.AssetCheckResult(
                asset_key="judgements",
                check_name="every_summary_judged",
                passed=not unjudged,
                severity=dg.AssetCheckSeverity.WARN,
                description=f"Without verdicts: {told}." if unjudged else f"All {len(found.rows)} have verdicts.",
                metadata={"unjudged": sum(unjudged.values())},
            )
        ],
    )
