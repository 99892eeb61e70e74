"""The check of scores: every number in range and consistent with the others of its conversation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dagster as dg

from resources.tables import counts_table, records_table

Row = Mapping[str, Any]
_MOST_IDS = 20

RULES: Mapping[str, Callable[[Row], bool]] = {
    "score_or_reason": lambda row: (row["score"] is None) == (row["missing_reason"] is not None),
    "max_is_highest": lambda row: (
        row["score_max"] is None
        or all(row[name] is None or row[name] <= row["score_max"] + 1e-9 for name in ("score_last", "score_first"))
    ),
    "no_attempt_scores_0": lambda row: row["n_attempts"] > 0 or row["score"] in (None, 0.0),
    "attempts_within_turns": lambda row: row["n_attempts"] <= row["n_turns"],
    "solved_turn_exists": lambda row: row["solved_at_turn"] is None or row["score"] in (None, 100.0),
    "error_has_no_score": lambda row: row["state"] == "done" or row["score"] is None,
}
"""Rules each row of ``scores`` must keep, by name."""


def scores_check(rows: Sequence[Row], breaks: Sequence[str]) -> dg.AssetCheckResult:
    """Broken rules block; scores that are missing warn, with their reasons."""
    broken = {name: [row["conversation_id"] for row in rows if not keeps(row)] for name, keeps in RULES.items()}
    broken = {name: ids for name, ids in broken.items() if ids}
    missing = Counter(row["missing_reason"] for row in rows if row["score"] is None)
    told = [f"{len(ids)} rows break {name}" for name, ids in broken.items()]
    told += [f"{len(breaks)} breaks of the tables' rules"] if breaks else []
    told += [f"{sum(missing.values())} of {len(rows)} conversations have no score"] if missing else []
    return dg.AssetCheckResult(
        asset_key="scores",
        check_name="scores_consistent",
        passed=not broken and not breaks and not missing,
        severity=dg.AssetCheckSeverity.ERROR if broken or breaks else dg.AssetCheckSeverity.WARN,
        description="; ".join(told) or f"All {len(rows)} scores are consistent.",
        metadata={
            "rows": len(rows),
            "rules": len(RULES),
            **({"missing": counts_table("reason", missing)} if missing else {}),
            **({"offending": _offending(broken)} if broken else {}),
            **({"table_rules": dg.MetadataValue.json(list(breaks)[:_MOST_IDS])} if breaks else {}),
        },
    )


def _offending(broken: Mapping[str, Sequence[str]]) -> dg.TableMetadataValue:
    rows = [(name, len(ids), ", ".join(ids[:_MOST_IDS])) for name, ids in sorted(broken.items())]
    return records_table(("rule", "conversations", "first_ids"), rows)
