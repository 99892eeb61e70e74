"""The measurement artefact on imported logs: how much of a drop is the measuring, step by step.

From rows of ``imported_logs`` come the levels (recorded, reference, robust; last and max; cumulative), the sequential
steps in their fixed order, their total, and variants of the gate, each with an interval over instructions: for every
model and for all together (``*``: models weigh equally within an instruction), for settings and for their differences
from FULL, which show what a step does to the *drop*. The table is in ``artefact_table``, the sums in ``artefact_sums``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from lic_pipeline.metrics.measurement_artefact_sums import NOTHING, Row, SettingSums
from lic_pipeline.metrics.measurement_artefact_table import ALL, CHANGES, LEVELS
from lic_pipeline.metrics.statistics.degradation import paired_interval
from lic_pipeline.metrics.statistics.intervals import Interval, ci_items
from lic_pipeline.models.request import digest

_FEW = 10
_Key = tuple[str, str, str, str]


class Artefact:
    """Takes rows of ``imported_logs`` one by one, and gives the rows of ``measurement_artefact``."""

    def __init__(self) -> None:
        self._groups: dict[_Key, dict[str, SettingSums]] = defaultdict(lambda: defaultdict(SettingSums))

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


def _group(key: _Key, parts: Mapping[str, SettingSums]) -> Iterator[dict[str, Any]]:
    identity = dict(zip(("experiment", "condition", "task", "model"), key, strict=True))
    full = parts.get("FULL")
    for setting in sorted(parts):
        yield from ({**identity, **row} for row in _setting_rows(setting, parts[setting], None))
    for setting in sorted(parts):
        if setting != "FULL" and full is not None:
            yield from ({**identity, **row} for row in _setting_rows(f"{setting}-FULL", parts[setting], full))


def _setting_rows(setting: str, part: SettingSums, full: SettingSums | None) -> Iterator[dict[str, Any]]:
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
    for place, (kind, name, before, after) in enumerate(CHANGES):
        if found := values(after):
            row = _row(setting, kind, place, name, found, values(before), part, full)
            yield row | _counts(kind, name, [part] if full is None else [part, full])


def _counts(kind: str, name: str, parts: Sequence[SettingSums]) -> dict[str, int | None]:
    """What went up and down; for a difference from FULL, in both of its settings."""
    up, down = sum((part.moved.get((kind, name), NOTHING) for part in parts), NOTHING).tolist()
    counts: dict[str, int | None] = {"conversations_up": up, "conversations_down": down}
    moved = [part.attempts[name] for part in parts if kind == "step" and name in part.attempts]
    if moved:
        counts["attempts_up"], counts["attempts_down"] = sum(moved, NOTHING).tolist()
    return counts


def _row(
    setting: str,
    kind: str,
    position: int,
    name: str,
    values: Mapping[str, float],
    before: Mapping[str, float] | None,
    part: SettingSums,
    full: SettingSums | None,
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


def _signature(parts: Sequence[SettingSums]) -> str:
    found = sorted({signature for part in parts for signature in part.signatures})
    return found[0] if len(found) == 1 else digest("\n".join(found))[:16]


def _ends(name: str, interval: Interval | None) -> dict[str, float | None]:
    if interval is None:
        return {f"{name}_low": None, f"{name}_high": None}
    return {f"{name}_low": interval.low, f"{name}_high": interval.high}
