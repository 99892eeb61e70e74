"""Items of the actions task with two lamps or a route, and how a reply to them is read. Not a test module."""

from __future__ import annotations

from lic_pipeline.records import Instruction, Json, Reply, Rung, Verdict
from lic_pipeline.tasks.actions import TASK
from lic_pipeline.tasks.reply_reading import unanswered

FUNCTIONS: list[dict[str, Json]] = [
    {
        "name": "lamp.set",
        "parameters": {
            "type": "dict",
            "properties": {
                "room": {"type": "string"},
                "level": {"type": "integer"},
                "warmth": {"type": "float"},
                "fade": {"type": "boolean"},
            },
            "required": ["room", "level"],
        },
    },
    {
        "name": "route",
        "parameters": {
            "type": "dict",
            "properties": {
                "stops": {"type": "array", "items": {"type": "string"}},
                "start": {"type": "tuple", "items": {"type": "float"}},
                "limits": {"type": "dict", "properties": {"cost": {"type": "integer"}, "mode": {"type": "string"}}},
            },
            "required": ["stops"],
        },
    },
]
TWO_LAMPS: list[Json] = [
    {"lamp.set": {"room": ["hall"], "level": [3], "warmth": [2.5, ""], "fade": ["", True]}},
    {"lamp.set": {"room": ["Guest-Room"], "level": [7], "warmth": [""], "fade": ["", False]}},
]
ROUTE: list[Json] = [
    {
        "route": {
            "stops": [["Ulm", "Bonn"]],
            "start": [[1.5, 2.0], ""],
            "limits": [{"cost": [20], "mode": ["rail", ""]}, ""],
        }
    }
]
HALL, GUEST = "lamp.set(room='hall', level=3)", "lamp.set(room='Guest-Room', level=7)"


def item(calls: list[Json]) -> Instruction:
    """An instruction with these reference calls."""
    return Instruction(
        instruction_id="t/0",
        task="actions",
        benchmark="test",
        text="Light!",
        context={"functions": FUNCTIONS},
        reference={"calls": calls},
    )


def judge(reply: Reply, instruction: Instruction) -> tuple[Verdict, Rung]:
    """The verdict on a reply, and where its answer was found."""
    extraction = TASK.extract(reply, instruction)
    verdict = unanswered(extraction) if extraction.answer is None else TASK.score(extraction.answer, instruction)
    return verdict, extraction.rung


def read(text: str) -> tuple[str, Rung, float | None]:
    """Verdict, place of the answer and score of this reply to ``TWO_LAMPS``."""
    verdict, rung = judge(Reply(text=text), item(TWO_LAMPS))
    return verdict.verdict, rung, verdict.score
