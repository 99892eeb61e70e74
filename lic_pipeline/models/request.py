"""What is sent to a model, hashed part by part so that drift can name the first field that differs.

The history is hashed as a chain (each message onto the hash so far): a conversation of n turns costs n hashes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lic_pipeline.records import Json, Message

REQUEST_FIELDS = ("model", "parameters", "system_prompt", "history", "message")


def canonical_json(value: Json) -> str:
    """JSON text that is the same for equal values: sorted keys, no spaces, ASCII only. Refuses NaN."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(text: str) -> str:
    """32 hex digits of BLAKE2b of a text (lone surrogates allowed)."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One chat completion request: model id, parameters as really sent, messages in order."""

    model: str
    messages: tuple[Message, ...]
    parameters: Mapping[str, Json] = field(default_factory=dict)


class HistoryHash:
    """The running hash of a growing list of messages."""

    __slots__ = ("_value",)

    def __init__(self) -> None:
        self._value = digest("")

    @property
    def value(self) -> str:
        """Hash of all messages so far."""
        return self._value

    def add(self, message: Message) -> None:
        """Chain one message onto the hash."""
        self._value = digest(f"{self._value}\x1f{message.role}\x1f{message.content}")


def request_fields(request: ModelRequest, history: str | None = None) -> dict[str, str]:
    """Hash of each part of a request; ``history`` may be given when a HistoryHash already holds it."""
    first = 1 if request.messages and request.messages[0].role in ("system", "developer") else 0
    if history is None:
        history = history_of(request.messages[first:-1])
    return {
        "model": request.model,
        "parameters": digest(canonical_json(dict(request.parameters))),
        "system_prompt": digest(request.messages[0].content) if first else "",
        "history": history,
        "message": digest(request.messages[-1].content),
    }


def history_of(messages: Sequence[Message]) -> str:
    """Chained hash of messages."""
    running = HistoryHash()
    for message in messages:
        running.add(message)
    return running.value


def request_hash(fields: Mapping[str, str]) -> str:
    """One hash over all parts."""
    return digest("\x1f".join(fields[name] for name in REQUEST_FIELDS))
