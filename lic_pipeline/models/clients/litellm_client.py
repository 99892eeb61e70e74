"""Every provider that is not OpenAI-compatible, through ``litellm``, imported on first use and kept off the network."""

from __future__ import annotations

import logging
import os
from types import ModuleType
from typing import Any

from lic_pipeline.errors import ConfigError
from lic_pipeline.models.clients.chat import wire_messages
from lic_pipeline.models.clients.error_classes import (
    connection_error,
    describe,
    error_for,
    error_in_ok_response,
    unreadable,
)
from lic_pipeline.models.clients.replies import error_in, reply_of
from lic_pipeline.models.errors import AccessError, CallError
from lic_pipeline.models.keys import find_key
from lic_pipeline.models.prices import price_of
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.models.request import ModelRequest
from lic_pipeline.records import Reply


def quiet_litellm() -> ModuleType:
    """litellm, imported without a network call, without telemetry and with its log kept to warnings."""
    # Read at import: else the price table is looked up on a public host.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ.setdefault("LITELLM_LOG", "ERROR")
    import litellm

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.turn_off_message_logging = True
    litellm.drop_params = False
    litellm.num_retries = 0
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.ERROR)
    return litellm


class LiteLLMClient:
    """One entry through ``litellm.acompletion``, one HTTP attempt per call."""

    def __init__(self, entry: ModelEntry, connections: int) -> None:
        self._entry = entry
        self._secret = find_key(entry)
        self._price = price_of(entry)
        self._litellm: Any = quiet_litellm()
        try:
            self._litellm.get_llm_provider(entry.id)
        except Exception as error:
            raise ConfigError(
                f"{entry.alias}: litellm knows no provider {entry.provider!r}; for an OpenAI-compatible endpoint "
                "give the entry a base_url"
            ) from error

    async def complete(self, request: ModelRequest) -> Reply:
        """One attempt. Raises classes of ``models.errors``."""
        try:
            response = await self._litellm.acompletion(
                model=self._entry.id,
                messages=wire_messages(request.messages, self._entry.chat),
                api_key=self._secret,
                timeout=self._entry.patience.attempt_s,
                max_retries=0,
                **request.parameters,
            )
        except CallError:
            raise
        except Exception as error:
            raise self._translated(error) from None
        document = response.model_dump() if hasattr(response, "model_dump") else response
        if not isinstance(document, dict):
            raise unreadable(200, str(document), self._secret)
        error_object = error_in(document)
        if error_object is not None:
            raise error_in_ok_response(error_object, self._secret)
        reply = reply_of(document)
        cost = None if self._price is None else self._price.cost(reply.usage)
        return reply if cost is None else reply.model_copy(update={"cost_usd": cost})

    async def close(self) -> None:
        """Close the connections litellm keeps for this loop."""
        from litellm.llms.custom_httpx import async_client_cleanup

        closing: Any = async_client_cleanup
        await closing.close_litellm_async_clients()

    def _translated(self, error: Exception) -> CallError:
        """litellm's classes carry ``status_code``; some of its statuses are made up (a refused connection is a 500)."""
        named = type(error).__name__
        if named == "UnsupportedParamsError":
            return AccessError(
                describe(f"{error}; name only parameters this model takes in its registry entry", self._secret)
            )
        if named == "ContextWindowExceededError":
            return error_for(
                400, {}, {"error": {"message": str(error), "code": "context_length_exceeded"}}, self._secret
            )
        if named == "ContentPolicyViolationError":
            return error_for(400, {}, {"error": {"message": str(error), "code": "content_filter"}}, self._secret)
        status = getattr(error, "status_code", None)
        if named in ("Timeout", "APIConnectionError") or not isinstance(status, int):
            return connection_error(error, self._secret)
        return error_for(status, _headers(error), {"error": {"message": str(error)}}, self._secret)


def _headers(error: Exception) -> dict[str, str]:
    found: dict[str, str] = {}
    for holder in (getattr(error, "response", None), error):
        for name in ("headers", "litellm_response_headers"):
            headers = getattr(holder, name, None)
            if headers is not None and hasattr(headers, "items"):
                found.update({str(key).lower(): str(value) for key, value in headers.items()})
    return found
