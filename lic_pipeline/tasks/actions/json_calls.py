"""Function calls as JSON, in the shapes that models and providers write them. Python syntax is ``calls.py``.

Keys count in either spelling (``function_call``, ``functionCall``). What a function declares goes before what keys
usually mean: a parameter may be called ``name`` or ``input``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from lic_pipeline.records import Json
from lic_pipeline.tasks.actions.match_calls import Functions, declared_name, parameters_of
from lic_pipeline.tasks.actions.python_calls import MAX_CHARS, Call, CallSyntaxError, python_data, too_deep

_STRING = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
_SUPERFLUOUS = re.compile(rf"{_STRING}|//[^\n]*|/\*.*?\*/|,(?=\s*[}}\]])", re.DOTALL)
_BARE_KEY = re.compile(rf"{_STRING}|(?<=[{{,])(\s*)([A-Za-z_]\w*)(?=\s*:)", re.DOTALL)
_NAME_KEYS = (
    "name",
    "functionname",
    "funcname",
    "func",
    "fn",
    "toolname",
    "recipientname",
    "recipient",
    "tool",
    "function",
    "apiname",
    "action",
)
_INNER_KEYS = ("function", "functioncall", "toolcall", "tooluse")
_LIST_KEYS = ("toolcalls", "calls", "tooluses", "functioncalls")
_MESSAGE_KEYS = ("parts", "content", "candidates", "choices", "message", "output")
_ARGUMENT_KEYS = (
    "arguments",
    "parameters",
    "args",
    "kwargs",
    "params",
    "input",
    "actioninput",
    "toolinput",
    "toolargs",
    "paramsdict",
)
_BESIDE = frozenset({*_NAME_KEYS, "id", "type", "index", "callid", "toolcallid", "tooluseid"})
_NONE: Functions = {}


def parse_json(text: str, known: Functions = _NONE) -> list[Call]:
    """Calls as JSON, in the usual shapes of tool calls. Raises CallSyntaxError.

    Comments, trailing commas and bare keys pass, and so do Python's quotes and constants.
    """
    if len(text) > MAX_CHARS:
        raise CallSyntaxError("too long or nested too deeply")
    return calls_from_data(_data(text), known)


def _data(text: str) -> Json:
    """The value of a text in JSON or nearly so. Raises CallSyntaxError, at the place that its best reader came to."""
    if too_deep(text):
        raise CallSyntaxError("too long or nested too deeply")
    blanked = _SUPERFLUOUS.sub(_blanked, text)
    far, why = 0, "no JSON"
    for candidate in (text, blanked, _BARE_KEY.sub(_quoted, blanked)):
        for read in (json.loads, python_data) if candidate is not text else (json.loads,):
            try:
                data: Json = read(candidate)
            except CallSyntaxError as error:
                place, reason = error.offset or 0, str(error)
            except (ValueError, RecursionError) as error:
                place, reason = getattr(error, "pos", 0), f"no JSON: {getattr(error, 'msg', 'nested too deeply')}"
            else:
                return data
            # Where keys were put in quotes, places are those of another text.
            if place > far and len(candidate) == len(text):
                far, why = place, reason
    raise CallSyntaxError(why, far)


def _blanked(match: re.Match[str]) -> str:
    """A string as it stands; a comment, or a comma behind which nothing follows, as blanks of its length."""
    return match.group() if match.group()[0] in "\"'" else " " * len(match.group())


def _quoted(match: re.Match[str]) -> str:
    return match.group() if match[2] is None else f'{match[1]}"{match[2]}"'


def calls_from_data(data: Json, known: Functions = _NONE) -> list[Call]:
    """Calls from decoded JSON: objects with name and arguments, or ``{function: {argument: value}}``."""
    calls = [call for element in _elements(data, known) for call in _object_calls(element, known)]
    if not calls and data != []:
        raise CallSyntaxError("there is no call object")
    return calls


def _elements(data: Json, known: Functions) -> Iterator[Json]:
    """The call objects of a list, a message or a response, without the parts that are text."""
    if isinstance(data, list):
        for one in data:
            if isinstance(one, list):
                raise CallSyntaxError("a list stands inside of the list of calls")
            if not _is_text(one, known):
                yield from _elements(one, known)
        return
    if isinstance(data, dict) and not (known and any(declared_name(str(key), known) for key in data)):
        plain = _plain(data)
        for key in (*_LIST_KEYS, *(() if _named(plain, known) else _MESSAGE_KEYS)):
            if isinstance(plain.get(key), list) or (key in _MESSAGE_KEYS and isinstance(plain.get(key), dict)):
                yield from _elements(plain[key], known)
                return
    yield data


def _is_text(element: Json, known: Functions) -> bool:
    """True for the part of a message that is text: it names no function."""
    if not isinstance(element, dict) or not isinstance(element.get("text"), str):
        return False
    plain = _plain(element)
    return _named(plain, known) is None and not any(isinstance(plain.get(key), dict) for key in _INNER_KEYS)


def _plain(element: Mapping[str, Json]) -> dict[str, Json]:
    """The object with its keys in one spelling."""
    return {str(key).replace("_", "").lower(): value for key, value in element.items()}


def _named(plain: Mapping[str, Json], known: Functions) -> str | None:
    """The key that names the called function: one that names a declared function, else the first there is."""
    keys = [key for key in _NAME_KEYS if isinstance(plain.get(key), str)]
    return next((key for key in keys if declared_name(plain[key].strip(), known)), keys[0] if keys else None)


def _object_calls(element: Json, known: Functions) -> list[Call]:
    if not isinstance(element, dict) or not element:
        raise CallSyntaxError("an element of the list is no call object")
    if not (known and all(declared_name(str(key), known) for key in element)):
        plain = _plain(element)
        inner = next((plain[key] for key in _INNER_KEYS if isinstance(plain.get(key), dict)), None)
        if inner is not None:
            return _object_calls(inner, known)
        key = _named(plain, known)
        if key is not None:
            return [_call(element, plain, key, known)]
    if all(isinstance(value, dict) for value in element.values()):
        return [Call(str(name), dict(value)) for name, value in element.items()]
    if all(
        isinstance(value, list) and value and all(isinstance(one, dict) for one in value) for value in element.values()
    ):
        return [Call(str(name), dict(one)) for name, value in element.items() for one in value]
    raise CallSyntaxError("a call object has no name")


def _call(element: Mapping[str, Json], plain: Mapping[str, Json], named: str, known: Functions) -> Call:
    name = plain[named].strip()
    declared = parameters_of(name, known)
    for key in _ARGUMENT_KEYS:
        if key in plain and (key not in declared or isinstance(plain[key], dict)):
            return Call(name, arguments_from(plain[key]))
    beside = {named} | {key for key in _BESIDE if key not in declared}
    return Call(name, {key: value for key, value in element.items() if key.replace("_", "").lower() not in beside})


def arguments_from(value: Json) -> dict[str, Json]:
    """Named arguments from an object, or from the text of one. Raises CallSyntaxError."""
    if isinstance(value, str):
        value = _data(value) if value.strip() else {}
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise CallSyntaxError("the arguments of a call are no JSON object")
    return value
