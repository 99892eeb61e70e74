"""Rows of ``log_comparison``: recorded, reference and robust means of each cell, and why they differ."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

Row = Mapping[str, Any]
EXAMPLES = 3
_KEY = ("experiment", "condition", "task", "model", "setting")
_MEANS = {
    "recorded": "recorded",
    "reference": "reference_last",
    "robust_last": "gate_last",
    "robust": "robust",
    "score_cumulative": "score_cumulative",
}


def comparison_rows(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """One row per cell of the given ``imported_logs`` rows, by key. Means are over instructions of means over runs."""
    cells: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        cells[tuple(row[name] for name in _KEY)].append(row)
    return [_cell(key, cells[key]) for key in sorted(cells)]


def _cell(key: Sequence[Any], rows: Sequence[Row]) -> dict[str, Any]:
    known = [(row["recorded"], row["robust"]) for row in rows if None not in (row["recorded"], row["robust"])]
    return {
        **dict(zip(_KEY, key, strict=True)),
        "n_conversations": len(rows),
        "n_instructions": len({row["instruction_id"] for row in rows}),
        **{name: mean_over_instructions(rows, column) for name, column in _MEANS.items()},
        "n_missing": sum(row["robust"] is None for row in rows),
        "attempts": sum(row["attempts"] for row in rows),
        "reproduced": sum(row["reproduced"] for row in rows),
        "n_up": sum(robust > recorded for recorded, robust in known),
        "n_down": sum(robust < recorded for recorded, robust in known),
        "reasons": json.dumps(_reasons(rows), sort_keys=True),
        "signature": rows[0]["signature"],
    }


def mean_over_instructions(rows: Iterable[Row], column: str) -> float | None:
    """Mean over instructions of the mean over their runs; rows without a value are left out; None when none has one."""
    values: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        if row[column] is not None:
            values[row["instruction_id"]].append(row[column])
    return fmean(fmean(values[name]) for name in sorted(values)) if values else None


def _reasons(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    found: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        for reason in json.loads(row["reasons"]):
            found[reason].append(row["conv_id"] or row["conversation_id"])
    return {reason: {"n": len(ids), "examples": ids[:EXAMPLES]} for reason, ids in found.items()}
