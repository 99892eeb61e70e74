"""One input line of ``lic score`` as data: its id and its reply. Whatever the task asks for is read by the task.

A line is a UTF-8 JSON object. Errors are RecordErrors that name the field; they never stop the stream.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from lic_pipeline.errors import RecordError, plain_words
from lic_pipeline.records import Json, Reply, ToolCall

_BOM = b"\xef\xbb\xbf"
_TEXT_PARTS = frozenset({"text", "output_text"})


@dataclass(frozen=True, slots=True)
class Line:
    """A parsed line: ``item_id`` as given, or the line number; ``fields`` the whole object."""

    number: int
    item_id: str | int | float
    fields: Mapping[str, Json]


def parse_object(raw: bytes) -> Mapping[str, Json]:
    """The JSON object of one line. Raises RecordError for bad UTF-8, bad JSON, NaN, or anything but an object."""
    try:
        value = _DECODER.decode(raw.removeprefix(_BOM).decode("utf-8"))
    except UnicodeDecodeError as error:
        raise RecordError(f"is not valid UTF-8 (byte {error.start + 1})") from error
    except json.JSONDecodeError as error:
        raise RecordError(f"is not valid JSON ({error.msg} at column {error.colno})") from error
    except RecursionError as error:
        raise RecordError("is nested too deeply") from error
    except ValueError as error:
        raise RecordError(f"cannot be read: {plain_words(error)}") from error
    if not isinstance(value, dict):
        raise RecordError("is no JSON object")
    return value


def _refuse_constant(name: str) -> Json:
    raise RecordError(f"holds {name}, which is not valid JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def item_id(fields: Mapping[str, Json], number: int) -> str | int | float:
    """``id`` as given, else the line number. Raises RecordError when it is neither string nor number."""
    value = fields.get("id")
    if value is None:
        return number
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise RecordError("must be a string or a number", field="id")
    if isinstance(value, float) and not math.isfinite(value):
        raise RecordError("is a number too large to keep", field="id")
    return value


def given_answer(fields: Mapping[str, Json]) -> str | None:
    """``answer``, an already extracted answer; None when absent or null. Raises RecordError for another type."""
    value = fields.get("answer")
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise RecordError("must be a string", field="answer")
    return valid_text(str(value))


def read_reply(fields: Mapping[str, Json]) -> Reply | None:
    """``response`` as a reply: a string or a chat message object; None when null or absent (nothing was received).

    Raises RecordError for another type, or a message whose content or tool calls have no known shape.
    """
    value = fields.get("response")
    if value is None:
        return None
    if isinstance(value, str):
        return Reply(text=valid_text(value))
    if not isinstance(value, Mapping):
        raise RecordError("must be a string or a chat message object", field="response")
    if "content" not in value and "tool_calls" not in value and "refusal" not in value:
        raise RecordError("has neither content nor tool_calls", field="response")
    text = _content(value.get("content"))
    refusal = value.get("refusal")
    if not text and isinstance(refusal, str):
        text = refusal
    return Reply(text=valid_text(text), tool_calls=_tool_calls(value.get("tool_calls")))


def misnamed_reply(fields: Mapping[str, Json]) -> str | None:
    """The field that seems to hold the reply of a line without ``response``; None when there is none."""
    return next((name for name, value in fields.items() if _plain_name(name) in _REPLY_NAMES and value), None)


def _plain_name(name: str) -> str:
    return re.sub(r"[-_ ]", "", name).lower()


_REPLY_NAMES = frozenset(
    _plain_name(name)
    for name in (
        "response", "responses", "model_response", "assistant_response", "llm_response", "completion", "completions",
        "model_completion", "output", "outputs", "model_output", "output_text", "text", "prediction", "predictions",
        "predicted", "pred", "generation", "generations", "generated", "generated_text", "reply", "model_reply",
        "content", "message", "choices", "hypothesis", "model_answer", "resps",
    )
)  # fmt: skip
"""What other tools call a reply, and ours spelt otherwise."""


def _content(content: Json) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise RecordError("must be a string, a list of parts or null", field="response.content")
    texts = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif not isinstance(part, Mapping):
            raise RecordError("has a part that is neither string nor object", field="response.content")
        elif part.get("type", "text") in _TEXT_PARTS:
            if not isinstance(part.get("text"), str):
                raise RecordError("has a text part without text", field="response.content")
            texts.append(part["text"])
    return "".join(texts)


def _tool_calls(calls: Json) -> tuple[ToolCall, ...]:
    if calls is None:
        return ()
    if not isinstance(calls, list):
        raise RecordError("must be a list", field="response.tool_calls")
    return tuple(_tool_call(call) for call in calls)


def _tool_call(call: Json) -> ToolCall:
    function = call.get("function", call) if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise RecordError("has a call without a function name", field="response.tool_calls")
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        arguments = json.dumps({} if arguments is None else arguments)
    return ToolCall(name=valid_text(function["name"]), arguments=valid_text(arguments))


def valid_text(text: str) -> str:
    """The text with lone surrogates (JSON can carry them, UTF-8 cannot) replaced by U+FFFD."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
