"""The check of a layer of items: a window on the statuses its rows carry (architecture: gates are data).

Green at 0 rows set aside, WARN at 1 or more, ERROR and blocking above the tolerated share or on a broken row.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import dagster as dg

from lic_pipeline.errors import ConfigError
from lic_pipeline.tables import TableSpec
from resources.tables import counts_table, records_table

TOLERATED = "LIC_TOLERATED_SHARE"
_MOST_BREAKS = 20
_MOST_NAMED = 3


def tolerated_share() -> float:
    """Share of faulty rows a layer may have before it blocks; LIC_TOLERATED_SHARE, default 5%. Raises ConfigError."""
    named = os.environ.get(TOLERATED, "").strip() or "0.05"
    try:
        share = float(named)
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise ConfigError(f"{TOLERATED}={named} is no share; give a number from 0 (nothing) to 1 (everything)")
    return share


def layer_check(
    name: str,
    rows: Sequence[Mapping[str, Any]],
    broken: Iterable[str] = (),
    *,
    key: str = "instruction_id",
    expected: Iterable[str] = (),
    lost: Sequence[tuple[str, str]] = (),
) -> dg.AssetCheckResult:
    """The check of one layer and partition.

    ``broken``: rule breaks that no row may have. ``lost``: what never became a row, as (which, why). ``expected``:
    beginnings of reasons that are a choice of the data, not a fault; they are shown and do not count towards blocking.
    """
    breaks = list(broken)
    aside = [(str(row[key]), str(row["status"]).removeprefix("quarantined:")) for row in rows if _set_aside(row)]
    aside += lost
    total = len(rows) + len(lost)
    chosen = tuple(expected)
    aside.sort(key=lambda found: found[1].startswith(chosen))  # faults first: lists are cut at their end
    faults = [reason for _, reason in aside if not reason.startswith(chosen)]
    share = len(faults) / total if total else 0.0
    blocking = bool(breaks) or share > tolerated_share()
    return dg.AssetCheckResult(
        check_name=name,
        passed=not aside and not breaks,
        severity=dg.AssetCheckSeverity.ERROR if blocking else dg.AssetCheckSeverity.WARN,
        description=_said(total, aside, faults, breaks, blocking),
        metadata={
            "rows": total,
            "set_aside": len(aside),
            "faults": len(faults),
            "share_of_faults": share,
            "tolerated_share": f"{tolerated_share():.0%}",  # text: a number would be plotted over time
            **({"offending": records_table(("which", "why"), aside)} if aside else {}),
            **({"reasons": counts_table("reason", Counter(reason for _, reason in aside))} if aside else {}),
            **({"broken_rules": dg.MetadataValue.json(breaks[:_MOST_BREAKS])} if breaks else {}),
        },
    )


def blocks(check: dg.AssetCheckResult) -> bool:
    """True when a check stops its run: what it looked at must not replace the last good version."""
    return not check.passed and check.severity is dg.AssetCheckSeverity.ERROR


def spec_breaks(spec: TableSpec, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What in these rows breaks the table's own rules: ranges, choices, unique key."""
    breaks = []
    for column in spec.columns:
        for row in rows:
            value = row.get(column.name)
            if value is None:
                continue
            if column.choices and value not in column.choices:
                breaks.append(f"{column.name}: {value!r} is none of the allowed values ({_key_of(spec, row)})")
            if column.minimum is not None and value < column.minimum:
                breaks.append(f"{column.name}: {value!r} is below {column.minimum} ({_key_of(spec, row)})")
            if column.maximum is not None and value > column.maximum:
                breaks.append(f"{column.name}: {value!r} is above {column.maximum} ({_key_of(spec, row)})")
    keys = Counter(_key_of(spec, row) for row in rows)
    return breaks + [f"key stands {count} times: {key}" for key, count in keys.items() if count > 1]


def _set_aside(row: Mapping[str, Any]) -> bool:
    return bool(row.get("status", "ok") != "ok")


def _said(
    total: int, aside: Sequence[tuple[str, str]], faults: Sequence[str], breaks: Sequence[str], blocking: bool
) -> str:
    if not aside and not breaks:
        return f"All {total} rows can be used." if total else "There are no rows."
    told = [f"{len(breaks)} breaks of the table's rules"] if breaks else []
    if aside:
        named = "; ".join(f"{which}: {why}" for which, why in aside[:_MOST_NAMED])
        more = "" if len(aside) <= _MOST_NAMED else " and so on"
        told.append(f"{len(aside)} of {total} rows set aside ({len(faults)} of them faults), {named}{more}")
    end = " Blocked: the last good version stays." if blocking else ""
    return "; ".join(told) + "." + end


def _key_of(spec: TableSpec, row: Mapping[str, Any]) -> str:
    return ", ".join(str(row[name]) for name in spec.key)
