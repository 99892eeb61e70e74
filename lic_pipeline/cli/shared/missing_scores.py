"""Why finished conversations have no score: one answer for ``lic run``, ``lic retry`` and ``lic status``."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from lic_pipeline.verification.bookkeeping.status import Partition


def missing_score_reasons(lake: Path, partition: Partition, finished: Collection[str]) -> list[str]:
    """One reason per conversation: a judge's reply that cannot be used, no sandbox, no room for a word."""
    from lic_pipeline.lake.tables import read_partition
    from lic_pipeline.tables.scores import SCORES
    from lic_pipeline.verification.bookkeeping.manifests import manifest_partition

    rows = read_partition(lake, SCORES, manifest_partition(*partition)) or []
    return [row["missing_reason"] for row in rows if row["missing_reason"] and row["conversation_id"] in finished]
