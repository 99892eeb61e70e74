"""Shards joined to gated instructions, and the approval each item gets (architecture: approval).

``released`` (imported, reviewed by their authors) and ``authored`` (our samples) are approved unless a blocking check
says no; generated shards stay ``pending`` until verified or reviewed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from lic_pipeline.records import Shard, ShardedInstruction
from lic_pipeline.simulation.plan.conversation_plan import NO_SHARDS, Approved
from lic_pipeline.tables.items import OK
from lic_pipeline.verification.items.gold_check import instruction_of

UNSHARDED = "unsharded"
"""Nobody cut it into shards, so there is nothing to approve: it is evaluated in FULL, which shows it whole."""

APPROVED = frozenset({"reviewed", "verified", "released", "authored", UNSHARDED})
FEWEST_SHARDS = 2
"""One shard cannot be revealed bit by bit; the pipeline that makes shards wants three."""


_NONE = f"quarantined:{NO_SHARDS}"


def sharded_rows(
    instructions: Iterable[Mapping[str, Any]], sharded: Mapping[str, ShardedInstruction]
) -> list[dict[str, Any]]:
    """Rows of ``sharded_instructions`` for the instructions that are ``ok``."""
    rows = []
    for row in instructions:
        if row["status"] != OK:
            continue
        found = sharded.get(row["instruction_id"])
        shards = [] if found is None else [shard.model_dump(mode="json") for shard in found.shards]
        rows.append(
            {
                "instruction_id": row["instruction_id"],
                "task": row["task"],
                "n_shards": len(shards),
                "shards": json.dumps(shards, ensure_ascii=False),
                "provenance": None if found is None else found.provenance,
                "status": _shard_status(found),
            }
        )
    return rows


def _shard_status(found: ShardedInstruction | None) -> str:
    if found is None:
        return _NONE
    if len(found.shards) < FEWEST_SHARDS:
        return "quarantined:too_few_shards"
    if any(not shard.text.strip() for shard in found.shards):
        return "quarantined:empty_shard"
    if [shard.shard_id for shard in found.shards] != list(range(1, len(found.shards) + 1)):
        return "quarantined:shard_ids_not_consecutive"
    return OK


def approval_rows(sharded: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of ``approved_instructions``: items whose shards are ``ok``, and those that have none, for FULL only."""
    rows = []
    for row in sharded:
        if row["status"] not in (OK, _NONE):
            continue
        approval = UNSHARDED if row["status"] == _NONE else row["provenance"]
        approved = approval in APPROVED
        rows.append(
            {
                "instruction_id": row["instruction_id"],
                "task": row["task"],
                "n_shards": row["n_shards"],
                "approval": approval if approved else "pending",
                "warnings": "[]",
                "status": OK if approved else "quarantined:pending",
            }
        )
    return rows


def approved_items(
    instructions: Iterable[Mapping[str, Any]],
    sharded: Iterable[Mapping[str, Any]],
    approved: Iterable[Mapping[str, Any]],
) -> list[Approved]:
    """The items that may be evaluated, ordered by id."""
    texts = {row["instruction_id"]: row for row in instructions}
    shards = {row["instruction_id"]: row for row in sharded}
    items = []
    for row in sorted(approved, key=lambda one: str(one["instruction_id"])):
        if row["status"] == OK:
            name = row["instruction_id"]
            items.append(Approved(instruction_of(texts[name]), _sharded_of(shards[name]), row["approval"]))
    return items


def _sharded_of(row: Mapping[str, Any]) -> ShardedInstruction | None:
    if not row["n_shards"]:
        return None
    return ShardedInstruction(
        instruction_id=row["instruction_id"],
        task=row["task"],
        shards=tuple(Shard.model_validate(shard) for shard in json.loads(row["shards"])),
        provenance=row["provenance"],
    )
