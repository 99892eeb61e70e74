"""Rows of ``log_comparison``: recorded, reference and robust means of each cell, and why they differ."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from lic_pipeline.logs.rescoring import ROUNDING

Row = Mapping[str, Any]
EXAMPLES = 3
_KEY = ("experiment", "condition", "task", "model", "setting")
_COUNTS = ("n_conversations", "n_missing", "attempts", "reproduced", "n_up", "n_down")
_MEANS = {
    "recorded": "recorded",
    "reference": "reference_last",
    "robust_last": "gate_last",
    "robust": "robust",
    "score_cumulative": "score_cumulative",
}


@dataclass
class _Cell:
    """Sums of one cell; no row is kept."""

    signature: str
    sums: dict[str, dict[str, list[float]]] = field(default_factory=lambda: defaultdict(dict))
    counts: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    n_reasons: Counter[str] = field(default_factory=Counter)

    def add(self, row: Row) -> None:
        """Take one conversation."""
        of_instruction = self.sums[row["instruction_id"]]
        for name, column in _MEANS.items():
            if row[column] is not None:
                total, count = of_instruction.get(name, (0.0, 0.0))
                of_instruction[name] = [total + row[column], count + 1]
        recorded, robust = row["recorded"], row["robust"]
        self.counts["n_conversations"] += 1
        self.counts["n_missing"] += robust is None
        self.counts["attempts"] += row["attempts"]
        self.counts["reproduced"] += row["reproduced"]
        if recorded is not None and robust is not None:
            self.counts["n_up"] += robust > recorded + ROUNDING
            self.counts["n_down"] += robust < recorded - ROUNDING
        for reason in json.loads(row["reasons"]):
            self.n_reasons[reason] += 1
            if len(self.reasons[reason]) < EXAMPLES:
                self.reasons[reason].append(row["conv_id"] or row["conversation_id"])

    def mean(self, name: str) -> float | None:
        """Mean over instructions of the mean over runs; None when no conversation has a value."""
        cells = [self.sums[one][name] for one in sorted(self.sums) if name in self.sums[one]]
        return fmean(total / count for total, count in cells) if cells else None


class Comparison:
    """Takes rows of ``imported_logs`` one by one, and gives one row per cell."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str, ...], _Cell] = {}

    def add(self, row: Row) -> None:
        """Take one conversation."""
        key = tuple(row[name] for name in _KEY)
        if key not in self._cells:
            self._cells[key] = _Cell(row["signature"])
        self._cells[key].add(row)

    def rows(self) -> list[dict[str, Any]]:
        """One row per cell, by key."""
        return [_row(key, self._cells[key]) for key in sorted(self._cells)]


def _row(key: tuple[str, ...], cell: _Cell) -> dict[str, Any]:
    reasons = {name: {"n": cell.n_reasons[name], "examples": ids} for name, ids in cell.reasons.items()}
    return {
        **dict(zip(_KEY, key, strict=True)),
        "n_instructions": len(cell.sums),
        **{name: cell.mean(name) for name in _MEANS},
        **{name: int(cell.counts[name]) for name in _COUNTS},
        "reasons": json.dumps(reasons, sort_keys=True),
        "signature": cell.signature,
    }
