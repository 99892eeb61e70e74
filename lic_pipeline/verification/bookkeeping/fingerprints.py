"""What is up to date: fingerprints of what a result was computed from, kept beside the result.

A stage whose fingerprint is unchanged need not run again. Fingerprints hold content and code versions, no times.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lic_pipeline.benchmarks.registry import benchmarks_of, locate, samples_folder
from lic_pipeline.config import Home
from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.lake.files import safe_part, unsafe_part, write_json
from lic_pipeline.lake.tables import partition_path, read_partition
from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.models.request import canonical_json, digest
from lic_pipeline.records import Json
from lic_pipeline.simulation.judge.pending_questions import JUDGED, UNUSABLE, UNUSABLE_STATE
from lic_pipeline.simulation.judge.stored_verdicts import judges_every_turn
from lic_pipeline.simulation.plan.call_parameters import judge_entry
from lic_pipeline.simulation.plan.conversation_plan import Plan
from lic_pipeline.simulation.resume.pending_conversations import PendingConversations
from lic_pipeline.simulation.roles.llm_judge import judge_identity
from lic_pipeline.tables.items import APPROVED_INSTRUCTIONS, INSTRUCTIONS, LIBRARY, PROBLEMS, SHARDED_INSTRUCTIONS
from lic_pipeline.tables.runs import EXTRACTED_ANSWERS, JUDGEMENTS, MANIFESTS
from lic_pipeline.tables.scores import SCORES
from lic_pipeline.tasks.protocol import Task
from lic_pipeline.verification.bookkeeping.manifests import manifest_is, manifest_partition, read_manifest
from lic_pipeline.verification.items.item_versions import references_hash, wanted_versions

GATE_VERSION = 2
"""Raised by hand whenever the gates of items would decide differently about the same files."""

SCORING_VERSION = 1
"""Raised by hand whenever rows of the scoring stage would come out differently from the same input."""

METRICS_VERSION = 6
"""Raised by hand whenever the metric tables or the report would come out differently from the same scores."""


def manifests_of(lake: Path, task: str, model: str) -> dict[str, list[dict[str, Any]]]:
    """All manifests of one (task, model), by experiment."""
    found = {}
    for folder in sorted((lake / MANIFESTS.name).glob("experiment=*")):
        path = folder / f"task={safe_part(task)}" / f"model={safe_part(model)}"
        if path.is_dir():
            name = unsafe_part(folder.name.removeprefix("experiment="))
            found[name] = read_partition(lake, MANIFESTS, {"experiment": name, "task": task, "model": model}) or []
    return found


def score_fingerprint(
    lake: Path, task: Task, model: str, manifest: Sequence[Mapping[str, Any]], *, every_turn: bool = False
) -> str:
    """Of the manifest, the stored conversations of the partition, the references and the scorer.

    ``every_turn``: as the experiment judges (``judges_every_turn``).
    """
    references = references_hash(wanted_versions(lake, task.name, manifest))
    files = ConversationStore(lake, task.name, model).file_names()
    parts = [
        SCORING_VERSION,
        task.scorer_version,
        [[row["conversation_id"], row["signature"], row["approval"]] for row in manifest],
        files,
        references,
        *_judgements(lake, manifest, task.name, model),
        *(["every turn"] if every_turn else []),
    ]
    return digest(canonical_json(parts))


def _judgements(lake: Path, manifest: Sequence[Mapping[str, Any]], task: str, model: str) -> list[Json]:
    """What judges that are models have said of the manifest's conversations; () where none was asked."""
    if not manifest:
        return []
    rows = read_partition(lake, JUDGEMENTS, manifest_partition(manifest[0]["experiment"], task, model)) or []
    return [[row["judgement_id"], row["state"]] for row in rows]


def is_judged(home: Home, plan: Plan, ledger: Ledger) -> bool:
    """True when the experiment's judge has nothing left to say: no judge, or every summary was put before it.

    A question that was opened again since (``lic retry --errors``) is one it has not answered.
    """
    entry = judge_entry(plan.experiment, plan.task.name)
    if entry is None:
        return True
    partition = manifest_partition(plan.experiment.name, plan.task.name, plan.model.alias)
    rows = read_partition(home.lake, JUDGEMENTS, partition)
    if rows is None or any(row["state"] not in (JUDGED, UNUSABLE) or row["judge"] != entry.alias for row in rows):
        return False
    unusable = [row["judgement_id"] for row in rows if row["state"] == UNUSABLE]
    if any(state != UNUSABLE_STATE for state in ledger.states(unusable).values()):
        return False
    return _stored(_judged_path(home.lake, partition)) == judging_fingerprint(home.lake, plan, entry)


def judging_fingerprint(lake: Path, plan: Plan, entry: ModelEntry) -> str:
    """Of the plan's conversations, their references and the judge."""
    ids = [spec.conversation_id for spec in plan.specs]
    files = ConversationStore(lake, plan.task.name, plan.model.alias).file_names()
    references = references_hash({name: item.instruction for name, item in plan.items.items()})
    every_turn = ["every turn"] if judges_every_turn(plan.experiment, plan.task) else []
    return digest(canonical_json([judge_identity(entry), ids, files, references, *every_turn]))


def mark_judged(lake: Path, plan: Plan, entry: ModelEntry) -> None:
    """Remember what was judged, after the judgements themselves are on disk."""
    partition = manifest_partition(plan.experiment.name, plan.task.name, plan.model.alias)
    write_json(_judged_path(lake, partition), {"fingerprint": judging_fingerprint(lake, plan, entry)})


def _judged_path(lake: Path, partition: Mapping[str, str]) -> Path:
    return partition_path(lake, JUDGEMENTS.name, partition).with_name("fingerprint.json")


def stored_fingerprint(lake: Path, partition: Mapping[str, str]) -> str | None:
    """The fingerprint the partition's scores were written with, None when they never were or are gone."""
    there = all(partition_path(lake, spec.name, partition).is_file() for spec in (EXTRACTED_ANSWERS, SCORES))
    return _stored(_path(lake, partition)) if there else None


def write_fingerprint(lake: Path, partition: Mapping[str, str], fingerprint: str) -> None:
    """Keep the fingerprint, after the scores themselves are on disk."""
    write_json(_path(lake, partition), {"fingerprint": fingerprint})


def _path(lake: Path, partition: Mapping[str, str]) -> Path:
    return partition_path(lake, "scores", partition).with_name("fingerprint.json")


def prepare_fingerprint(home: Home, task: Task) -> str:
    """Of every file the approved items of a task come from (name, size, time of change) and of the gates.

    Raises InputError when a benchmark of the task can be found nowhere.
    """
    parts: list[Any] = [GATE_VERSION, task.scorer_version]
    for benchmark in benchmarks_of(task.name):
        source = locate(benchmark)
        parts += [benchmark, source.kind, *_files_below(source.folder)]
    parts += [*_files_below(samples_folder(), "shards.jsonl"), *_files_below(home.lake / "released")]
    return digest(canonical_json(parts))


def _files_below(folder: Path, pattern: str = "**/*") -> list[list[Any]]:
    files = sorted(path for path in folder.glob(pattern) if path.is_file())
    return [[str(path), path.stat().st_size, path.stat().st_mtime_ns] for path in files]


def is_prepared(home: Home, task: Task) -> bool:
    """True when the approved items of a task are what preparing it again would give."""
    layers = (INSTRUCTIONS, LIBRARY, SHARDED_INSTRUCTIONS, APPROVED_INSTRUCTIONS)
    kept = all(partition_path(home.lake, spec.name, {"task": task.name}).is_file() for spec in layers)
    return kept and _stored(_prepared(home.lake, task.name)) == prepare_fingerprint(home, task)


def mark_prepared(home: Home, task: Task, fingerprint: str) -> None:
    """Remember what a task was prepared from; the fingerprint is taken before the work starts."""
    write_json(_prepared(home.lake, task.name), {"fingerprint": fingerprint})


def is_evaluated(home: Home, plan: Plan, ledger: Ledger) -> bool:
    """True when every planned conversation has its outcome, the manifest is this plan's, and scores are current."""
    lake, task, model = home.lake, plan.task, plan.model.alias
    manifest = read_manifest(lake, plan.experiment.name, task.name, model)
    if manifest is None or not manifest_is(plan, manifest):
        return False
    if PendingConversations(plan, ledger, ConversationStore(lake, task.name, model)).todo:
        return False
    if not is_judged(home, plan, ledger):
        return False
    partition = manifest_partition(plan.experiment.name, task.name, model)
    every_turn = judges_every_turn(plan.experiment, task)
    return stored_fingerprint(lake, partition) == score_fingerprint(lake, task, model, manifest, every_turn=every_turn)


def publish_fingerprint(home: Home) -> str:
    """Of everything the metric tables and the report are made from."""
    folders = (SCORES.name, MANIFESTS.name, INSTRUCTIONS.name, APPROVED_INSTRUCTIONS.name, PROBLEMS.name)
    files = [_files_below(home.lake / name) for name in folders]
    return digest(canonical_json([METRICS_VERSION, files]))


def is_published(home: Home) -> bool:
    """True when the warehouse and the report are what publishing again would give."""
    there = home.warehouse.is_file() and (home.report / "report.md").is_file()
    return there and _stored(home.lake / "published.json") == publish_fingerprint(home)


def mark_published(home: Home) -> None:
    """Remember what was published."""
    write_json(home.lake / "published.json", {"fingerprint": publish_fingerprint(home)})


def _prepared(lake: Path, task: str) -> Path:
    return partition_path(lake, APPROVED_INSTRUCTIONS.name, {"task": task}).with_name("prepared.json")


def _stored(path: Path) -> str | None:
    try:
        value: str = json.loads(path.read_text(encoding="utf-8"))["fingerprint"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return value
