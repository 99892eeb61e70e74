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
from dataclasses import dataclass
from typing import Any

import numpy as np

from lic_pipeline.logs.rescoring import STEPS
from lic_pipeline.logs.tables import STEP_SCORES
from lic_pipeline.metrics.degradation import paired_interval
from lic_pipeline.metrics.intervals import Interval, ci_items
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
            Column("position", "int", "Place in the order of its kind", minimum=0),
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


@dataclass(frozen=True)
class _Part:
    """The rows of one setting, and which were left out."""

    rows: list[Row]
    left_out: int

    def means(self, column: str) -> dict[str, float]:
        """By instruction: mean over models of the mean over runs; instructions without a value are not there."""
        values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for row in self.rows:
            if row[column] is not None:
                values[row["instruction_id"]][row["model"]].append(row[column])
        return {
            name: float(np.mean([np.mean(models[model]) for model in sorted(models)]))
            for name, models in sorted(values.items())
        }


def artefact_rows(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """All rows of ``measurement_artefact`` for the given rows of ``imported_logs``, in key order."""
    groups: dict[tuple[str, str, str, str], dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        for model in (row["model"], ALL):
            groups[row["experiment"], row["condition"], row["task"], model][row["setting"]].append(row)
    return [row for key in sorted(groups) for row in _group(key, groups[key])]


def _group(key: tuple[str, str, str, str], settings: Mapping[str, Sequence[Row]]) -> Iterator[dict[str, Any]]:
    parts = {setting: _part(rows) for setting, rows in sorted(settings.items())}
    identity = dict(zip(("experiment", "condition", "task", "model"), key, strict=True))
    for setting, part in parts.items():
        yield from ({**identity, **row} for row in _setting_rows(key, setting, part, None))
    for setting, part in parts.items():
        if setting != "FULL" and "FULL" in parts:
            name = f"{setting}-FULL"
            yield from ({**identity, **row} for row in _setting_rows(key, name, part, parts["FULL"]))


def _part(rows: Sequence[Row]) -> _Part:
    needed = (*STEP_SCORES, *VARIANTS, "recorded_max", "reference_max")
    kept = [row for row in rows if all(row[column] is not None for column in needed)]
    return _Part([{**row, "incremental": _incremental(row)} for row in kept], len(rows) - len(kept))


def _incremental(row: Row) -> float | None:
    if row["score_cumulative"] is None:
        return None
    return 100.0 if row["score_cumulative"] == 100.0 and row["robust_max"] < 100.0 else 0.0


def _setting_rows(key: tuple[str, ...], setting: str, part: _Part, full: _Part | None) -> Iterator[dict[str, Any]]:
    """Rows of one setting, or of its difference from FULL when ``full`` is given."""

    def values(column: str) -> dict[str, float]:
        own = part.means(column)
        if full is None:
            return own
        other = full.means(column)
        return {name: own[name] - other[name] for name in own if name in other}

    counted = _Counts(part.rows + (full.rows if full else []))
    identity = (*key, setting)
    for place, (name, column) in enumerate(LEVELS):
        if found := values(column):
            yield _row(setting, "level", place, name, found, None, identity, part, full)
    for place, (name, before, after) in enumerate(zip(STEPS, STEP_SCORES, STEP_SCORES[1:], strict=False)):
        if found := values(after):
            row = _row(setting, "step", place, name, found, values(before), identity, part, full)
            yield row | counted.step(name, before, after)
    for place, (name, before, after) in enumerate(TOTALS):
        if found := values(after):
            row = _row(setting, "total", place, name, found, values(before), identity, part, full)
            yield row | counted.conversations(before, after)
    for place, name in enumerate(VARIANTS):
        if found := values(name):
            row = _row(setting, "variant", place, name, found, values("robust_max"), identity, part, full)
            yield row | counted.conversations("robust_max", name)


@dataclass(frozen=True)
class _Counts:
    """Counts of what went up and down; for a difference from FULL, in both of its settings."""

    rows: list[Row]

    def conversations(self, before: str, after: str) -> dict[str, int | None]:
        """Conversations that rose and fell from one column to another."""
        return {
            "conversations_up": sum(row[after] > row[before] for row in self.rows),
            "conversations_down": sum(row[after] < row[before] for row in self.rows),
        }

    def step(self, name: str, before: str, after: str) -> dict[str, int | None]:
        """The same for a step, with its attempts."""
        moves = [json.loads(row["moves"]).get(name) for row in self.rows]
        known = [move for move in moves if move is not None]
        attempts = {
            "attempts_up": sum(up for up, _ in known) if known else None,
            "attempts_down": sum(down for _, down in known) if known else None,
        }
        return {**self.conversations(before, after), **attempts}


def _row(
    setting: str,
    kind: str,
    position: int,
    name: str,
    values: Mapping[str, float],
    before: Mapping[str, float] | None,
    identity: Sequence[str],
    part: _Part,
    full: _Part | None,
) -> dict[str, Any]:
    level = np.array(list(values.values()))
    seed = (*identity, kind, name)
    interval = ci_items([level], *seed) if full is None else paired_interval([level], *seed)
    change = None if before is None else np.array([values[item] - before[item] for item in values])
    moved = None if change is None else paired_interval([change], *seed, "change")
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
        "n_conversations": sum(len(one.rows) for one in parts),
        "n_left_out": sum(one.left_out for one in parts),
        "conversations_up": None,
        "conversations_down": None,
        "attempts_up": None,
        "attempts_down": None,
        "signature": _signature(parts),
    }


def _signature(parts: Sequence[_Part]) -> str:
    found = sorted({str(row["signature"]) for part in parts for row in part.rows})
    return found[0] if len(found) == 1 else digest("\n".join(found))[:16]


def _ends(name: str, interval: Interval | None) -> dict[str, float | None]:
    if interval is None:
        return {f"{name}_low": None, f"{name}_high": None}
    return {f"{name}_low": interval.low, f"{name}_high": interval.high}
