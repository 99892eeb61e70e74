"""Function calls as data: reading calls in guarded Python syntax, and writing it back.

Only literals are read; + - * / between number literals is folded here. Nothing is ever evaluated: names, powers,
nested calls and anything else are refused with a reason. JSON is ``json_calls.py``, where calls stand in a reply
is ``find.py``.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from lic_pipeline.records import Json
from lic_pipeline.tasks.python_tree import parse_expression

_T = TypeVar("_T")
MAX_CHARS = 60_000
MAX_DEPTH = 40
_JSON_LITERALS = {"true": True, "false": False, "null": None}
_MAX_INT_BITS = 4096
_ROW = re.compile(r"[^\r\n]*(?:\r\n|[\r\n]|\Z)")
_BRACKETS_AND_STRINGS = re.compile(r"[\"'()\[\]{}]|\\.", re.DOTALL)


class CallSyntaxError(ValueError):
    """The text is no list of calls with literal arguments; the message says why, ``offset`` where (None: all of it)."""

    def __init__(self, message: str, offset: int | None = None, *, node: ast.expr | None = None) -> None:
        super().__init__(message)
        self.offset = offset
        self.node = node


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


def too_deep(text: str) -> bool:
    """True when brackets nest deeper than any sensible call."""
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

    ``names_are_text`` reads a bare name as its text, as the published checker does. Otherwise a ``print`` around the
    calls passes.
    """
    body = _syntax(text)
    elements = _elements(body)
    if not names_are_text and len(elements) == 1 and _prints(elements[0]):
        elements = [inner for argument in elements[0].args for inner in _elements(argument)]  # type: ignore[attr-defined]
    return _placed(text, lambda: [_call(element, names_are_text) for element in elements])


def _elements(node: ast.expr) -> list[ast.expr]:
    return list(node.elts) if isinstance(node, ast.List | ast.Tuple) else [node]


def _prints(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"


def _placed(text: str, read: Callable[[], _T]) -> _T:
    """What is read from the tree of a text; an error says where in the text it is."""
    try:
        return read()
    except RecursionError as error:
        raise CallSyntaxError("nested too deeply") from error
    except CallSyntaxError as error:
        if error.node is not None:
            row = _rows(text)[error.node.lineno - 1]
            # The columns of a tree count bytes.
            error.offset = row[0] + len(row[1].encode()[: error.node.col_offset].decode(errors="ignore"))
        raise


def _rows(text: str) -> list[tuple[int, str]]:
    """Offset and text of each line as Python counts them, of a text without the white space around it."""
    lead = len(text) - len(text.lstrip())
    return [(match.start(), match.group()) for match in _ROW.finditer(text, lead)]


def _syntax(text: str) -> ast.expr:
    """The syntax tree of one guarded expression; parsing executes nothing. Raises CallSyntaxError."""
    if len(text) > MAX_CHARS or too_deep(text):
        raise CallSyntaxError("too long or nested too deeply")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return parse_expression(text.strip()).body
    except SyntaxError as error:
        place = (error.lineno or 0) - 1
        rows = _rows(text)
        offset = rows[place][0] + max((error.offset or 1) - 1, 0) if 0 <= place < len(rows) else None
        raise CallSyntaxError(f"no call syntax: {error.msg}", offset) from error
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        raise CallSyntaxError(f"no call syntax: {type(error).__name__}") from error


def _call(node: ast.expr, names_are_text: bool) -> Call:
    if not isinstance(node, ast.Call):
        raise CallSyntaxError("an element of the list is no call", node=node)
    named: dict[str, Json] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            pairs = _value(keyword.value, names_are_text)
            if not isinstance(pairs, dict):
                raise CallSyntaxError("** needs a dictionary", node=keyword.value)
            named.update({str(key): value for key, value in pairs.items()})
        elif keyword.arg in named:
            raise CallSyntaxError(f"argument {keyword.arg} stands twice", node=keyword.value)
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
        raise CallSyntaxError("the function is no plain name", node=node)
    return ".".join([node.id, *reversed(parts)])


def _value(node: ast.expr, names_are_text: bool) -> Json:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            return value
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return [_value(item, names_are_text) for item in items]
        case ast.Dict(keys=keys, values=values):
            return {
                _key(key, names_are_text): _value(value, names_are_text)
                for key, value in zip(keys, values, strict=True)
                if key is not None
            }
        case ast.UnaryOp() | ast.BinOp():
            return _number(node)
        case ast.Name(id=name) if names_are_text:
            return name
        case _ if names_are_text:
            return ast.unparse(node)
        case ast.Name(id=name) if name in _JSON_LITERALS:
            return _JSON_LITERALS[name]
    raise CallSyntaxError(f"an argument is no literal ({type(node).__name__})", node=node)


def _key(node: ast.expr, names_are_text: bool) -> str:
    """A key as text; a bare one is its own, as in JavaScript's ``{room: "hall"}``."""
    return node.id if isinstance(node, ast.Name) else str(_value(node, names_are_text))


def _number(node: ast.expr) -> int | float:
    """Signs and + - * / between number literals, as Python would compute them. Raises CallSyntaxError."""
    match node:
        case ast.Constant(value=bool()):
            raise CallSyntaxError("arithmetic with a truth value", node=node)
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _number(operand)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op, right=right):
            return _fold(_number(left), op, _number(right))
    raise CallSyntaxError(f"an argument is no literal ({type(node).__name__})", node=node)


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


def python_data(text: str) -> Json:
    """The literal of a text that is JSON but for Python's quotes and constants. Raises CallSyntaxError."""
    body = _syntax(text)
    return _placed(text, lambda: _value(body, names_are_text=False))
