"""Small plans of our own math items for runs against the fault server, and a process that carries one out.

``python math_plans.py HOME URL ITEMS [CONNECTIONS [PROCESSES]]`` holds the plan and prints its outcome; a test may
kill it at any moment. Not a test module.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.models.ledger import Ledger
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.records import Instruction, Shard, ShardedInstruction
from lic_pipeline.simulation.engine.engine import run
from lic_pipeline.simulation.plan.conversation_plan import Approved, Plan, make_plan
from lic_pipeline.simulation.plan.experiment import Experiment

PATIENCE = {"first_pause_s": 0.002, "longest_pause_s": 0.05, "attempt_s": 5.0, "attempts": 40}


def math_items(count: int) -> list[Approved]:
    """Items that differ in their first shard, so that no two conversations ever send the same request."""
    items = []
    for number in range(count):
        boxes, pens, gone = number + 2, number + 3, number % 5
        name = f"own/{number}"
        pieces = (
            f"How many pens does shop {number} have left?",
            f"The shop has {boxes} boxes",
            f"each box holds {pens} pens",
            f"{gone} pens were given away",
        )
        instruction = Instruction(
            instruction_id=name,
            task="math",
            benchmark="own",
            text=f"Shop {number} has {boxes} boxes of {pens} pens and gives {gone} pens away. How many are left?",
            reference={"answer": str(boxes * pens - gone), "solution": ""},
        )
        shards = tuple(Shard(shard_id=i, text=text) for i, text in enumerate(pieces, start=1))
        sharded = ShardedInstruction(instruction_id=name, task="math", shards=shards, provenance="authored")
        items.append(Approved(instruction, sharded, "authored"))
    return items


def entry_at(url: str, **fields: Any) -> ModelEntry:
    """The registry entry of the fake model."""
    defaults: dict[str, Any] = {"alias": "fake", "id": "local/fake", "base_url": url, "patience": PATIENCE}
    return ModelEntry.model_validate({**defaults, **fields})


def math_plan(entry: ModelEntry, items: int, **experiment: Any) -> Plan:
    """FULL, CONCAT and SHARDED, one run of each item, scripted user."""
    fields = {"name": "faults", "runs": 1, "simulator": "scripted", **experiment}
    return make_plan(Experiment.model_validate(fields), "math", entry, math_items(items))


def transcripts(lake: Path, plan: Plan) -> dict[str, Any]:
    """What was said and decided, by conversation id, without times and costs."""
    store = ConversationStore(lake, plan.task.name, plan.model.alias)
    wanted = [spec.conversation_id for spec in plan.specs]
    return {found.conversation_id: found.model_dump(mode="json") for found in store.read(wanted)}


def main() -> None:
    """Carry out the plan and print counts as JSON."""
    home, url, items = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    connections = int(sys.argv[4]) if len(sys.argv) > 4 else 16
    processes = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    plan = math_plan(entry_at(url, limits={"concurrency": connections}), items)
    with Ledger.open(home / "ledger") as ledger:
        outcome = run(plan, ledger, home / "lake", max_connections=connections, processes=processes)
    print(json.dumps({"held": outcome.held, "already": outcome.already, "missing": dict(outcome.missing)}))


if __name__ == "__main__":
    main()
