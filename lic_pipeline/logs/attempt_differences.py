"""Every attempt of an import that is scored otherwise than the log says: the list a person adjudicates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lic_pipeline.lake.tables import read_partition
from lic_pipeline.logs.rescoring import ROUNDING
from lic_pipeline.logs.tables import partition_of
from lic_pipeline.tables.runs import EXTRACTED_ANSWERS

_SHOWN = (
    *("task", "model", "setting", "instruction_id", "run", "turn", "strategy", "gate", "rung", "answer", "verdict"),
    *("score", "reference_score", "recorded_answer", "recorded_score"),
)


def attempt_differences(lake: Path, rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The differing attempts of one partition, given its ``imported_logs`` rows: ``conv_id``, turn, both scores."""
    if not rows:
        return
    first = rows[0]
    named = {row["conversation_id"]: row["conv_id"] for row in rows}
    partition = partition_of(first["experiment"], first["task"], first["model"])
    for attempt in read_partition(lake, EXTRACTED_ANSWERS, partition) or []:
        recorded, found = attempt["recorded_score"], attempt["score"]
        if recorded is not None and (found is None or abs(found - recorded) > ROUNDING):
            way = "unscored" if found is None else "up" if found > recorded else "down"
            yield {
                "conv_id": named[attempt["conversation_id"]],
                "way": way,
                **{name: attempt[name] for name in _SHOWN},
            }
