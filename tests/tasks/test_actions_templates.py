"""How chat templates, providers and people write a name and its arguments: all mean the two lamps, but for the last."""

# ruff: noqa: E501 - a table reads best with one case a line

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.actions_items import GUEST, HALL, TWO_LAMPS, item, judge, read

from lic_pipeline.records import Instruction, Json, Reply, ToolCall
from lic_pipeline.tasks.actions import TASK

A, B = '{"room": "hall", "level": 3}', '{"room": "Guest-Room", "level": 7}'


def each(write: Callable[[str], str]) -> str:
    return write(A) + write(B)


def deepseek(left: str, right: str, gap: str, *, kind: bool) -> str:
    """The tool calls of version 3 (with a kind and a fence) or 3.1, in one spelling of the tokens."""

    def token(words: str) -> str:
        return left + words.replace(" ", gap) + right

    begin, sep, end = token("tool call begin"), token("tool sep"), token("tool call end")
    calls = each(
        lambda x: f"{begin}function{sep}lamp.set\n```json\n{x}\n```{end}" if kind else f"{begin}lamp.set{sep}{x}{end}"
    )
    return f"I set both.{token('tool calls begin')}{calls}{token('tool calls end')}{token('end of sentence')}"


def call(arguments: str, name: str = "lamp.set", key: str = "arguments") -> str:
    return f'{{"name": "{name}", "{key}": {arguments}}}'


def gemini(arguments: str) -> str:
    return f'{{"functionCall": {call(arguments, key="args")}}}'


SPELLINGS = [("<｜", "｜>", "▁"), ("<|", "|>", "_"), ("<|", "|>", "▁"), ("<｜", "｜>", "_"), ("<｜", "｜>", " ")]
FORMS: dict[str, str] = {
    "[TOOL_CALLS] for each": each(lambda x: f"[TOOL_CALLS]lamp.set{x}"),
    "[TOOL_CALLS] once": f"[TOOL_CALLS]lamp.set{A}, lamp.set{B}</s>",
    "[TOOL_CALLS] on lines": each(lambda x: f"[TOOL_CALLS] lamp.set\n{x}\n"),
    "[TOOL_CALLS] and a list": f"[TOOL_CALLS] [{call(A)}, {call(B)}]</s>",
    "[CALL_ID]": each(lambda x: f"[TOOL_CALLS]lamp.set[CALL_ID]a1B2c3D4e[ARGS]{x}"),
    "tokens lost": each(lambda x: f"lamp.set{x}"),
    "name and object on lines": each(lambda x: f"lamp.set\n{x}\n"),
    "channels": "<|channel|>analysis<|message|>lamp.set{1}<|end|>" + each(lambda x: f"<|start|>assistant<|channel|>commentary to=functions.lamp.set <|constrain|>json<|message|>{x}<|call|>"),
    "a recipient before the channel": each(lambda x: f"<|start|>assistant to=functions.lamp.set<|channel|>commentary json<|message|>{x}<|call|>"),
    "recipients": each(lambda x: f"<|from|>assistant\n<|recipient|>lamp.set\n<|content|>{x}"),
    ">>>": each(lambda x: f">>>lamp.set\n{x}\n"),
    "prefixed elements": "<｜DSML｜function_calls>" + "".join(f'<｜DSML｜invoke name="lamp.set"><｜DSML｜parameter name="room" string="true">{r}</｜DSML｜parameter><｜DSML｜parameter name="level" string="false">{n}</｜DSML｜parameter></｜DSML｜invoke>' for r, n in (("hall", 3), ("Guest-Room", 7))) + "</｜DSML｜function_calls>",
    "prefixed pairs": "".join(f"<x_tool_call>lamp.set\n<x_arg_key>room</x_arg_key>\n<x_arg_value>{r}</x_arg_value>\n<x_arg_key>level</x_arg_key><x_arg_value>{n}</x_arg_value></x_tool_call>" for r, n in (("hall", 3), ("Guest-Room", 7))),
    "escaped quotes": "".join(f"<start_function_call>call:lamp.set{{room:<escape>{r}<escape>,level:{n}}}<end_function_call>" for r, n in (("hall", 3), ("Guest-Room", 7))),
    "name and arguments as elements": each(lambda x: f"<tool_call><name>lamp.set</name>\n<arguments>{x}</arguments></tool_call>"),
    "a name in a tag": each(lambda x: f"<tool_call>\nlamp.set{x}\n</tool_call>"),
    "fences under names": each(lambda x: f"I call `lamp.set`:\n```json\n{x}\n```\n"),
    "a whole call under a name": f"I call lamp.set:\n```json\n[{call(A)}, {call(B)}]\n```",
    "headings": each(lambda x: f"### lamp.set\n{x}\n"),
    "functionCall": f"[{gemini(A)}, {gemini(B)}]",
    "functionCall on lines": each(lambda x: gemini(x) + "\n"),
    "parts": f'{{"candidates": [{{"content": {{"role": "model", "parts": [{{"text": "Sure."}}, {gemini(A)}, {gemini(B)}]}}}}]}}',
    "toolUse": f'[{{"toolUse": {{"toolUseId": "x", {call(A, key="input")[1:]}}}, {{"toolUse": {{"toolUseId": "y", {call(B, key="input")[1:]}}}]',
    "content": f'{{"role": "assistant", "content": [{{"type": "text", "text": "Sure."}}, {{"type": "tool_use", {call(A, key="input")[1:]}, {{"type": "tool_use", {call(B, key="input")[1:]}]}}',
    "bare keys": "[{name: 'lamp.set', arguments: {room: 'hall', level: 3}}, {name: 'lamp.set', arguments: {room: 'Guest-Room', level: 7}}]",
    "default_api": f"[default_api.{HALL}, default_api.{GUEST}]",
    "default_api printed": f"```tool_code\nprint(default_api.{HALL})\nprint(default_api.{GUEST})\n```",
    "a printed list": f"print([default_api.{HALL}, default_api.{GUEST}])",
    "default_api with a colon": each(lambda x: call(x, "default_api:lamp.set", "args") + "\n"),
    "functions": f"[functions.{HALL}, functions.{GUEST.replace('.', '_')}]",
    "an object as the only argument": f"lamp.set({A})\nlamp.set({{room: 'Guest-Room', level: 7}})",
    "JSON literals": "[lamp.set(room='hall', level=3, fade=true), lamp.set(room='Guest-Room', level=7, fade=false)]",
    "an open fence and a tag": f"```python\n[{HALL}, {GUEST}]\n</answer>",
    "a quoted fence": f"> ```\n> [{HALL}, {GUEST}]\n> ```",
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_templates_mean_the_calls_they_carry(form: str) -> None:
    assert read(FORMS[form])[0] == "correct"


@pytest.mark.parametrize("kind", [True, False], ids=["v3", "v3.1"])
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_tool_tokens_count_in_every_spelling(spelling: tuple[str, str, str], kind: bool) -> None:
    text = deepseek(*spelling, kind=kind)
    assert read(text)[0] == "correct"
    assert read(text.replace("```", "") if kind else text.rpartition("}")[0] + "}")[0] == "correct"


OTHERS = [
    (f"lamp.set{A}lamp.set{B[:-1]}", "no_answer", "one object is cut off"),
    (f"The arguments of lamp.set are objects such as {A}.", "no_answer", "words between"),
    (f"other{A}other{B}", "no_answer", "an unknown name"),
    (f"[tools.{HALL}, tools.{GUEST}]", "wrong", "a namespace of nobody"),
    ("[lamp.set(room='true', level=3), lamp.set(room=\"null\", level=7)]", "wrong", "literals in strings are text"),
    ("[lamp.set(room=hall, level=3)]", "parse_error", "any other bare name"),
]


@pytest.mark.parametrize(("text", "verdict", "why"), OTHERS)
def test_what_is_no_call_stays_none(text: str, verdict: str, why: str) -> None:
    assert read(text)[0] == verdict, why


def with_functions(*names: str, parameters: tuple[str, ...], calls: list[Json]) -> Instruction:
    properties = {name: {"type": "string"} for name in parameters}
    functions: list[Json] = [{"name": name, "parameters": {"type": "dict", "properties": properties}} for name in names]
    return item(calls).model_copy(update={"context": {"functions": functions}})


GREET = with_functions("greet", parameters=("name", "input", "text"), calls=[{"greet": {"name": ["Ada"], "input": ["", "x"], "text": ["", "hi"]}}])  # fmt: skip
GREETINGS = [
    '[TOOL_CALLS]greet{"name": "Ada"}',
    "[greet(name='Ada')]",
    '{"name": "greet", "arguments": {"name": "Ada"}}',
    '{"greet": {"name": "Ada"}}',
    '[{"greet": {"name": "Ada", "input": "x"}}]',
    '{"function": "greet", "name": "Ada"}',
    '[{"tool": "greet", "name": "Ada", "input": "x", "text": "hi"}]',
    '{"functionCall": {"name": "greet", "args": {"name": "Ada"}}}',
    'Action: greet\nAction Input: {"name": "Ada"}',
    '<function=greet>{"name": "Ada"}</function>',
    '<invoke name="greet"><parameter name="name">Ada</parameter></invoke>',
    'greet({"name": "Ada"})',
]


@pytest.mark.parametrize("text", GREETINGS)
def test_a_parameter_may_be_called_like_a_key(text: str) -> None:
    assert judge(Reply(text=text), GREET)[0].verdict == "correct"


def test_a_namespace_that_is_declared_stays() -> None:
    calls: list[Json] = [{"functions.f": {"a": ["1"]}}]
    declared = with_functions("f", "functions.f", parameters=("a",), calls=calls)
    assert judge(Reply(text="[functions.f(a='1')]"), declared)[0].verdict == "correct"
    assert judge(Reply(text="[f(a='1')]"), declared)[0].verdict == "wrong"
    alone = with_functions("f", parameters=("a",), calls=[{"f": {"a": ["1"]}}])
    assert judge(Reply(text="", tool_calls=(ToolCall(name="functions.f", arguments='{"a": "1"}'),)), alone)[0].correct
    assert TASK.score("[functions.f(a='1')]", alone, "reference").verdict == "wrong"


FAULTS = [
    ("[lamp.set(room=Guest Room, level=7)]", 1, 16, "[lamp.set(room=Guest Room, level=7)"),
    ("Sure:\n[lamp.set(room='é', level=3),\n lamp.set(room='é', level=int('3'))]", 3, 27, "set(room='é', level=int('3'))]"),
    ("```\n  [lamp.set(room=x)]\n```", 2, 18, "  [lamp.set(room=x)]"),
    ("[lamp.set(room='hall'", 1, 10, "[lamp.set(room='hall'"),
    ('{"name": "lamp.set", "arguments": {"room": hall}}', 1, 44, 'rguments": {"room": hall}}'),
    ('[{"name": "lamp.set", // hall\n  "arguments": {"room" "hall"}}]', 2, 24, 'arguments": {"room" "hall"}}]'),
    ("[1, 2]", 1, 1, "[1, 2]"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "column", "excerpt"), FAULTS)
def test_a_parse_error_says_where(text: str, line: int, column: int, excerpt: str) -> None:
    verdict = TASK.score(text, item(TWO_LAMPS))
    assert (verdict.verdict, verdict.score) == ("parse_error", 0.0)
    assert (verdict.detail["line"], verdict.detail["column"], verdict.detail["excerpt"]) == (line, column, excerpt)
    assert verdict.detail["why"]


def test_the_reference_policy_says_where_in_the_whole_reply() -> None:
    verdict = TASK.score("`lamp.set(room='a',\n level=2**1)`", item(TWO_LAMPS), "reference")
    assert (verdict.verdict, verdict.detail["line"], verdict.detail["column"]) == ("parse_error", 2, 8)


PIECES = st.sampled_from(["lamp.set", "{", "}", '"room"', ":", "[", "(", ")", "'", "\n", "=x", "<｜tool▁sep｜>", "[ARGS]", "functions.", "é", "\r", "{a:", ","])  # fmt: skip


@given(st.lists(PIECES, max_size=30).map("".join))
def test_any_text_is_read(text: str) -> None:
    for policy in ("robust", "reference"):
        verdict = TASK.score(text, item(TWO_LAMPS), policy)  # type: ignore[arg-type]
        assert verdict.verdict != "parse_error" or verdict.detail["line"] >= 1


@pytest.mark.parametrize(
    "piece",
    [
        "lamp.set ",
        "lamp.set{",
        "json ",
        "code:",
        "a-",
        '{"parts":[',
        "<｜tool▁sep｜>",
        "{a:",
        "lamp.set(room=x)\n",
        "<a_",
    ],
)
def test_long_texts_take_linear_time(piece: str) -> None:
    text = (piece * 60_000)[:120_000]
    started = time.process_time()
    TASK.extract(Reply(text=text), item(TWO_LAMPS))
    TASK.score(text, item(TWO_LAMPS))
    assert time.process_time() - started < 3
