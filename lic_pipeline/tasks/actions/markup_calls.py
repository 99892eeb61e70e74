"""Calls written as markup: named tags with JSON or with one element per argument, and the steps of ReAct prompts.

In markup every value is text. A parameter that the function declares as a string keeps it as it stands; any other is
read as JSON or as a Python literal where it is one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import islice

from lic_pipeline.records import Json
from lic_pipeline.tasks.actions.json_calls import arguments_from
from lic_pipeline.tasks.actions.match_calls import Functions, declared_name, parameters_of
from lic_pipeline.tasks.actions.python_calls import Call, CallSyntaxError, closing, python_data, too_deep

_NAME = r"[\"']?([\w.:-]{1,200})[\"']?"
_PREFIX = r"(?:\w{1,20}:|[|｜]\w{1,20}[|｜])?"
_CALL_TAG = rf"{_PREFIX}(?:invoke|tool|function|tool_call|call)\b"
_ARGUMENT_TAG = rf"{_PREFIX}(?:parameter|param|argument|arg)\b"
_INVOKE = re.compile(rf"<{_CALL_TAG}\s+name\s*=\s*{_NAME}\s*(?:/>|>((?:[^<]|<(?!/?{_CALL_TAG}))*)</{_CALL_TAG}\s*>)")
_EQUALS_TAG = re.compile(rf"<function={_NAME}>(.*?)(?:</function>|(?=<function=)|\Z)", re.DOTALL)
_PARAMETER = re.compile(
    rf"<{_ARGUMENT_TAG}(?:\s+name\s*=\s*|=){_NAME}[^<>]{{0,100}}>((?:[^<]|<(?!/?{_ARGUMENT_TAG}))*)</{_ARGUMENT_TAG}\s*>"
)
_KEYED = re.compile(
    r"<(?:\w{1,20}_)?tool_call>\s*([\w.:-]{1,200})\s*"
    r"((?:<(?:\w{1,20}_)?arg_key>[^<]*</\w*arg_key>\s*<(?:\w{1,20}_)?arg_value>[^<]*</\w*arg_value>\s*)+)"
)
_PAIR = re.compile(r"<\w*arg_key>([^<]*)</\w*arg_key>\s*<\w*arg_value>([^<]*)</\w*arg_value>")
_MARK = r":\d{1,3}\b|\[ARGS\]|\[CALL_ID\][\w-]{1,40}"
# What templates and people write between the name of a function and its arguments.
_GAP = rf"(?:\s{{1,50}}+|{_MARK}|:|`{{3,}}\w{{0,10}}|[`*]|</?\w{{1,30}}>|✿\w{{1,10}}✿|(?:json|code|commentary)\b)"
_BEFORE_OBJECT = re.compile(
    rf"<{_CALL_TAG}\s+name\s*=\s*{_NAME}\s+arguments\s*=\s*['\"]?(?=\{{)"
    rf"|(?<![\w.-])([A-Za-z_][\w.-]{{0,200}}+)({_GAP}{{0,40}}+)(?=\{{)"
)
_ESCAPES = re.compile(r'<escape>|<\|"\|>')
_STEP = re.compile(
    r"^[ \t>*-]*Action(?:[ \t]\d+)?[ \t]*[:=][ \t*]*[`\"'\[]?([A-Za-z_][\w.]*)[`\"'\]]?(?:\(\))?[ \t*]*\n\s*"
    r"[>*-]{0,2}[ \t]*Action[ \t]Input(?:[ \t]\d+)?[ \t]*[:=][ \t*]*(?:\s*```\w*\s*)?",
    re.MULTILINE | re.IGNORECASE,
)
_MARKED = re.compile(_MARK)
_ANY = re.compile("")
_SPAN = 12_000
_MOST_CALLS = 200
_LITERALS = {"true": True, "false": False, "null": None, "none": None}


def in_tags(text: str, known: Functions) -> list[Call]:
    """Calls written ``<invoke name="f"><parameter name="x">1</parameter></invoke>`` or ``<function=f>{"x": 1}``.

    None when one of them is unreadable: a part of what was meant is not what was meant.
    """
    try:
        found = [*_INVOKE.finditer(text), *_EQUALS_TAG.finditer(text)][:_MOST_CALLS]
        return [_tagged_call(match[1], match[2] or "", known) for match in sorted(found, key=lambda m: m.start())]
    except CallSyntaxError:
        return []


def _tagged_call(name: str, body: str, known: Functions) -> Call:
    given = _PARAMETER.findall(body)
    if given:
        if _PARAMETER.sub("", body).strip():
            raise CallSyntaxError("text between the arguments of a tag")
        declared = parameters_of(name, known)
        return Call(name, {key: _value(value, declared.get(key)) for key, value in given})
    return Call(name, arguments_from(body.strip()))


def in_pairs(text: str, known: Functions) -> list[Call]:
    """Calls written ``<tool_call>f<arg_key>x</arg_key><arg_value>1</arg_value></tool_call>``."""
    calls = []
    for match in islice(_KEYED.finditer(text), _MOST_CALLS):
        declared = parameters_of(match[1], known)
        given = {key.strip(): _value(value, declared.get(key.strip())) for key, value in _PAIR.findall(match[2])}
        calls.append(Call(match[1], given))
    return calls


def marked_objects(text: str, known: Functions) -> list[Call]:
    """Calls written ``f[ARGS]{"x": 1}``, ``functions.f:0{"x": 1}`` or ``<tool_call name="f" arguments={"x": 1}/>``.

    None when one of them is unreadable.
    """
    return _objects(text, known, _MARKED)


def before_objects(text: str, known: Functions) -> list[Call]:
    """Calls written as the name of a known function before an object, ``f{"x": 1}``, as templates leave them.

    None when one of them is unreadable, or when an object is a whole call.
    """
    return _objects(_ESCAPES.sub('"', text), known, _ANY)


def _objects(text: str, known: Functions, marks: re.Pattern[str]) -> list[Call]:
    calls: list[Call] = []
    meant = (
        (match[1] or match[2], match)
        for match in _BEFORE_OBJECT.finditer(text)
        if (match[1] or marks.search(match[3])) and (not known or declared_name(match[1] or match[2], known))
    )
    for name, match in islice(meant, _MOST_CALLS):
        end = closing(text, match.end(), match.end() + _SPAN)
        if end is None:
            return []
        try:
            given = arguments_from(text[match.end() : end])
        except CallSyntaxError:
            return []
        declared = parameters_of(name, known)
        if declared and given and not given.keys() & declared.keys():
            return []
        calls.append(Call(name, given))
    return calls


def in_steps(text: str, known: Functions) -> list[Call]:
    """Calls written as ``Action: f`` and ``Action Input: {"x": 1}`` on the next line; none when one is unreadable."""
    calls: list[Call] = []
    for match in _STEP.finditer(text):
        try:
            calls.append(_step_call(text, match, known))
        except CallSyntaxError:
            return []
        if len(calls) > _MOST_CALLS:
            break
    return calls


def _step_call(text: str, match: re.Match[str], known: Functions) -> Call:
    start = match.end()
    if text.startswith("{", start):
        end = closing(text, start, start + _SPAN)
        if end is None:
            raise CallSyntaxError("the input of an action never ends")
        return Call(match[1], arguments_from(text[start:end]))
    line = text[start : start + _SPAN].partition("\n")[0].strip().strip("`").strip()
    if not line or line.lower() in {"none", "null", "n/a", "()"}:
        return Call(match[1])
    declared = [*parameters_of(match[1], known).values()]
    return Call(match[1], positional=(_value(line, declared[0] if declared else None),))


def _value(text: str, declared: Json) -> Json:
    """The value that the text of an argument stands for, by what the function declares."""
    plain = text.strip()
    if isinstance(declared, Mapping) and declared.get("type") == "string":
        quoted = len(plain) > 1 and plain[0] == plain[-1] and plain[0] in "\"'"
        return plain[1:-1] if quoted else plain
    if plain.lower() in _LITERALS:
        return _LITERALS[plain.lower()]
    try:
        return json.loads(plain) if not too_deep(plain) else plain
    except (ValueError, RecursionError):
        pass
    try:
        return python_data(plain)
    except CallSyntaxError:
        return plain
