"""Clients of real models, one shape for all: open one for a registry entry, ask, close. Retries live in ``calls``.

Client libraries are imported only when an entry that needs them is opened.
"""

from __future__ import annotations

from typing import Protocol

from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.models.request import ModelRequest
from lic_pipeline.records import Reply


class ModelClient(Protocol):
    """One model behind one connection pool; belongs to the event loop it was opened on."""

    async def complete(self, request: ModelRequest) -> Reply:
        """One HTTP attempt. Raises a class of ``lic_pipeline.models.errors``; a cancelled call closes its socket."""

    async def close(self) -> None:
        """Close all connections."""


async def open_client(entry: ModelEntry, connections: int) -> ModelClient:
    """The client of an entry with a pool of ``connections``. Raises ConfigError: no key, unknown module, persona."""
    if entry.provider == "python":
        from lic_pipeline.models.clients.python_client import PythonClient

        return PythonClient(entry)
    if entry.provider == "openai" or entry.base_url:
        from lic_pipeline.models.clients.openai_client import OpenAIClient

        return OpenAIClient(entry, connections)
    from lic_pipeline.models.clients.litellm_client import LiteLLMClient

    return LiteLLMClient(entry, connections)
