"""Function calls as data: reading one call from guarded Python syntax or JSON, and writing it back.

Only literals are read; + - * / between number literals is folded here. Nothing is ever evaluated: names, powers,
nested calls and anything else are refused with a reason. Where calls stand in a reply is ``actions_find.py``.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field

from lic_pipeline.records import Json
from lic_pipeline.tasks.python_tree import parse_expression

MAX_CHARS = 60_000
MAX_DEPTH = 40
_MAX_INT_BITS = 4096
_BRACKETS_AND_STRINGS = re.compile(r"[\"'()\[\]{}]|\\.", re.DOTALL)
_SUPERFLUOUS = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])", re.DOTALL)
_NAME_KEYS = ("name", "function_name", "func_name", "func", "fn", "tool_name", "tool", "function", "api_name", "action")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "kwargs", "params", "input", "action_input", "params_dict")


class CallSyntaxError(ValueError):
    """The text is no list of calls with literal arguments; the message says why."""


@dataclass(frozen=True)
class Call:
    """One call: name, positional values in order, named values. Tuples have become lists."""

    name: str
    named: Mapping[str, Json] = field(default_factory=dict)
    positional: tuple[Json, ...] = ()

    def render(self) -> str:
        """The call in Python syntax; equal calls render equally up to the order of arguments."""
        given = [repr(value) for value in self.positional]
        given += [f"{key}={value!r}" for key, value in self.named.items()]
        return f"{self.name}({', '.join(given)})"


def render_calls(calls: list[Call]) -> str:
    """Calls as one bracketed list."""
    return "[" + ", ".join(call.render() for call in calls) + "]"


def closing(text: str, start: int, limit: int) -> int | None:
    """Where the bracket that opens at ``start`` closes, None when it does not within ``limit`` or nests too deeply."""
    stack: list[str] = []
    quote = ""
    for match in _BRACKETS_AND_STRINGS.finditer(text, start, min(len(text), limit)):
        mark = match.group()
        if quote:
            quote = "" if mark == quote else quote
        elif mark in "\"'":
            quote = mark
        elif mark in "([{":
            stack.append({"(": ")", "[": "]", "{": "}"}[mark])
            if len(stack) > MAX_DEPTH:
                return None
        elif mark in ")]}":
            if not stack or stack.pop() != mark:
                return None
            if not stack:
                return match.end()
    return None


def _too_deep(text: str) -> bool:
    depth = deepest = 0
    for match in _BRACKETS_AND_STRINGS.finditer(text):
        if match.group() in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif match.group() in ")]}":
            depth -= 1
    return deepest > MAX_DEPTH


def parse_python(text: str, *, names_are_text: bool = False) -> list[Call]:
    """Calls in Python syntax: one call, or a list or tuple of calls. Raises CallSyntaxError.

    ``names_are_text`` reads a bare name as its text, as the published checker does.
    """
    body = _syntax(text)
    elements = list(body.elts) if isinstance(body, ast.List | ast.Tuple) else [body]
    try:
        return [_call(element, names_are_text) for element in elements]
    except RecursionError as error:
        raise CallSyntaxError("nested too deeply") from error


def _syntax(text: str) -> ast.expr:
    """The syntax tree of one guarded expression; parsing executes nothing. Raises CallSyntaxError."""
    if len(text) > MAX_CHARS or _too_deep(text):
        raise CallSyntaxError("too long or nested too deeply")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return parse_expression(text.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise CallSyntaxError(f"no call syntax: {type(error).__name__}") from error


def _call(node: ast.expr, names_are_text: bool) -> Call:
    if not isinstance(node, ast.Call):
        raise CallSyntaxError("an element of the list is no call")
    named: dict[str, Json] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            pairs = _value(keyword.value, names_are_text)
            if not isinstance(pairs, dict):
                raise CallSyntaxError("** needs a dictionary")
            named.update({str(key): value for key, value in pairs.items()})
        elif keyword.arg in named:
            raise CallSyntaxError(f"argument {keyword.arg} stands twice")
        else:
            named[keyword.arg] = _value(keyword.value, names_are_text)
    positional = tuple(_value(argument, names_are_text) for argument in node.args)
    return Call(_dotted(node.func), named, positional)


def _dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise CallSyntaxError("the function is no plain name")
    return ".".join([node.id, *reversed(parts)])


def _value(node: ast.expr, names_are_text: bool) -> Json:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            return value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item, names_are_text) for item in items]
        case ast.Dict(keys=keys, values=values):
            return {
                str(_value(key, names_are_text)): _value(value, names_are_text)
                for key, value in zip(keys, values, strict=True)
                if key is not None
            }
        case ast.UnaryOp() | ast.BinOp():
            return _number(node)
        case ast.Name(id=name) if names_are_text:
            return name
        case _ if names_are_text:
            return ast.unparse(node)
    raise CallSyntaxError(f"an argument is no literal ({type(node).__name__})")


def _number(node: ast.expr) -> int | float:
    """Signs and + - * / between number literals, as Python would compute them. Raises CallSyntaxError."""
    match node:
        case ast.Constant(value=bool()):
            raise CallSyntaxError("arithmetic with a truth value")
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _number(operand)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op, right=right):
            return _fold(_number(left), op, _number(right))
    raise CallSyntaxError(f"an argument is no literal ({type(node).__name__})")


def _fold(left: float, op: ast.operator, right: float) -> int | float:
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() + right.bit_length() > _MAX_INT_BITS:
        raise CallSyntaxError("a number is too large")
    try:
        if isinstance(op, ast.Add):
            return left + right
        if isinstance(op, ast.Sub):
            return left - right
        return left * right if isinstance(op, ast.Mult) else left / right
    except ArithmeticError as error:
        raise CallSyntaxError("arithmetic without a result") from error


def parse_json(text: str) -> list[Call]:
    """Calls as JSON, in the usual shapes of tool calls. Raises CallSyntaxError.

    Comments and trailing commas pass, and so do Python's quotes and constants.
    """
    if len(text) > MAX_CHARS or _too_deep(text):
        raise CallSyntaxError("too long or nested too deeply")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = _lenient(_SUPERFLUOUS.sub(_kept, text))
    return calls_from_data(data)


def _kept(match: re.Match[str]) -> str:
    """A string as it stands; a comment, or a comma behind which nothing follows, as nothing."""
    return match.group() if match.group()[0] in "\"'" else ""


def _lenient(text: str) -> Json:
    try:
        data: Json = json.loads(text)
    except (ValueError, RecursionError):
        return _python_data(text)
    return data


def _python_data(text: str) -> Json:
    """The literal of a text that is JSON but for Python's quotes and constants. Raises CallSyntaxError."""
    return _value(_syntax(text), names_are_text=False)


def calls_from_data(data: Json) -> list[Call]:
    """Calls from decoded JSON: objects with name and arguments, or ``{function: {argument: value}}``."""
    if isinstance(data, dict) and isinstance(data.get("tool_calls", data.get("calls")), list):
        data = data.get("tool_calls", data.get("calls"))
    elements = data if isinstance(data, list) else [data]
    return [call for element in elements for call in _object_calls(element)]


def _object_calls(element: Json) -> list[Call]:
    if not isinstance(element, dict) or not element:
        raise CallSyntaxError("an element of the list is no call object")
    inner = element.get("function")
    if isinstance(inner, dict):
        return _object_calls(inner)
    for key in _NAME_KEYS:
        if isinstance(element.get(key), str):
            return [Call(element[key].strip(), _arguments(element))]
    if all(isinstance(value, dict) for value in element.values()):
        return [Call(str(name), dict(value)) for name, value in element.items()]
    raise CallSyntaxError("a call object has no name")


def _arguments(element: Mapping[str, Json]) -> dict[str, Json]:
    for key in _ARGUMENT_KEYS:
        if key in element:
            return arguments_from(element[key])
    return {key: value for key, value in element.items() if key not in {*_NAME_KEYS, "id", "type", "index"}}


def arguments_from(value: Json) -> dict[str, Json]:
    """Named arguments from a JSON object, or from its text. Raises CallSyntaxError."""
    if isinstance(value, str):
        if _too_deep(value):
            raise CallSyntaxError("nested too deeply")
        try:
            value = json.loads(value or "{}")
        except (ValueError, RecursionError) as error:
            raise CallSyntaxError("the arguments of a call are no JSON object") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise CallSyntaxError("the arguments of a call are no JSON object")
    return value
