"""The check of a layer of items: a window on the statuses its rows carry (architecture: gates are data).

Green at 0 quarantined rows, WARN at 1 or more, ERROR and blocking above the tolerated share or on a broken row.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import dagster as dg

from lic_pipeline.tables import TableSpec

_MOST_IDS = 20


def tolerated_share() -> float:
    """Share of faulty rows a layer may have before it blocks; LIC_TOLERATED_SHARE, default 5%."""
    return float(os.environ.get("LIC_TOLERATED_SHARE", "0.05"))


def layer_check(
    name: str,
    rows: Sequence[Mapping[str, Any]],
    broken: Iterable[str] = (),
    *,
    key: str = "instruction_id",
    expected: Iterable[str] = (),
) -> dg.AssetCheckResult:
    """The check of one layer and partition. ``broken``: rule breaks that no row may have; ``expected``: prefixes of
    quarantine reasons that are a choice of the data, not a fault, and do not count towards blocking.
    """
    breaks = list(broken)
    bad = [row for row in rows if row.get("status", "ok") != "ok"]
    faults = [row for row in bad if not row["status"].removeprefix("quarantined:").startswith(tuple(expected))]
    share = len(faults) / len(rows) if rows else 0.0
    blocking = bool(breaks) or share > tolerated_share()
    return dg.AssetCheckResult(
        check_name=name,
        passed=not bad and not breaks,
        severity=dg.AssetCheckSeverity.ERROR if blocking else dg.AssetCheckSeverity.WARN,
        metadata={
            "rows": len(rows),
            "quarantined": len(bad),
            "quarantined_share_of_faults": share,
            "offending": dg.MetadataValue.json([str(row[key]) for row in bad[:_MOST_IDS]]),
            "reasons": dg.MetadataValue.json(dict(Counter(row["status"] for row in bad))),
            "broken_rules": dg.MetadataValue.json(breaks[:_MOST_IDS]),
            "broken": len(breaks),
        },
    )


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


def _key_of(spec: TableSpec, row: Mapping[str, Any]) -> str:
    return ", ".join(str(row[name]) for name in spec.key)
