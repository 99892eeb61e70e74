"""What the fault server says: answers, well-formed and odd completions, errors of a provider. Not a test module.

Answers are a function of the request alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from typing import Any

Answer = Callable[[Mapping[str, Any]], str]
HTML = "<html><head><title>Bad gateway</title></head><body><h1>502</h1><p>nginx</p></body></html>"
ERRORS: dict[str, tuple[int, dict[str, Any]]] = {
    "400": (400, {"message": "Invalid value for 'top_p'", "type": "invalid_request_error", "code": None}),
    "400_context": (
        400,
        {"message": "This model's maximum context length is 128 tokens.", "code": "context_length_exceeded"},
    ),
    "500_context": (500, {"message": "the request exceeds the available context size", "code": 500}),
    "400_filter": (400, {"message": "The prompt was filtered", "code": "content_filter"}),
    "401": (401, {"message": "Incorrect API key provided", "code": "invalid_api_key"}),
    "403": (403, {"message": "Not allowed"}),
    "404": (404, {"message": "The model does not exist", "code": "model_not_found"}),
    "429_quota": (429, {"message": "You exceeded your current quota", "code": "insufficient_quota"}),
}


def hashed_answer(body: Mapping[str, Any]) -> str:
    """A reply from the hash of the messages: a number of the conversation, or a question, or prose."""
    text = "\n".join(str(message.get("content")) for message in body.get("messages", []))
    draw = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")
    numbers = re.findall(r"\d+", text) or ["7"]
    kinds = (
        f"Let me think it over.\n\nThe answer is {numbers[draw % len(numbers)]}.",
        "What exactly do you need?",
        "Noted.",
    )
    return kinds[0] if draw % 5 < 3 else kinds[1 + draw % 2]


def completion(text: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """A well-formed chat completion."""
    words = sum(len(str(message.get("content")).split()) for message in body.get("messages", []))
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": str(body.get("model")),
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": words, "completion_tokens": len(text.split()), "total_tokens": words},
    }


def make_odd(kind: str, text: str, document: dict[str, Any]) -> bool:
    """Turn a good document into an odd but answered one; False when ``kind`` is no oddity."""
    choice = document["choices"][0]
    message = choice["message"]
    if kind == "empty_choices":
        document["choices"] = []
    elif kind == "null_choices":
        document["choices"] = None
    elif kind == "null_message":
        choice["message"] = None
    elif kind == "null_content":
        message["content"] = None
    elif kind == "parts":
        message["content"] = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]
    elif kind == "tool_calls":
        message["content"] = None
        message["tool_calls"] = [
            {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}},
            {"id": "2", "type": "function", "function": {"name": "sub", "arguments": {"b": 2}}},
        ]
        choice["finish_reason"] = "tool_calls"
    elif kind == "no_usage":
        del document["usage"]
    elif kind == "null_details":
        document["usage"] |= {"prompt_tokens_details": None, "completion_tokens_details": None}
    elif kind == "details":
        document["usage"] |= {
            "prompt_tokens_details": {"cached_tokens": 2},
            "completion_tokens_details": {"reasoning_tokens": 3},
        }
    elif kind in ("length", "content_filter"):
        choice["finish_reason"] = kind
    elif kind == "null_finish":
        choice["finish_reason"] = None
    elif kind == "think":
        message["content"] = f"<think>secret plan 999</think>\n{text}"
    elif kind == "think_open":
        message["content"] = f"<think>secret plan 999 {text}"
    elif kind == "reasoning_field":
        message["reasoning_content"] = "secret plan 999"
    elif kind == "surrogate":
        message["content"] = f"{text} \ud83d"
    elif kind == "refusal_field":
        message |= {"content": None, "refusal": "I cannot help with that."}
    else:
        return False
    return True
