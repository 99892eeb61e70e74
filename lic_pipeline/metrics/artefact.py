"""The measurement artefact on imported logs: how much of a drop is the measuring, step by step.

From rows of ``imported_logs`` come the levels (recorded, reference, robust; last and max; cumulative), the sequential
steps in their fixed order, their total, and variants of the gate, each with an interval over instructions: for every
model and for all together (``*``: models weigh equally within an instruction), for settings and for their differences
from FULL, which show what a step does to the *drop*. Conversations with an unknown score in any step are left out.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lic_pipeline.logs.rescoring import STEPS
from lic_pipeline.logs.tables import STEP_SCORES
from lic_pipeline.metrics.degradation import paired_interval
from lic_pipeline.metrics.intervals import Interval, ci_items
from lic_pipeline.metrics.statistics import IntArray
from lic_pipeline.metrics.subsets import FloatArray
from lic_pipeline.models.request import digest
from lic_pipeline.tables import Column, TableSpec, register

Row = Mapping[str, Any]
ALL = "*"
LEVELS = (
    ("recorded_last", "recorded_last"),
    ("recorded_max", "recorded_max"),
    ("reference_last", "reference_last"),
    ("reference_max", "reference_max"),
    ("robust_last", "gate_last"),
    ("robust_max", "robust_max"),
    ("cumulative", "score_cumulative"),
    ("incremental", "incremental"),
)
"""Names of levels and the columns they stand in. A last is compared with a last, a max with a max. ``incremental`` is
the share of conversations whose calls are right taken together although every attempt is wrong."""
TOTALS = (("last", "recorded_last", "gate_last"), ("max", "recorded_max", "robust_max"))
"""All steps together, like for like."""
VARIANTS = ("grade_all", "label_only", "rule_gate")


def _number(name: str, description: str) -> Column:
    return Column(name, "float", description, nullable=True, minimum=-100, maximum=100)


MEASUREMENT_ARTEFACT = register(
    TableSpec(
        "measurement_artefact",
        "Imported logs: levels, steps from the recorded to the robust score, their total, and variants of the gate.",
        (
            Column("experiment", "string", "Experiment of the import"),
            Column("condition", "json", "Condition columns, keys sorted"),
            Column("task", "string", "Task"),
            Column("model", "string", "Model, * = all, weighing equally"),
            Column("setting", "string", "Setting, or a setting minus FULL over the instructions both have"),
            Column("kind", "string", "What the row is", choices=("level", "step", "total", "variant")),
            Column("position", "int", "Place in order: of levels, of changes (steps, totals, variants)", minimum=0),
            Column("name", "string", "Name of the level, step, total or variant"),
            _number("value", "Mean score; of a step or total: after it; points"),
            _number("value_low", "Lower end, 95%, over instructions"),
            _number("value_high", "Upper end, 95%, over instructions"),
            _number("change", "Step, total: change of the mean; variant: difference from robust_max; points"),
            _number("change_low", "Lower end of the change, 95%, paired over instructions"),
            _number("change_high", "Upper end of the change, 95%, paired over instructions"),
            Column("method", "string", "Method of the interval of the value", nullable=True),
            Column("change_method", "string", "Method of the interval of the change", nullable=True),
            Column("n_instructions", "int", "Instructions", minimum=0),
            Column("few", "bool", "Fewer than 10 instructions"),
            Column("n_conversations", "int", "Conversations", minimum=0),
            Column("n_left_out", "int", "Conversations with an unknown score, left out", minimum=0),
            Column("conversations_up", "int", "Conversations whose score the change raised", True, 0),
            Column("conversations_down", "int", "Conversations whose score the change lowered", True, 0),
            Column("attempts_up", "int", "Attempts whose own score rose; gate: attempts admitted", True, 0),
            Column("attempts_down", "int", "Attempts whose own score fell; gate: attempts held back", True, 0),
            Column("signature", "string", "What the numbers depend on; of several cells, a hash over theirs"),
        ),
        ("experiment", "condition", "task", "model", "setting", "kind", "name"),
    )
)
_FEW = 10


_CHANGES = (
    *(("step", name, before, after) for name, before, after in zip(STEPS, STEP_SCORES, STEP_SCORES[1:], strict=False)),
    *(("total", name, before, after) for name, before, after in TOTALS),
    *(("variant", name, "robust_max", name) for name in VARIANTS),
)
"""Kind, name, column before and column after of everything that has a change, in order."""
_NEEDED = tuple(dict.fromkeys((*STEP_SCORES, *VARIANTS, "recorded_max", "reference_max")))
_COLUMNS = (*_NEEDED, "score_cumulative", "incremental")


@dataclass
class _Part:
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
        for kind, name, before, after in _CHANGES:
            step = np.array([row[after] > row[before], row[after] < row[before]], dtype=np.int64)
            self.moved[kind, name] = self.moved.get((kind, name), _NOTHING) + step
        for name, move in json.loads(row["moves"]).items():
            self.attempts[name] = self.attempts.get(name, _NOTHING) + np.array(move, dtype=np.int64)

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


_NOTHING: IntArray = np.zeros(2, dtype=np.int64)
_Key = tuple[str, str, str, str]


class Artefact:
    """Takes rows of ``imported_logs`` one by one, and gives the rows of ``measurement_artefact``."""

    def __init__(self) -> None:
        self._groups: dict[_Key, dict[str, _Part]] = defaultdict(lambda: defaultdict(_Part))

    def add(self, row: Row) -> None:
        """Take one conversation."""
        for model in (row["model"], ALL):
            self._groups[row["experiment"], row["condition"], row["task"], model][row["setting"]].add(row)

    def rows(self) -> list[dict[str, Any]]:
        """All rows, in key order; differences from FULL after the settings."""
        return [row for key in sorted(self._groups) for row in _group(key, self._groups[key])]


def artefact_rows(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """All rows of ``measurement_artefact`` for the given rows of ``imported_logs``."""
    artefact = Artefact()
    for row in rows:
        artefact.add(row)
    return artefact.rows()


def _group(key: _Key, parts: Mapping[str, _Part]) -> Iterator[dict[str, Any]]:
    identity = dict(zip(("experiment", "condition", "task", "model"), key, strict=True))
    full = parts.get("FULL")
    for setting in sorted(parts):
        yield from ({**identity, **row} for row in _setting_rows(setting, parts[setting], None))
    for setting in sorted(parts):
        if setting != "FULL" and full is not None:
            yield from ({**identity, **row} for row in _setting_rows(f"{setting}-FULL", parts[setting], full))


def _setting_rows(setting: str, part: _Part, full: _Part | None) -> Iterator[dict[str, Any]]:
    """Rows of one setting, or of its difference from FULL when ``full`` is given."""

    def values(column: str) -> dict[str, float]:
        own = part.means(column)
        if full is None:
            return own
        other = full.means(column)
        return {name: own[name] - other[name] for name in own if name in other}

    for place, (name, column) in enumerate(LEVELS):
        if found := values(column):
            yield _row(setting, "level", place, name, found, None, part, full)
    for place, (kind, name, before, after) in enumerate(_CHANGES):
        if found := values(after):
            row = _row(setting, kind, place, name, found, values(before), part, full)
            yield row | _counts(kind, name, [part] if full is None else [part, full])


def _counts(kind: str, name: str, parts: Sequence[_Part]) -> dict[str, int | None]:
    """What went up and down; for a difference from FULL, in both of its settings."""
    up, down = sum((part.moved.get((kind, name), _NOTHING) for part in parts), _NOTHING).tolist()
    counts: dict[str, int | None] = {"conversations_up": up, "conversations_down": down}
    moved = [part.attempts[name] for part in parts if kind == "step" and name in part.attempts]
    if moved:
        counts["attempts_up"], counts["attempts_down"] = sum(moved, _NOTHING).tolist()
    return counts


def _row(
    setting: str,
    kind: str,
    position: int,
    name: str,
    values: Mapping[str, float],
    before: Mapping[str, float] | None,
    part: _Part,
    full: _Part | None,
) -> dict[str, Any]:
    level = np.array(list(values.values()))
    interval = ci_items([level]) if full is None else paired_interval([level])
    change = None if before is None else np.array([values[item] - before[item] for item in values])
    moved = None if change is None else paired_interval([change])
    parts = [part] if full is None else [part, full]
    return {
        "setting": setting,
        "kind": kind,
        "position": position,
        "name": name,
        "value": float(level.mean()),
        **_ends("value", interval),
        "change": None if change is None else float(change.mean()),
        **_ends("change", moved),
        "method": interval.method if interval else None,
        "change_method": moved.method if moved else None,
        "n_instructions": len(values),
        "few": len(values) < _FEW,
        "n_conversations": sum(one.n for one in parts),
        "n_left_out": sum(one.left_out for one in parts),
        "conversations_up": None,
        "conversations_down": None,
        "attempts_up": None,
        "attempts_down": None,
        "signature": _signature(parts),
    }


def _signature(parts: Sequence[_Part]) -> str:
    found = sorted({signature for part in parts for signature in part.signatures})
    return found[0] if len(found) == 1 else digest("\n".join(found))[:16]


def _ends(name: str, interval: Interval | None) -> dict[str, float | None]:
    if interval is None:
        return {f"{name}_low": None, f"{name}_high": None}
    return {f"{name}_low": interval.low, f"{name}_high": interval.high}
