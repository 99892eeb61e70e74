"""A chat completion document, however odd, as a Reply. Nothing here raises on any JSON object.

One paid response is one Reply: an answer without choices, without text or without usage is stored and flagged, not
asked for again. Errors that arrive with status 200 are told apart by ``error_in``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Literal

from lic_pipeline.models.clients.reasoning import TRUNCATED_REASONING, split_reasoning
from lic_pipeline.records import Reply, ToolCall, Usage

Finish = Literal["stop", "length", "content_filter", "tool_calls", "other"]

_FINISH: Mapping[str, Finish] = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "complete": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "content_filtered": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "refusal": "content_filter",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
}
_REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking", "reasoning_details")
_REASONING_PARTS = frozenset({"thinking", "reasoning", "redacted_thinking", "reasoning_text"})
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def error_in(document: object) -> Mapping[str, Any] | None:
    """The error object of a response that came with status 200, None when it is none."""
    if not isinstance(document, Mapping) or document.get("choices"):
        return None
    error = document.get("error")
    if isinstance(error, str) and error:
        return {"message": error}
    return error if isinstance(error, Mapping) and error else None


def reply_of(document: Mapping[str, Any]) -> Reply:
    """The reply a chat completion document holds; oddities become flags. Cost is left open."""
    choice = _first(document.get("choices"))
    flags: list[str] = [] if choice else ["no_choices"]
    message = choice.get("message") if choice else None
    if not isinstance(message, Mapping):
        message = {"content": choice.get("text")} if choice else {}
    text, thought_in_parts = _content(message.get("content"))
    refusal = message.get("refusal")
    if not text.strip() and isinstance(refusal, str) and refusal.strip():
        text = refusal
        flags.append("refusal_field")
    text, tagged, truncated = split_reasoning(text)
    if truncated:
        flags.append(TRUNCATED_REASONING)
    fields = [_content(message.get(name))[0] for name in _REASONING_FIELDS]
    reasoning = next((field for field in fields if field), "")
    parts = (reasoning, thought_in_parts, tagged)
    if _LONE_SURROGATE.search(text) or any(_LONE_SURROGATE.search(part) for part in parts):
        flags.append("invalid_unicode")
    usage = usage_of(document.get("usage"))
    if usage.prompt is None or usage.completion is None:
        flags.append("no_usage")
    return Reply(
        text=_storable(text),
        reasoning=_storable("\n\n".join(part for part in parts if part)),
        tool_calls=_tool_calls(message),
        finish_reason=_finish(choice.get("finish_reason") if choice else None),
        model_returned=_text(document.get("model")),
        usage=usage,
        flags=tuple(flags),
    )


def usage_of(usage: object) -> Usage:
    """Token counts by kind; what is absent, null, negative or no number is None."""
    if not isinstance(usage, Mapping):
        return Usage()
    prompt_details = _mapping(usage.get("prompt_tokens_details") or usage.get("input_tokens_details"))
    completion_details = _mapping(usage.get("completion_tokens_details") or usage.get("output_tokens_details"))
    return Usage(
        prompt=_count(usage, "prompt_tokens", "input_tokens"),
        completion=_count(usage, "completion_tokens", "output_tokens"),
        reasoning=_first_count(_count(completion_details, "reasoning_tokens"), _count(usage, "reasoning_tokens")),
        cached=_first_count(
            _count(prompt_details, "cached_tokens"), _count(usage, "prompt_cache_hit_tokens", "cache_read_input_tokens")
        ),
    )


def _first(choices: object) -> Mapping[str, Any]:
    listed = choices if isinstance(choices, list) else []
    return next((choice for choice in listed if isinstance(choice, Mapping)), {})


def _content(content: object) -> tuple[str, str]:
    """Text and reasoning of a content field: null, a string, or a list of parts."""
    if isinstance(content, str):
        return content, ""
    if isinstance(content, Mapping):
        content = [content]
    if not isinstance(content, list):
        return "", ""
    texts: list[str] = []
    thoughts: list[str] = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping):
            target = thoughts if part.get("type") in _REASONING_PARTS else texts
            value = next(
                (part[name] for name in ("text", "thinking", "content", "refusal", "summary") if part.get(name)), ""
            )
            target.append(value if isinstance(value, str) else _content(value)[0])
    return "".join(texts), "\n\n".join(thought for thought in thoughts if thought)


def _tool_calls(message: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    listed = message.get("tool_calls")
    functions = [_mapping(call).get("function", call) for call in listed] if isinstance(listed, list) else []
    if not functions and message.get("function_call"):
        functions = [message["function_call"]]
    calls = []
    for function in functions:
        if not isinstance(function, Mapping):
            continue
        arguments = function.get("arguments", function.get("input"))
        encoded = arguments if isinstance(arguments, str) else "{}" if arguments is None else json.dumps(arguments)
        calls.append(ToolCall(name=_text(function.get("name")), arguments=_storable(encoded)))
    return tuple(calls)


def _finish(reason: object) -> Finish:
    return _FINISH.get(reason.lower(), "other") if isinstance(reason, str) else "other"


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _count(usage: Mapping[str, Any], *names: str) -> int | None:
    for name in names:
        value = usage.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15:
            return int(value)
    return None


def _first_count(*counts: int | None) -> int | None:
    return next((count for count in counts if count is not None), None)


def _text(value: object) -> str:
    return _storable(value) if isinstance(value, str) else ""


def _storable(text: str) -> str:
    """Text that every store takes: a lone surrogate (half an emoji, cut by a token limit) becomes U+FFFD."""
    return _LONE_SURROGATE.sub("\ufffd", text)
