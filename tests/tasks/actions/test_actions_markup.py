"""How calls are written as markup and as ReAct steps, and which kind of value the text in it becomes."""

from __future__ import annotations

import pytest
from support.actions_items import ROUTE, TWO_LAMPS, item, judge, read

from lic_pipeline.records import Reply, Rung
from lic_pipeline.tasks.actions import TASK

FORMS = [
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
]


@pytest.mark.parametrize(("text", "rung", "verdict", "why"), FORMS)
def test_markup_is_read_as_the_calls_it_means(text: str, rung: Rung, verdict: str, why: str) -> None:
    assert read(text) == (verdict, rung, 100.0 if verdict == "correct" else 0.0), why


VALUES = [
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


@pytest.mark.parametrize(("text", "verdict", "why"), VALUES)
def test_markup_holds_values_of_any_kind(text: str, verdict: str, why: str) -> None:
    assert judge(Reply(text=text), item(ROUTE))[0].verdict == verdict, why


def test_a_declared_string_stays_text_in_markup() -> None:
    reply = Reply(text="<invoke name='lamp.set'><parameter name='room'>12</parameter></invoke>")
    assert TASK.extract(reply, item(TWO_LAMPS)).answer == "[lamp.set(room='12')]"
