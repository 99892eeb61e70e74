"""How calls are written in Python's syntax: one line per form, with the verdict it gets and why; both policies."""

from __future__ import annotations

import pytest
from support.actions_items import GUEST, HALL, TWO_LAMPS, item, judge, read

from lic_pipeline.records import Reply, Rung, ToolCall
from lic_pipeline.tasks.actions import TASK

FORMS = [
    (f"[{HALL}, {GUEST}]", Rung.WHOLE, "correct", "plain list"),
    (f"[{GUEST}, {HALL}]", Rung.WHOLE, "correct", "order is free"),
    (f"{HALL}, {GUEST}", Rung.WHOLE, "correct", "no brackets"),
    (f"{HALL}\n{GUEST}", Rung.WHOLE, "correct", "one call a line"),
    (f"[{HALL}]\n[{GUEST}]", Rung.WHOLE, "correct", "one list a line"),
    (f"1. `{HALL}`\n2. `{GUEST}`", Rung.WHOLE, "correct", "numbered, in back-ticks"),
    (f"- {HALL};\n- {GUEST};", Rung.WHOLE, "correct", "bullets and semicolons"),
    (f"a = {HALL}\nb = {GUEST}", Rung.WHOLE, "correct", "assigned to variables"),
    (
        "[\n  lamp.set(\n    room='hall',\n    level=3,\n  ),\n  " + GUEST + ",\n]",
        Rung.WHOLE,
        "correct",
        "pretty-printed",
    ),
    (f"```python\n[{HALL}, {GUEST}]\n```", Rung.BLOCK, "correct", "fenced"),
    (f"Sure!\n```\n{HALL}\n{GUEST}\n```\nDone.", Rung.BLOCK, "correct", "fenced lines with prose around"),
    (
        f"````markdown\nThe calls:\n```python\n[{HALL}, {GUEST}]\n```\n````",
        Rung.BLOCK,
        "correct",
        "a fence inside a fence of Markdown",
    ),
    (f"```python\n[{HALL}, {GUEST}]", Rung.BLOCK, "correct", "fence cut off"),
    (f"First:\n```\n{HALL}\n```\nThen:\n```\n{GUEST}\n```", Rung.BLOCK, "correct", "one call a fence"),
    (f"I will call [{HALL}, {GUEST}] for you.", Rung.BLOCK, "correct", "list in prose"),
    (f"Hall:\n[{HALL}]\nGuests:\n[{GUEST}]", Rung.BLOCK, "correct", "one list each, in prose"),
    (f"[{GUEST}] was wrong, actually: [{HALL}, {GUEST}]", Rung.LOOSE, "correct", "corrected: the last list"),
    (f"Either [{HALL}] or [{GUEST}]", Rung.AMBIGUOUS, "ambiguous", "alternatives"),
    (f"Use {HALL} and then also {GUEST}, please.", Rung.LOOSE, "correct", "calls in running text"),
    (f"<think>[{HALL}]</think>[{HALL}, {GUEST}]", Rung.WHOLE, "correct", "reasoning is no answer"),
    (
        "[lamp_set(room='hall', level=3), lamp_set(room='guest room', level=7)]",
        Rung.WHOLE,
        "correct",
        "dot is underscore",
    ),
    (f"[{HALL}]", Rung.WHOLE, "wrong_count", "one call too few"),
    (f"[{HALL}, {GUEST}, {GUEST}]", Rung.WHOLE, "wrong_count", "one call too many"),
    (f"[{HALL}, {HALL}]", Rung.WHOLE, "wrong", "one reference call is not met"),
    ("[]", Rung.WHOLE, "wrong_count", "explicitly no call"),
    ("", Rung.FAILED, "no_answer", "nothing"),
    ("None of the functions can do this.", Rung.FAILED, "no_answer", "declined"),
    ("The function lamp.set(room, level) needs a room.", Rung.FAILED, "no_answer", "a signature is no call"),
    ("[lamp.set(room=Guest Room, level=7)]", Rung.LOOSE, "parse_error", "no Python"),
    (f"[{HALL}, lamp.set(room=guest, level=7)]", Rung.LOOSE, "parse_error", "a bare name is no literal"),
    ("[lamp.set(room='hall', level=2**1)]", Rung.LOOSE, "parse_error", "powers are refused"),
    ("[lamp.set(room='hall', level=int('3'))]", Rung.LOOSE, "parse_error", "nested calls are refused"),
    ("[lamp.set(room='hall', level=[i for i in x])]", Rung.LOOSE, "parse_error", "comprehensions are refused"),
]


@pytest.mark.parametrize(("text", "rung", "verdict", "why"), FORMS)
def test_form_is_read_as_the_calls_it_means(text: str, rung: Rung, verdict: str, why: str) -> None:
    assert read(text) == (verdict, rung, 100.0 if verdict == "correct" else 0.0), why


def test_structured_tool_calls_come_before_text() -> None:
    calls = (
        ToolCall(name="lamp_set", arguments='{"room": "hall", "level": 3}'),
        ToolCall(name="lamp_set", arguments='{"room": "guest room", "level": 7}'),
    )
    reply = Reply(text="Calling the lamps.", tool_calls=calls, finish_reason="tool_calls")
    assert judge(reply, item(TWO_LAMPS))[0].correct
    broken = Reply(text="", tool_calls=(ToolCall(name="lamp_set", arguments='{"room": '),))
    assert judge(broken, item(TWO_LAMPS))[0].verdict == "parse_error"


REFERENCE = [
    (f"[{HALL}, {GUEST}]", "correct", "plain list"),
    (f"```[{HALL}, {GUEST}]```", "correct", "back-ticks are stripped"),
    (f"```python\n[{HALL}, {GUEST}]\n```", "parse_error", "a language tag is not"),
    (f"{HALL}, {GUEST}", "correct", "brackets are added"),
    (f"[{HALL}]\n[{GUEST}]", "parse_error", "two lists are no expression"),
    ("[lamp.set('hall', 3), " + GUEST + "]", "wrong", "positional values are dropped"),
    (f"[lamp.set(room=hall, level=3), {GUEST}]", "correct", "a bare name is its text"),
    (f"[lamp.set(room='hall', level=1 + 2), {GUEST}]", "correct", "arithmetic counts"),
]


@pytest.mark.parametrize(("answer", "verdict", "why"), REFERENCE)
def test_reference_policy_keeps_the_quirks(answer: str, verdict: str, why: str) -> None:
    assert TASK.score(answer, item(TWO_LAMPS), "reference").verdict == verdict, why
