"""How calls are written as JSON: one line per shape, with the verdict it gets and why."""

from __future__ import annotations

import pytest
from support.actions_items import read

from lic_pipeline.records import Rung

SHAPES = [
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
]


@pytest.mark.parametrize(("text", "rung", "verdict", "why"), SHAPES)
def test_json_is_read_as_the_calls_it_means(text: str, rung: Rung, verdict: str, why: str) -> None:
    assert read(text) == (verdict, rung, 100.0 if verdict == "correct" else 0.0), why
