"""A system under test: an agent that keeps notes of what the user said and asks its bare model with them.

Each turn it reads the whole history it is sent, notes every user message, and asks the bare model one question: all
notes, then the latest message. What the model answered before is left out, so that an early guess cannot lead it on.
The notes are made anew from the history each time. That matters: a conversation may be stopped and taken up by another
process, and an agent that remembered anything beside its messages would then be another one.

``python:memory_agent.agent.reply`` is its name in the registry; ``python -m memory_agent.serve`` puts it behind HTTP.
MEMORY_AGENT_BASE_URL and MEMORY_AGENT_MODEL say which bare model it asks, MEMORY_AGENT_KEY with which key (if any).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp

from lic_pipeline.models.clients.error_classes import connection_error, error_for
from lic_pipeline.models.redaction import register_secret

_session: aiohttp.ClientSession | None = None


async def reply(messages: Sequence[Mapping[str, str]], parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The bare model's chat completion to the notes. Raises CallError: retried, or not, by what went wrong."""
    body = {"model": os.environ["MEMORY_AGENT_MODEL"], "messages": with_notes(messages), **(parameters or {})}
    key = os.environ.get("MEMORY_AGENT_KEY", "")
    if key:
        register_secret(key)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    url = os.environ["MEMORY_AGENT_BASE_URL"].rstrip("/") + "/chat/completions"
    try:
        async with _http().post(url, json=body, headers=headers) as response:
            text = await response.text()
    except (aiohttp.ClientError, OSError) as error:
        raise connection_error(error, key) from error
    if response.status != 200:
        raise error_for(response.status, response.headers, _decoded(text), key)
    # Usage comes along, so what the agent spends is counted as the model's own spending would be.
    return dict(json.loads(text))


def with_notes(messages: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """The one request that stands for a history: its system prompt, then all the user said, the latest last."""
    system = [dict(message) for message in messages if message["role"] in ("system", "developer")]
    said = [message["content"] for message in messages if message["role"] == "user"]
    if len(said) < 2:
        return [*system, {"role": "user", "content": "".join(said)}]
    notes = "\n\n".join(f"({number}) {text}" for number, text in enumerate(said[:-1], start=1))
    content = f"This is what I have told you so far:\n\n{notes}\n\nAnd this is my latest message:\n\n{said[-1]}"
    return [*system, {"role": "user", "content": content}]


async def aclose() -> None:
    """Close the connections; called at the end of each run, the next call opens new ones."""
    global _session
    session, _session = _session, None
    if session is not None:
        await session.close()


def _http() -> aiohttp.ClientSession:
    global _session
    if _session is None:
        _session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=300))
    return _session


def _decoded(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text
