"""What is up to date: fingerprints of what a result was computed from, kept beside the result.

A stage whose fingerprint is unchanged need not run again. Fingerprints hold content and code versions, no times.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.lake.files import file_sha256, safe_part, unsafe_part, write_json
from lic_pipeline.lake.tables import partition_path, read_partition
from lic_pipeline.models.request import canonical_json, digest
from lic_pipeline.tables_items import INSTRUCTIONS
from lic_pipeline.tables_runs import MANIFESTS
from lic_pipeline.tasks.protocol import Task

SCORING_VERSION = 1
"""Raised by hand whenever rows of the scoring stage would come out differently from the same input."""


def manifests_of(lake: Path, task: str, model: str) -> dict[str, list[dict[str, Any]]]:
    """All manifests of one (task, model), by experiment."""
    found = {}
    for folder in sorted((lake / MANIFESTS.name).glob("experiment=*")):
        path = folder / f"task={safe_part(task)}" / f"model={safe_part(model)}"
        if path.is_dir():
            name = unsafe_part(folder.name.removeprefix("experiment="))
            found[name] = read_partition(lake, MANIFESTS, {"experiment": name, "task": task, "model": model}) or []
    return found


def score_fingerprint(lake: Path, task: Task, model: str, manifest: Sequence[Mapping[str, Any]]) -> str:
    """Of the manifest, the stored conversations of the partition, the references and the scorer."""
    references = partition_path(lake, INSTRUCTIONS.name, {"task": task.name})
    files = ConversationStore(lake, task.name, model).file_names()
    parts = [
        SCORING_VERSION,
        task.scorer_version,
        [[row["conversation_id"], row["signature"], row["approval"]] for row in manifest],
        files,
        file_sha256(references) if references.is_file() else "",
    ]
    return digest(canonical_json(parts))


def stored_fingerprint(lake: Path, partition: Mapping[str, str]) -> str | None:
    """The fingerprint the partition's scores were written with, None when they never were."""
    try:
        value: str = json.loads(_path(lake, partition).read_text(encoding="utf-8"))["fingerprint"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return value


def write_fingerprint(lake: Path, partition: Mapping[str, str], fingerprint: str) -> None:
    """Keep the fingerprint, after the scores themselves are on disk."""
    write_json(_path(lake, partition), {"fingerprint": fingerprint})


def _path(lake: Path, partition: Mapping[str, str]) -> Path:
    return partition_path(lake, "scores", partition).with_name("fingerprint.json")
