"""A reply as the text the conversation goes on with: in the assistant's own history, and for the roles that read it."""

from __future__ import annotations

import json

from lic_pipeline.records import Json, Reply, ToolCall


def reply_text(reply: Reply) -> str:
    """The reply's text, then each structured call as one line of JSON ``{"name": ..., "arguments": ...}``.

    No request offers tools, so a provider's own form cannot go back to it: ``tool_calls`` in the history ask for a
    ``tool`` message each, which would be a result nobody computed. As text every endpoint takes them, and the
    assistant still sees what it has answered.
    """
    if not reply.tool_calls:
        return reply.text
    parts = [reply.text.strip(), *(_line(call) for call in reply.tool_calls)]
    return "\n".join(part for part in parts if part)


def _line(call: ToolCall) -> str:
    arguments: Json = call.arguments
    try:
        arguments = json.loads(call.arguments)
        return json.dumps({"name": call.name, "arguments": arguments}, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError):
        return json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)
