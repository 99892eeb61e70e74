"""The three graders of the reliability suite, in the shape ``lic score`` asks for. All pass or fail: 100 or 0.

instruction_following ``{limit, response}`` · tool_selection ``{tools, expected, response}`` · entity_extraction
``{expected: {date, time, people}, reference_date?, response}``. The rules stand in ``sentences``, ``tool_choice``,
``slots`` and ``slot_values``; both policies score alike.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path

from lic_pipeline.dialogues.sentences import count_sentences
from lic_pipeline.dialogues.slot_values import normal_date, normal_people, normal_time, same_date
from lic_pipeline.dialogues.slots import SLOTS, Several, read_slots
from lic_pipeline.dialogues.tool_choice import chosen_tool
from lic_pipeline.errors import RecordError
from lic_pipeline.records import Extraction, Instruction, Json, Policy, Reply, Rung, Verdict
from lic_pipeline.tasks.reply_reading import reasoning_flags, visible_text


class _WholeReply:
    """What the three share: the whole visible reply is the answer."""

    name = ""
    costly = False
    scorer_version = 2

    def extract(self, reply: Reply, instruction: Instruction, policy: Policy = "robust") -> Extraction:
        """The whole visible reply; an empty one fails."""
        text = visible_text(reply.text)[0].strip()
        rung = Rung.WHOLE if text else Rung.FAILED
        return Extraction(answer=text or None, rung=rung, flags=reasoning_flags(reply))

    def _item(self, reference: Mapping[str, Json]) -> Instruction:
        return Instruction(instruction_id="", task=self.name, benchmark="dialogues", text="", reference=reference)


def _verdict(passed: bool, answer: str | None, detail: Mapping[str, Json]) -> Verdict:
    word = "correct" if passed else "wrong"
    return Verdict(score=100.0 if passed else 0.0, verdict=word, answer=answer, detail=detail)


class InstructionFollowing(_WholeReply):
    """Passes when the reply has at most ``limit`` sentences."""

    name = "instruction_following"
    scorer_version = 2

    def score(self, answer: str, instruction: Instruction, policy: Policy = "robust") -> Verdict:
        """100 at or below the limit; the answer compared is the number of sentences."""
        count, limit = count_sentences(answer), instruction.reference["limit"]
        return _verdict(count <= limit, str(count), {"sentences": count, "limit": limit})

    def score_item(self, line: Mapping[str, Json], base: Path) -> Instruction:
        """``limit``: whole number of at least 1. Raises RecordError."""
        limit = line.get("limit")
        if limit is None:
            raise RecordError("is missing", field="limit")
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise RecordError("must be a whole number of at least 1", field="limit")
        return self._item({"limit": limit})


class ToolSelection(_WholeReply):
    """Passes when the reply picks the expected tool and no other."""

    name = "tool_selection"

    def extract(self, reply: Reply, instruction: Instruction, policy: Policy = "robust") -> Extraction:
        """The visible reply, or the tool calls as JSON when it has no text."""
        extraction = super().extract(reply, instruction, policy)
        if extraction.answer is None and reply.tool_calls:
            calls = json.dumps([{"name": call.name} for call in reply.tool_calls])
            return Extraction(answer=calls, rung=Rung.WHOLE)
        return extraction

    def score(self, answer: str, instruction: Instruction, policy: Policy = "robust") -> Verdict:
        """100 for the expected tool; ``ambiguous`` (0) when several are named and none is picked."""
        picked, named = chosen_tool(answer, instruction.reference["tools"])
        detail = {"named": list(named), "expected": instruction.reference["expected"]}
        if picked is None:
            return Verdict(score=0.0, verdict="ambiguous" if named else "no_answer", detail=detail)
        return _verdict(picked == instruction.reference["expected"], picked, detail)

    def score_item(self, line: Mapping[str, Json], base: Path) -> Instruction:
        """``tools``: names; ``expected``: one of them. Raises RecordError."""
        tools, expected = line.get("tools"), line.get("expected")
        if tools is None:
            raise RecordError("is missing", field="tools")
        if not isinstance(tools, list) or not all(isinstance(tool, str) and tool.strip() for tool in tools):
            raise RecordError("must be a list of tool names", field="tools")
        if expected is None:
            raise RecordError("is missing", field="expected")
        same = [tool for tool in tools if isinstance(expected, str) and tool.casefold() == expected.strip().casefold()]
        if not same:
            raise RecordError(f"{expected!r:.80} is not among the tools", field="expected")
        return self._item({"tools": tools, "expected": same[0]})


class EntityExtraction(_WholeReply):
    """Passes when date, time and people of a booking all match after normalisation."""

    name = "entity_extraction"
    scorer_version = 3

    def score(self, answer: str, instruction: Instruction, policy: Policy = "robust") -> Verdict:
        """100 when all three slots match; ``detail`` says which did.

        No slot found at all = ``no_answer``; one with different values, none of them taken back = ``ambiguous``.
        """
        slots = read_slots(answer)
        if not slots:
            return Verdict(score=0.0, verdict="no_answer", detail={"matches": dict.fromkeys(SLOTS, False)})
        expected, today = instruction.reference["expected"], _day(instruction.reference.get("reference_date"))
        several = [slot for slot in SLOTS if isinstance(slots.get(slot), Several)]
        values = {slot: None if slot in several else slots.get(slot) for slot in SLOTS}
        matches = {slot: slot_matches(slot, values[slot], expected[slot], today) for slot in SLOTS}
        if several:
            return Verdict(score=0.0, verdict="ambiguous", detail={"matches": matches, "several": several})
        return _verdict(all(matches.values()), json.dumps(values, ensure_ascii=False), {"matches": matches})

    def score_item(self, line: Mapping[str, Json], base: Path) -> Instruction:
        """``expected``: all three slots in a readable form; ``reference_date``: ISO. Raises RecordError."""
        expected, today = line.get("expected"), line.get("reference_date")
        if expected is None:
            raise RecordError("is missing", field="expected")
        if not isinstance(expected, Mapping):
            raise RecordError("must be an object with date, time and people", field="expected")
        if today is not None and _day(today) is None:
            raise RecordError("must be a date like 2025-03-01", field="reference_date")
        for slot in SLOTS:
            if expected.get(slot) is None:
                raise RecordError("is missing", field=f"expected.{slot}")
            if not slot_matches(slot, expected[slot], expected[slot], _day(today)):
                raise RecordError(f"{expected[slot]!r:.80} is no single clear value", field=f"expected.{slot}")
        return self._item({"expected": {slot: expected[slot] for slot in SLOTS}, "reference_date": today})


def slot_matches(slot: str, given: Json, expected: Json, today: date | None = None) -> bool:
    """True when both values have the same normal form; a value without one matches nothing."""
    if slot == "date":
        one, other = normal_date(given, today), normal_date(expected, today)
        return one is not None and other is not None and same_date(one, other, today)
    normal = normal_time if slot == "time" else normal_people
    value = normal(given)
    return value is not None and value == normal(expected)


def _day(value: Json) -> date | None:
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        return None


DIALOGUE_TASKS = {task.name: task for task in (InstructionFollowing(), ToolSelection(), EntityExtraction())}
