"""Stage 4: answers extracted and conversations scored, for every experiment that has a manifest of the partition."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg

from assets.checks.layer import blocks, spec_breaks
from assets.checks.scores import scores_check
from assets.partitions import BY_TASK_AND_MODEL, task_and_model
from assets.simulation import SETTING_OF
from lic_pipeline.config import Home
from lic_pipeline.errors import UnknownNameError
from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.lake.tables import partition_path, read_partition, write_partition
from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.scoring.score_manifest import score_manifest
from lic_pipeline.simulation.judge.stored_verdicts import judged_task, judges_every_turn
from lic_pipeline.simulation.plan.experiment import Experiment
from lic_pipeline.simulation.plan.stored_experiments import find_experiment
from lic_pipeline.tables.runs import EXTRACTED_ANSWERS
from lic_pipeline.tables.scores import SCORES
from lic_pipeline.tasks.protocol import Task
from lic_pipeline.tasks.registry import get_task
from lic_pipeline.verification.bookkeeping.fingerprints import (
    SCORING_VERSION,
    manifests_of,
    score_fingerprint,
    stored_fingerprint,
    write_fingerprint,
)
from lic_pipeline.verification.bookkeeping.manifests import manifest_partition
from lic_pipeline.verification.items.item_versions import wanted_versions
from resources.home import HomeResource
from resources.ledger import LedgerResource
from resources.tables import counts_table, definition_metadata, records_table

Rows = list[dict[str, Any]]


@dg.multi_asset(
    name="scoring",
    specs=[
        dg.AssetSpec(
            "extracted_answers",
            deps=[*SETTING_OF, "judgements"],
            group_name="scoring",
            kinds={"parquet"},
            description="One row per answer attempt: what current code finds beside what the loop recorded.",
            code_version=str(SCORING_VERSION),
            metadata=definition_metadata(EXTRACTED_ANSWERS),
            partitions_def=BY_TASK_AND_MODEL,
        ),
        dg.AssetSpec(
            "scores",
            deps=["extracted_answers"],
            group_name="scoring",
            kinds={"parquet"},
            description="One row per conversation and experiment: all its scores under both policies.",
            code_version=str(SCORING_VERSION),
            metadata=definition_metadata(SCORES, "scores"),
            partitions_def=BY_TASK_AND_MODEL,
        ),
    ],
    check_specs=[
        dg.AssetCheckSpec(
            "scores_consistent",
            asset="scores",
            blocking=True,
            partitions_def=BY_TASK_AND_MODEL,
            description="Every score is in range, agrees with its conversation, or says why it is missing.",
        )
    ],
    partitions_def=BY_TASK_AND_MODEL,
)
def scoring(context: dg.AssetExecutionContext, home: HomeResource, ledger: LedgerResource) -> Any:
    """Score what changed since it was last scored: another manifest, other references, another scorer."""
    task_name, model = task_and_model(context.partition_key)
    lake = home.home().lake
    task = get_task(task_name)
    answers: Rows = []
    scores: Rows = []
    changed: list[tuple[dict[str, str], str, Rows, Rows]] = []
    for experiment, manifest in manifests_of(lake, task_name, model.alias).items():
        partition = manifest_partition(experiment, task_name, model.alias)
        known = _known(home.home(), experiment)
        every_turn = known is not None and judges_every_turn(known, task)
        fingerprint = score_fingerprint(lake, task, model.alias, manifest, every_turn=every_turn)
        if stored_fingerprint(lake, partition) == fingerprint:
            found = read_partition(lake, EXTRACTED_ANSWERS, partition) or []
            scored = read_partition(lake, SCORES, partition) or []
        else:
            with ledger.open() as opened:
                judged = task if known is None else judged_task(task, known, opened)
                found, scored = _scored(lake, judged, model.alias, manifest, opened)
            changed.append((partition, fingerprint, found, scored))
        answers += found
        scores += scored
    check = scores_check(scores, spec_breaks(EXTRACTED_ANSWERS, answers) + spec_breaks(SCORES, scores))
    if not blocks(check):
        for partition, fingerprint, found, scored in changed:
            write_partition(lake, EXTRACTED_ANSWERS, partition, found)
            write_partition(lake, SCORES, partition, scored)
            write_fingerprint(lake, partition, fingerprint)
    yield from _results(lake, task_name, model.alias, answers, scores, check)


def _known(home: Home, experiment: str) -> Experiment | None:
    """The experiment of this name; imported conversations belong to none that is known here."""
    try:
        return find_experiment(home, experiment)
    except UnknownNameError:
        return None


def _scored(lake: Path, task: Task, model: str, manifest: Rows, opened: Ledger) -> tuple[Rows, Rows]:
    instructions = wanted_versions(lake, task.name, manifest)
    ids = [row["conversation_id"] for row in manifest if row["instruction_id"] in instructions]
    store = ConversationStore(lake, task.name, model)
    return score_manifest(task, manifest, instructions, store.read(ids), opened)


def _results(
    lake: Path, task: str, model: str, answers: Rows, scores: Rows, check: dg.AssetCheckResult
) -> Iterator[dg.MaterializeResult]:
    links = {spec.name: _link(lake, spec.name, task, model, scores) for spec in (EXTRACTED_ANSWERS, SCORES)}
    refused = {"refused": "the last good version stays"} if blocks(check) else {}
    yield dg.MaterializeResult(
        asset_key="extracted_answers",
        metadata={
            "dagster/row_count": len(answers),
            "model": model,
            "verdicts": counts_table("verdict", Counter(row["verdict"] for row in answers)),
            "found_by": counts_table("rung", Counter(row["rung"] for row in answers)),
            "path": dg.MetadataValue.path(links[EXTRACTED_ANSWERS.name]),
            **refused,
        },
    )
    yield dg.MaterializeResult(
        asset_key="scores",
        metadata={
            "dagster/row_count": len(scores),
            "model": model,
            "without_score": sum(row["score"] is None for row in scores),
            "means": records_table(("experiment", "setting", "conversations", "scored", "mean_score"), _means(scores)),
            "path": dg.MetadataValue.path(links[SCORES.name]),
            **refused,
        },
        check_results=[check],
    )


def _link(lake: Path, table: str, task: str, model: str, scores: Rows) -> str:
    """The partition's file; where several experiments have one each, the folder above them all."""
    experiments = {row["experiment"] for row in scores}
    if len(experiments) != 1:
        return str(lake / table)
    return str(partition_path(lake, table, manifest_partition(experiments.pop(), task, model)))


def _means(scores: Rows) -> Iterator[tuple[str, str, int, int, float | None]]:
    """Plain means over conversations, a first look only; the metric tables weigh, bound and test."""
    cells: dict[tuple[str, str], list[float | None]] = defaultdict(list)
    for row in scores:
        cells[row["experiment"], str(row["setting"])].append(row["score"])
    for (experiment, setting), found in cells.items():
        known = [score for score in found if score is not None]
        yield experiment, setting, len(found), len(known), round(sum(known) / len(known), 1) if known else None
