"""Instruction values of every cell, read from the warehouse, and the intervals and tests computed from them.

Rows out are plain dicts for the helper tables that the SQL of the metric tables joins. Nothing is decided here about
which cells are shown: that is written in the SQL.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pyarrow as pa

from lic_pipeline.metrics.statistics.degradation import TaskPair, degradation, paired_interval
from lic_pipeline.metrics.statistics.intervals import Interval, ci_items, ci_runs
from lic_pipeline.metrics.statistics.paired_tests import holm, sign_flip
from lic_pipeline.metrics.statistics.reliability import BoolArray, IntArray
from lic_pipeline.metrics.statistics.run_subsets import FloatArray
from lic_pipeline.signatures import SETTING_FIELDS, differing

Row = dict[str, Any]
_NOT_COMPARED = SETTING_FIELDS | {"condition", "n", "approval"}  # N matters to A90 and U only, approvals vary with gaps


class Cell(NamedTuple):
    """Key of one cell."""

    experiment: str
    condition: str
    task: str
    model: str
    setting: str


@dataclass(frozen=True)
class CellValues:
    """Values of the scored instructions of one cell, in instruction order; ``a90`` and ``u`` where ``compared``."""

    ids: list[str]
    p: FloatArray
    variance: FloatArray
    runs: IntArray
    a90: FloatArray
    u: FloatArray
    compared: BoolArray

    def paired_with(self, other: CellValues) -> FloatArray:
        """P of the instructions both cells have, (n, 2): own, other."""
        place = {instruction: i for i, instruction in enumerate(other.ids)}
        common = [(i, place[name]) for i, name in enumerate(self.ids) if name in place]
        if not common:
            return np.empty((0, 2))
        mine, theirs = np.array(common).T
        return np.column_stack((self.p[mine], other.p[theirs]))


def read_cells(connection: duckdb.DuckDBPyConnection) -> dict[Cell, CellValues]:
    """All cells of ``reliability_by_instruction`` with at least one scored instruction."""
    table: pa.Table = connection.sql(
        "SELECT experiment, condition, task, model, setting, instruction_id, P, coalesce(variance, 0) AS variance,"
        " n_scored, coalesce(A90, 0) AS A90, coalesce(U90_10, 0) AS U90_10, compared"
        " FROM reliability_by_instruction WHERE P IS NOT NULL"
        " ORDER BY experiment, condition, task, model, setting, instruction_id"
    ).to_arrow_table()
    names = zip(*(table.column(i).to_pylist() for i in range(5)), strict=True)
    ids = table.column(5).to_pylist()
    numbers = [table.column(i).to_numpy() for i in range(6, table.num_columns)]
    cells: dict[Cell, CellValues] = {}
    start = 0
    for key, group in groupby(names):
        end = start + sum(1 for _ in group)
        p, variance, runs, a90, u, compared = (column[start:end] for column in numbers)
        cells[Cell(*key)] = CellValues(ids[start:end], p, variance, runs, a90, u, compared)
        start = end
    return cells


def task_interval_rows(cells: dict[Cell, CellValues]) -> Iterator[Row]:
    """One row of intervals per cell."""
    for key, values in cells.items():
        row = _ends(ci_runs(values.p, values.variance, values.runs))
        yield {
            **key._asdict(),
            **_metric_intervals([values]),
            "P_runs_low": row["low"],
            "P_runs_high": row["high"],
        }


def model_interval_rows(cells: dict[Cell, CellValues]) -> Iterator[Row]:
    """One row of intervals per experiment, condition, model and setting: tasks averaged, resampled within task."""
    for (experiment, condition, model, setting), strata in _by_model(cells).items():
        yield {
            "experiment": experiment,
            "condition": condition,
            "model": model,
            "setting": setting,
            **_metric_intervals([cells[key] for key in strata]),
        }


def _by_model(keys: Iterable[Cell]) -> dict[tuple[str, str, str, str], list[Cell]]:
    grouped: dict[tuple[str, str, str, str], list[Cell]] = defaultdict(list)
    for key in sorted(keys):
        grouped[key.experiment, key.condition, key.model, key.setting].append(key)
    return grouped


def _metric_intervals(strata: list[CellValues]) -> Row:
    p = ci_items([v.p for v in strata])
    a90 = ci_items([v.a90[v.compared] for v in strata], bounded_values=True)
    u = ci_items([v.u[v.compared] for v in strata], bounded_values=True)
    return {
        "P_low": p and p.low,
        "P_high": p and p.high,
        "P_method": p and p.method,
        "A90_low": a90 and a90.low,
        "A90_high": a90 and a90.high,
        "U90_10_low": u and u.low,
        "U90_10_high": u and u.high,
        "aptitude_method": u and u.method,
    }


def _ends(interval: Interval | None) -> Row:
    return {
        "low": interval and interval.low,
        "high": interval and interval.high,
        "method": interval and interval.method,
    }


@dataclass(frozen=True)
class Pair:
    """A cell and the FULL cell it is compared with, as the helper table ``setting_pairs`` matched them."""

    cell: Cell
    values: TaskPair | None
    reason: str | None
    differs: str | None


def read_pairs(connection: duckdb.DuckDBPyConnection, cells: dict[Cell, CellValues]) -> list[Pair]:
    """All pairs; those that may not be compared carry the reason instead of values."""
    rows = connection.execute(
        "SELECT experiment, condition, task, model, setting, full_condition, P, full_P,"
        " signature, full_signature, reason, within"
        " FROM setting_pairs ORDER BY experiment, condition, task, model, setting"
    ).fetchall()
    return [_pair(cells, Cell(*row[:5]), *row[5:]) for row in rows]


def _pair(
    cells: dict[Cell, CellValues],
    cell: Cell,
    full_condition: str | None,
    p: float | None,
    full_p: float | None,
    signature: str,
    full_signature: str | None,
    reason: str | None,
    within: bool,
) -> Pair:
    allowed = _NOT_COMPARED | {"items"} if within else _NOT_COMPARED
    differs = ", ".join(differing(signature, full_signature or "", allowed)) if full_signature else ""
    if reason is None and differs:
        reason = f"signatures differ in {differs}"
    if reason is not None or p is None or full_p is None or full_condition is None:
        return Pair(cell, None, reason or "no P in one of the cells", differs or None)
    full = cells[cell._replace(condition=full_condition, setting="FULL")]
    return Pair(cell, TaskPair(cell.task, p, full_p, cells[cell].paired_with(full)), None, None)


def pair_test_rows(pairs: list[Pair]) -> Iterator[Row]:
    """One row per cell compared with FULL: paired interval and p of the drop over the common instructions."""
    for pair in pairs:
        row = {**pair.cell._asdict(), "reason": pair.reason, "differs": pair.differs, "n_common": 0}
        if pair.values is not None and len(pair.values.paired):
            drops = pair.values.paired[:, 0] - pair.values.paired[:, 1]
            interval = paired_interval([drops])
            row |= {"n_common": len(drops), "p_value": sign_flip([drops])}
            row |= {f"drop_{name}": value for name, value in _ends(interval).items()}
        yield row


def degradation_interval_rows(pairs: list[Pair]) -> Iterator[Row]:
    """One row per experiment, condition, model and setting whose tasks can all be compared; Holm per experiment."""
    of_cell = {pair.cell: pair.values for pair in pairs}
    rows: dict[str, list[Row]] = defaultdict(list)
    for (experiment, condition, model, setting), keys in _by_model(of_cell).items():
        values = [of_cell[key] for key in keys]
        complete = [v for v in values if v is not None and len(v.paired)]
        if len(complete) < len(values):
            continue
        result = degradation(complete)
        p_value = sign_flip([v.paired[:, 0] - v.paired[:, 1] for v in complete])
        rows[experiment].append(
            {"experiment": experiment, "condition": condition, "model": model, "setting": setting, "p_value": p_value}
            | {f"ratio_{name}": value for name, value in _ends(result.ratio_ci).items()}
            | {f"drop_{name}": value for name, value in _ends(result.drop_ci).items()}
        )
    for of_experiment in rows.values():
        for row, adjusted in zip(of_experiment, holm([row["p_value"] for row in of_experiment]), strict=True):
            yield {**row, "p_holm": adjusted}
