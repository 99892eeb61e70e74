"""Summaries of our own, held and ready to be judged, and a process that has them judged.

``python summaries_to_judge.py HOME URL COUNT [CONNECTIONS]`` judges that many and prints what came of it; a test
may kill it at any moment. Not a test module.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from math_plans import entry_at

from lic_pipeline.models.ledger import Ledger
from lic_pipeline.records import Conversation, Instruction, Reply, Setting, StopReason, Strategy, Turn
from lic_pipeline.simulation.judge.judge_conversations import judge_conversations
from lic_pipeline.simulation.plan.experiment import Experiment

INSIGHTS = [
    {"insight_id": "a", "insight": "Sales of red bikes rose by 12 percent in May.", "citations": [1, 2]},
    {"insight_id": "b", "insight": "The depot in Ulm closes on Fridays.", "citations": [3]},
]
SUMMARY = "- Red bikes sold 12 percent more in May [1][2]\n- Opening hours changed somewhere [3]"
GOOD = [{"finding": 1, "coverage": "full", "bullet": 1}, {"finding": 2, "coverage": "Partial", "bullet": "2"}]
"""Verdicts on SUMMARY that give it 75 points."""


def instruction() -> Instruction:
    documents = [{"document_index": number, "text": "words"} for number in (1, 2, 3)]
    return Instruction(
        instruction_id="own/1", task="summary", benchmark="own", text="Summarise.",
        context={"topic": "bikes", "query": "What changed?", "documents": documents},
        reference={"insights": INSIGHTS},
    )  # fmt: skip


def conversation(number: int, *replies: str) -> Conversation:
    """A finished conversation of these replies; one is FULL, more are SHARDED."""
    turns = tuple(
        Turn(turn=place, user="Summarise.", reply=Reply(text=text), strategy=Strategy.ANSWER_ATTEMPT,
             rule_strategy=Strategy.ANSWER_ATTEMPT)
        for place, text in enumerate(replies or (SUMMARY,), start=1)
    )  # fmt: skip
    return Conversation(
        conversation_id=f"{number:064x}", purpose="eval", task="summary", model="fake",
        setting=Setting.FULL if len(turns) == 1 else Setting.SHARDED, instruction_id="own/1",
        run=number, seed=1, system_prompt="s", turns=turns, stop_reason=StopReason.EXHAUSTED,
    )  # fmt: skip


def different(count: int) -> Iterator[Conversation]:
    """Conversations whose summaries all differ."""
    return (conversation(number, f"{SUMMARY}\n- Extra number {number} [1]") for number in range(count))


def manifest_of(held: Iterable[Conversation]) -> list[dict[str, Any]]:
    """What of a manifest judging reads."""
    names = ("conversation_id", "task", "model", "setting", "instruction_id", "run")
    return [{"experiment": "e", **{name: getattr(one, name) for name in names}} for one in held]


def says(*verdicts: Any) -> str:
    """A judge's reply."""
    return json.dumps({"verdicts": list(verdicts)})


def good(_body: Mapping[str, Any]) -> str:
    """What a judge replies who finds SUMMARY worth 75 points."""
    return says(*GOOD)


def all_full(body: Mapping[str, Any]) -> str:
    """What a judge replies, whatever it is asked, who finds everything in the first bullet."""
    _, _, listed = body["messages"][0]["content"].partition("Findings, by number:\n")
    findings, _ = json.JSONDecoder().raw_decode(listed)
    return says(*({"finding": int(number), "coverage": "full", "bullet": 1} for number in findings))


def main() -> None:
    """Judge and print counts as JSON."""
    home, url, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    connections = int(sys.argv[4]) if len(sys.argv) > 4 else None
    experiment = Experiment(name="e", judge_model="judge")
    with Ledger.open(home / "ledger") as ledger:
        found = judge_conversations(
            experiment, entry_at(url, alias="judge", id="local/judge"), ledger, manifest_of(different(count)),
            {"own/1": instruction()}, different(count), max_connections=connections,
        )  # fmt: skip
    print(json.dumps({"calls": found.calls, "states": dict(found.states)}))


if __name__ == "__main__":
    main()
