"""Stage 4: answers extracted and conversations scored, for every experiment that has a manifest of the partition."""

from typing import Any

import dagster as dg

from assets.checks.layer import spec_breaks
from assets.checks.scores import scores_check
from assets.partitions import BY_TASK_AND_MODEL, task_and_model
from assets.simulation import SETTING_OF
from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.lake.tables import read_partition, write_partition
from lic_pipeline.scoring.stage import score_manifest
from lic_pipeline.tables_runs import EXTRACTED_ANSWERS
from lic_pipeline.tables_scores import SCORES
from lic_pipeline.tasks.registry import get_task
from lic_pipeline.verification.freshness import manifests_of, score_fingerprint, stored_fingerprint, write_fingerprint
from lic_pipeline.verification.library import wanted_versions
from lic_pipeline.verification.planning import manifest_partition
from resources.home import HomeResource
from resources.ledger import LedgerResource
from resources.tables import column_schema


@dg.multi_asset(
    name="scoring",
    specs=[
        dg.AssetSpec(
            "extracted_answers",
            deps=list(SETTING_OF),
            group_name="scoring",
            kinds={"parquet"},
            description="One row per answer attempt: what current code finds beside what the loop recorded.",
            partitions_def=BY_TASK_AND_MODEL,
        ),
        dg.AssetSpec(
            "scores",
            deps=["extracted_answers"],
            group_name="scoring",
            kinds={"parquet"},
            description="One row per conversation and experiment: all its scores under both policies.",
            partitions_def=BY_TASK_AND_MODEL,
        ),
    ],
    check_specs=[
        dg.AssetCheckSpec("scores_consistent", asset="scores", blocking=True, partitions_def=BY_TASK_AND_MODEL)
    ],
    partitions_def=BY_TASK_AND_MODEL,
)
def scoring(context: dg.AssetExecutionContext, home: HomeResource, ledger: LedgerResource) -> Any:
    """Score what changed since it was last scored: another manifest, other references, another scorer."""
    task_name, model = task_and_model(context.partition_key)
    lake = home.home().lake
    task = get_task(task_name)
    store = ConversationStore(lake, task_name, model.alias)
    answers: list[dict[str, Any]] = []
    scores: list[dict[str, Any]] = []
    for experiment, manifest in manifests_of(lake, task_name, model.alias).items():
        partition = manifest_partition(experiment, task_name, model.alias)
        fingerprint = score_fingerprint(lake, task, model.alias, manifest)
        if stored_fingerprint(lake, partition) != fingerprint:
            with ledger.open() as book:
                instructions = wanted_versions(lake, task_name, manifest)
                ids = [row["conversation_id"] for row in manifest if row["instruction_id"] in instructions]
                found, scored = score_manifest(task, manifest, instructions, store.read(ids), book)
            write_partition(lake, EXTRACTED_ANSWERS, partition, found)
            write_partition(lake, SCORES, partition, scored)
            write_fingerprint(lake, partition, fingerprint)
        answers += read_partition(lake, EXTRACTED_ANSWERS, partition) or []
        scores += read_partition(lake, SCORES, partition) or []
    breaks = spec_breaks(EXTRACTED_ANSWERS, answers) + spec_breaks(SCORES, scores)
    yield dg.MaterializeResult(
        asset_key="extracted_answers",
        metadata={"dagster/row_count": len(answers), "dagster/column_schema": column_schema(EXTRACTED_ANSWERS)},
    )
    yield dg.MaterializeResult(
        asset_key="scores",
        metadata={
            "dagster/row_count": len(scores),
            "dagster/column_schema": column_schema(SCORES),
            "without_score": sum(row["score"] is None for row in scores),
        },
        check_results=[scores_check(scores, breaks)],
    )
