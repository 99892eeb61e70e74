"""Sums over imported conversations of one setting: what the rows of ``measurement_artefact`` are made from.

Memory grows with instructions and models, not with conversations. A conversation with an unknown score in any step is
counted and left out.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lic_pipeline.logs.tables import STEP_SCORES
from lic_pipeline.metrics.measurement_artefact_table import CHANGES, VARIANTS
from lic_pipeline.metrics.statistics.reliability import IntArray
from lic_pipeline.metrics.statistics.run_subsets import FloatArray

Row = Mapping[str, Any]
NOTHING: IntArray = np.zeros(2, dtype=np.int64)
_NEEDED = tuple(dict.fromkeys((*STEP_SCORES, *VARIANTS, "recorded_max", "reference_max")))
_COLUMNS = (*_NEEDED, "score_cumulative", "incremental")


@dataclass
class SettingSums:
    """Sums over the conversations of one setting; transcripts and rows are gone, so memory stays flat."""

    sums: dict[str, dict[str, FloatArray]] = field(default_factory=lambda: defaultdict(dict))
    moved: dict[tuple[str, str], IntArray] = field(default_factory=dict)
    attempts: dict[str, IntArray] = field(default_factory=dict)
    signatures: set[str] = field(default_factory=set)
    n: int = 0
    left_out: int = 0

    def add(self, row: Row) -> None:
        """Take one conversation, or count it as left out."""
        if any(row[column] is None for column in _NEEDED):
            self.left_out += 1
            return
        self.n += 1
        self.signatures.add(row["signature"])
        values = [row.get(column) for column in _COLUMNS[:-1]]
        values.append(_incremental(row))
        known = np.array([(0.0, 0.0) if value is None else (value, 1.0) for value in values])
        of_instruction = self.sums[row["instruction_id"]]
        if row["model"] in of_instruction:
            of_instruction[row["model"]] += known
        else:
            of_instruction[row["model"]] = known
        for kind, name, before, after in CHANGES:
            step = np.array([row[after] > row[before], row[after] < row[before]], dtype=np.int64)
            self.moved[kind, name] = self.moved.get((kind, name), NOTHING) + step
        for name, move in json.loads(row["moves"]).items():
            self.attempts[name] = self.attempts.get(name, NOTHING) + np.array(move, dtype=np.int64)

    def means(self, column: str) -> dict[str, float]:
        """By instruction: mean over models of the mean over runs; instructions without a value are not there."""
        place = _COLUMNS.index(column)
        found = {}
        for instruction, models in sorted(self.sums.items()):
            cells = [models[model][place] for model in sorted(models) if models[model][place, 1]]
            if cells:
                found[instruction] = float(np.mean([total / count for total, count in cells]))
        return found


def _incremental(row: Row) -> float | None:
    if row["score_cumulative"] is None:
        return None
    return 100.0 if row["score_cumulative"] == 100.0 and row["robust_max"] < 100.0 else 0.0
