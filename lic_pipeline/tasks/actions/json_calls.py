"""Function calls as JSON, in the shapes that models and providers write them. Python syntax is ``calls.py``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from lic_pipeline.records import Json
from lic_pipeline.tasks.actions.calls import MAX_CHARS, Call, CallSyntaxError, python_data, too_deep

_SUPERFLUOUS = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|//[^\n]*|/\*.*?\*/|,(?=\s*[}\]])", re.DOTALL)
_NAME_KEYS = (
    "name",
    "function_name",
    "func_name",
    "func",
    "fn",
    "tool_name",
    "recipient_name",
    "tool",
    "function",
    "api_name",
    "action",
)
_WRAPPERS = ("tool_calls", "calls", "tool_uses", "function_calls")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "kwargs", "params", "input", "action_input", "params_dict")


def parse_json(text: str) -> list[Call]:
    """Calls as JSON, in the usual shapes of tool calls. Raises CallSyntaxError.

    Comments and trailing commas pass, and so do Python's quotes and constants.
    """
    if len(text) > MAX_CHARS or too_deep(text):
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
        return python_data(text)
    return data


def calls_from_data(data: Json) -> list[Call]:
    """Calls from decoded JSON: objects with name and arguments, or ``{function: {argument: value}}``."""
    if isinstance(data, dict):
        data = next((data[key] for key in _WRAPPERS if isinstance(data.get(key), list)), data)
    elements = data if isinstance(data, list) else [data]
    return [call for element in elements for call in _object_calls(element)]


def _object_calls(element: Json) -> list[Call]:
    if not isinstance(element, dict) or not element:
        raise CallSyntaxError("an element of the list is no call object")
    inner = element.get("function", element.get("function_call", element.get("tool_call")))
    if isinstance(inner, dict):
        return _object_calls(inner)
    for key in _NAME_KEYS:
        if isinstance(element.get(key), str):
            return [Call(element[key].strip(), _arguments(element))]
    if all(isinstance(value, dict) for value in element.values()):
        return [Call(str(name), dict(value)) for name, value in element.items()]
    if all(
        isinstance(value, list) and value and all(isinstance(one, dict) for one in value) for value in element.values()
    ):
        return [Call(str(name), dict(one)) for name, value in element.items() for one in value]
    raise CallSyntaxError("a call object has no name")


def _arguments(element: Mapping[str, Json]) -> dict[str, Json]:
    for key in _ARGUMENT_KEYS:
        if key in element:
            return arguments_from(element[key])
    return {key: value for key, value in element.items() if key not in {*_NAME_KEYS, "id", "type", "index"}}


def arguments_from(value: Json) -> dict[str, Json]:
    """Named arguments from a JSON object, or from its text. Raises CallSyntaxError."""
    if isinstance(value, str):
        if too_deep(value):
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
