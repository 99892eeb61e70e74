"""Messages as one model wants them: where the system prompt goes, whether roles must alternate.

The shape is part of a conversation's identity (``chat`` of the registry entry), so a stored request names what is sent.
"""

from __future__ import annotations

from collections.abc import Sequence

from lic_pipeline.models.registry import ChatStyle
from lic_pipeline.records import Message

EMPTY = "(empty)"
"""Stands for an empty message where roles must alternate: such APIs refuse empty content."""

WireMessage = dict[str, str]


def wire_messages(messages: Sequence[Message], style: ChatStyle) -> list[WireMessage]:
    """Role and content of each message to send, in order.

    ``merge`` puts the system prompt before the first user message; ``strict`` joins neighbours of one role by a blank
    line and starts with a user message.
    """
    shaped = _place_system(messages, style)
    return _alternating(shaped) if style.alternate == "strict" else shaped


def _place_system(messages: Sequence[Message], style: ChatStyle) -> list[WireMessage]:
    if style.system != "merge":
        renamed = {"system": style.system, "developer": style.system}
        return [{"role": renamed.get(m.role, m.role), "content": m.content} for m in messages]
    system = "\n\n".join(m.content for m in messages if m.role in ("system", "developer") and m.content)
    rest = [{"role": str(m.role), "content": m.content} for m in messages if m.role not in ("system", "developer")]
    if not system:
        return rest
    if not rest or rest[0]["role"] != "user":
        return [{"role": "user", "content": system}, *rest]
    rest[0]["content"] = f"{system}\n\n{rest[0]['content']}"
    return rest


def _alternating(messages: Sequence[WireMessage]) -> list[WireMessage]:
    merged: list[WireMessage] = []
    for message in messages:
        content = message["content"] or EMPTY
        if merged and merged[-1]["role"] == message["role"]:
            merged[-1]["content"] += f"\n\n{content}"
        else:
            merged.append({"role": message["role"], "content": content})
    first = next((i for i, m in enumerate(merged) if m["role"] not in ("system", "developer")), None)
    if first is not None and merged[first]["role"] == "assistant":
        merged.insert(first, {"role": "user", "content": EMPTY})
    return merged
