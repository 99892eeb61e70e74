"""How calls are written, and BFCL's rules for values: one line per form, with the verdict it gets and why."""

from __future__ import annotations

import pytest

from lic_pipeline.records import Instruction, Json, Reply, Rung, ToolCall, Verdict
from lic_pipeline.tasks.actions import TASK
from lic_pipeline.tasks.text import unanswered

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
    return Instruction(
        instruction_id="t/0",
        task="actions",
        benchmark="test",
        text="Light!",
        context={"functions": FUNCTIONS},
        reference={"calls": calls},
    )


def judge(reply: Reply, instruction: Instruction) -> tuple[Verdict, Rung]:
    extraction = TASK.extract(reply, instruction)
    verdict = unanswered(extraction) if extraction.answer is None else TASK.score(extraction.answer, instruction)
    return verdict, extraction.rung


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
    (
        '[{"name": "lamp.set", "arguments": {"room": "hall", "level": 3}}, '
        '{"name": "lamp.set", "parameters": {"room": "Guest-Room", "level": 7, "fade": false}}]',
        Rung.WHOLE,
        "correct",
        "JSON calls",
    ),
    (
        "```json\n[{'lamp.set': {'room': 'hall', 'level': 3}}, {'lamp.set': {'room': 'Guest-Room', 'level': 7}}]\n```",
        Rung.BLOCK,
        "correct",
        "keyed by function, Python quotes",
    ),
    (
        '<tool_call>{"name": "lamp.set", "arguments": {"room": "hall", "level": 3}}</tool_call>\n'
        '<tool_call>{"name": "lamp.set", "arguments": "{\\"room\\": \\"Guest-Room\\", \\"level\\": 7}"}</tool_call>',
        Rung.BLOCK,
        "correct",
        "tagged calls, arguments as text",
    ),
    (
        '<function=lamp.set>{"room": "hall", "level": 3}</function>\n'
        '<function=lamp_set>{"room": "Guest-Room", "level": 7}</function>',
        Rung.BLOCK,
        "correct",
        "the name in the tag",
    ),
    (
        '<function=lamp.set>{"room": "hall", "level": 3}</function><function=lamp.set>{"room": oops}</function>',
        Rung.FAILED,
        "no_answer",
        "one unreadable tag spoils the lot",
    ),
    (
        '```json\n[\n  // hall\n  {"name": "lamp.set", "arguments": {"room": "hall", "level": 3, "fade": true,}},\n'
        '  {"name": "lamp.set", "arguments": {"room": "Guest-Room", /* high */ "level": 7}},\n]\n```',
        Rung.BLOCK,
        "correct",
        "JSON with comments and trailing commas",
    ),
    (
        '[{"name": "lamp.set", "arguments": {"room": "http://hall", "level": 3,}}, '
        '{"name": "lamp.set", "arguments": {"room": "Guest-Room", "level": 7}}]',
        Rung.WHOLE,
        "wrong",
        "two slashes inside a string are no comment",
    ),
    (
        '{"tool_uses": [{"recipient_name": "lamp.set", "parameters": {"room": "hall", "level": 3}}, '
        '{"function_call": {"name": "lamp.set", "arguments": {"room": "Guest-Room", "level": 7}}}]}',
        Rung.WHOLE,
        "correct",
        "other wrappers of JSON calls",
    ),
    (
        'Thought: two rooms.\nAction: lamp.set\nAction Input: {"room": "hall", "level": 3}\nObservation: done\n'
        'Action: lamp.set\nAction Input: {"room": "Guest-Room", "level": 7}',
        Rung.BLOCK,
        "correct",
        "steps of a ReAct prompt",
    ),
    (
        "**Action 1:** `lamp_set`\n**Action Input 1:**\n```json\n{'room': 'hall', 'level': 3, 'fade': True,}\n```\n"
        '**Action 2:** `lamp_set`\n**Action Input 2:** ```{"room": "guest room", "level": 7}```',
        Rung.BLOCK,
        "correct",
        "numbered steps, their input in a fence, Python's quotes",
    ),
    (
        'Action: lamp.set\nAction Input: {"room": "hall", "level": 3}\n'
        'Action: lamp.set\nAction Input: {"room": "Guest-Room", "level": 7',
        Rung.FAILED,
        "no_answer",
        "one step that is cut off spoils the lot",
    ),
    (
        'I set both.\n<function_calls>\n<invoke name="lamp.set">\n<parameter name="room">hall</parameter>\n'
        '<parameter name="level">3</parameter>\n</invoke>\n<invoke name="lamp.set">\n<parameter name="room">Guest-Room'
        '</parameter>\n<parameter name="level">7</parameter>\n<parameter name="fade">false</parameter>\n</invoke>\n'
        "</function_calls>",
        Rung.BLOCK,
        "correct",
        "one element per argument in a wrapping block",
    ),
    (
        "```xml\n<x:invoke name='lamp.set'><x:parameter name='room' string='true'>hall</x:parameter>"
        "<x:parameter name='level'>3</x:parameter></x:invoke>\n```\n<tool_call name=\"lamp.set\">"
        '{"room": "Guest-Room", "level": 7}</tool_call>',
        Rung.BLOCK,
        "correct",
        "prefixed elements in a fence, and JSON in a named element",
    ),
    (
        "<tool_call>\n<function=lamp.set>\n<parameter=room>\nhall\n</parameter>\n<parameter=level>\n3\n</parameter>\n"
        "</function>\n</tool_call>\n<tool_call>\n<function=lamp.set>\n<parameter=room>\nGuest-Room\n</parameter>\n"
        "<parameter=level>\n7\n</parameter>\n</function>\n</tool_call>",
        Rung.BLOCK,
        "correct",
        "names behind an equals sign",
    ),
    (
        '<invoke name="lamp.set"><parameter name="room">hall</parameter><parameter name="level">three</parameter>'
        "</invoke>"
        '<invoke name="lamp.set"><parameter name="room">Guest-Room</parameter><parameter name="level">7</parameter>'
        "</invoke>",
        Rung.BLOCK,
        "wrong",
        "text stays text where a number is asked",
    ),
    (
        '<tool_call>\n<tool_call name="lamp.set" arguments={"room": "hall", "level": 3}/>\n</tool_call>\n'
        '<tool_call name="lamp.set" arguments={"room": "Guest-Room", "level": 7}/>',
        Rung.BLOCK,
        "correct",
        "arguments as an attribute",
    ),
    (
        '[TOOL_CALLS]lamp.set[ARGS]{"room": "hall", "level": 3}'
        '[TOOL_CALLS]lamp.set[ARGS]{"room": "Guest-Room", "level": 7}',
        Rung.BLOCK,
        "correct",
        "arguments behind a mark",
    ),
    (
        '<|tool_call_begin|>functions.lamp.set:0<|tool_call_argument_begin|>{"room": "hall", "level": 3}'
        "<|tool_call_end|><|tool_call_begin|>functions.lamp.set:1<|tool_call_argument_begin|>"
        '{"room": "Guest-Room", "level": 7}',
        Rung.BLOCK,
        "correct",
        "numbered names between marks of a chat template",
    ),
    (
        "<tool_call>lamp.set\n<arg_key>room</arg_key>\n<arg_value>hall</arg_value>\n<arg_key>level</arg_key>\n"
        "<arg_value>3</arg_value>\n</tool_call>\n<tool_call>lamp.set\n<arg_key>room</arg_key>\n"
        "<arg_value>Guest-Room</arg_value>\n<arg_key>level</arg_key>\n<arg_value>7</arg_value>\n</tool_call>",
        Rung.BLOCK,
        "correct",
        "pairs of elements",
    ),
    (
        '{"lamp.set": [{"room": "hall", "level": 3}, {"room": "Guest-Room", "level": 7}]}',
        Rung.WHOLE,
        "correct",
        "keyed by function, a list of calls",
    ),
    (
        '{"name": "lamp.set", "arguments": {"room": "hall", "level": 3}}\n'
        '{"name": "lamp.set", "arguments": {"room": "Guest-Room", "level": 7}}',
        Rung.BLOCK,
        "correct",
        "one JSON object a line",
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
    got, found = judge(Reply(text=text), item(TWO_LAMPS))
    assert (got.verdict, found) == (verdict, rung), why
    assert got.score == (100.0 if verdict == "correct" else 0.0)


def test_structured_tool_calls_come_before_text() -> None:
    calls = (
        ToolCall(name="lamp_set", arguments='{"room": "hall", "level": 3}'),
        ToolCall(name="lamp_set", arguments='{"room": "guest room", "level": 7}'),
    )
    reply = Reply(text="Calling the lamps.", tool_calls=calls, finish_reason="tool_calls")
    assert judge(reply, item(TWO_LAMPS))[0].correct
    broken = Reply(text="", tool_calls=(ToolCall(name="lamp_set", arguments='{"room": '),))
    assert judge(broken, item(TWO_LAMPS))[0].verdict == "parse_error"


VALUES = [
    ("lamp.set(room='hall', level=3, warmth=2.5, fade=True)", True, "optional values given"),
    ("lamp.set('hall', 3)", True, "positional, by the order of the schema"),
    ("lamp.set('hall', level=3)", True, "positional and named"),
    ("lamp.set('hall', room='hall', level=3)", False, "a parameter given twice"),
    ("lamp.set('hall', 3, 2.5, True, 1)", False, "too many positional values"),
    ("lamp.set(room='HALL. ', level=3)", True, "case, space and stop do not count"),
    ("lamp.set(room='halls', level=3)", False, "another word"),
    ("lamp.set(room='hall', level=1 + 2)", True, "sum of literals"),
    ("lamp.set(room='hall', level=+3)", True, "plus sign"),
    ("lamp.set(room='hall', level=-3)", False, "minus sign counts"),
    ("lamp.set(room='hall', level=6 / 2)", False, "a quotient is a float"),
    ("lamp.set(room='hall', level=3.0)", False, "no float for an integer"),
    ("lamp.set(room='hall', level='3')", False, "no text for an integer"),
    ("lamp.set(room='hall', level=3, warmth=5 / 2)", True, "quotient for a float"),
    ("lamp.set(room='hall', level=3, fade=1)", False, "a number is no truth value"),
    ("lamp.set(room='hall', level=True)", False, "a truth value is no integer"),
    ("lamp.set(room='hall')", False, "required parameter missing"),
    ("lamp.set(room='hall', level=3, colour='red')", False, "unknown parameter"),
    ("lamp.get(room='hall', level=3)", False, "another function"),
    ("lamp.set(room='hall', level=3, warmth=None)", False, "None is not accepted here"),
    ("lamp.set(**{'room': 'hall', 'level': 3})", True, "unpacked literal dictionary"),
    ("lamp.set(room='hall', level=3, warmth=1/0)", None, "no result of a division by zero"),
]


@pytest.mark.parametrize(("call", "right", "why"), VALUES)
def test_values_follow_the_type_rules(call: str, right: bool | None, why: str) -> None:
    verdict = TASK.score(f"[{call}]", item(TWO_LAMPS[:1]))
    assert verdict.verdict == {True: "correct", False: "wrong", None: "parse_error"}[right], why


MARKUP = [
    ('<invoke name="route"><parameter name="stops">["Ulm", "Bonn"]</parameter></invoke>', "correct", "a list as JSON"),
    ("<invoke name='route'><parameter name='stops'>['Ulm', 'Bonn']</parameter></invoke>", "correct", "in Python"),
    (
        '<invoke name="route"><parameter name="stops">["Ulm", "Bonn"]</parameter>'
        '<parameter name="limits">{"cost": 20}</parameter></invoke>',
        "correct",
        "an object as JSON",
    ),
    ('Action: route\nAction Input: ["Ulm", "Bonn"]', "correct", "the input is the only argument"),
    ("Action: route\nAction Input: None", "wrong", "no arguments"),
    ('<invoke name="route"><parameter name="stops">Ulm</parameter> and Bonn</invoke>', "no_answer", "text between"),
]


@pytest.mark.parametrize(("text", "verdict", "why"), MARKUP)
def test_markup_holds_values_of_any_kind(text: str, verdict: str, why: str) -> None:
    assert judge(Reply(text=text), item(ROUTE))[0].verdict == verdict, why


def test_a_declared_string_stays_text_in_markup() -> None:
    reply = Reply(text="<invoke name='lamp.set'><parameter name='room'>12</parameter></invoke>")
    assert TASK.extract(reply, item(TWO_LAMPS)).answer == "[lamp.set(room='12')]"


NESTED = [
    ("route(stops=['Ulm', 'Bonn'])", True, "list"),
    ("route(stops=('ulm', 'bonn'))", True, "a tuple is a list"),
    ("route(stops=['Bonn', 'Ulm'])", False, "order counts"),
    ("route(stops=['Ulm'])", False, "length counts"),
    ("route(stops=['Ulm', 'Bonn'], start=(1.5, 2))", True, "an integer for a float, inside"),
    ("route(stops=['Ulm', 'Bonn'], limits={'cost': 20})", True, "optional key left out"),
    ("route(stops=['Ulm', 'Bonn'], limits={'mode': 'Rail', 'cost': 20})", True, "order of keys is free"),
    ("route(stops=['Ulm', 'Bonn'], limits={'mode': 'rail'})", False, "key missing"),
    ("route(stops=['Ulm', 'Bonn'], limits={'cost': 20, 'x': 1})", False, "unknown key"),
    ("route(stops=['Ulm', 'Bonn'], limits=20)", False, "no dictionary"),
]


@pytest.mark.parametrize(("call", "right", "why"), NESTED)
def test_nested_values_follow_the_same_rules(call: str, right: bool, why: str) -> None:
    assert TASK.score(f"[{call}]", item(ROUTE)).correct is right, why


def test_assignment_is_the_best_one_where_greedy_fails() -> None:
    calls: list[Json] = [{"lamp.set": {"room": ["a", "b"], "level": [1]}}, {"lamp.set": {"room": ["a"], "level": [1]}}]
    answer = "[lamp.set(room='a', level=1), lamp.set(room='b', level=1)]"
    assert TASK.score(answer, item(calls)).correct
    assert not TASK.score(answer, item(calls), "reference").correct


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
