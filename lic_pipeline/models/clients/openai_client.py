"""OpenAI and every OpenAI-compatible endpoint, through the ``openai`` package on its aiohttp transport.

The response is read as plain JSON instead of the package's models: endpoints that are only nearly compatible send
documents those models do not expect, and building them costs more than the call.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from functools import cache
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
from lic_pipeline.models.errors import CallError, PermanentError
from lic_pipeline.models.keys import find_key
from lic_pipeline.models.prices import price_of
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.models.request import ModelRequest
from lic_pipeline.records import Json, Reply

OFFICIAL = "https://api.openai.com/v1"
_ABOUT_THIS_MACHINE = ("Lang", "Package-Version", "OS", "Arch", "Runtime", "Runtime-Version", "Async")
_ABOUT_THIS_CALL = ("Retry-Count", "Read-Timeout")
"""Headers of the package that describe machine and call to the provider: not its business, and a fifth of the cost."""

_NO_KEY = "none"
"""What an endpoint without a key is sent: the package refuses to send nothing."""


class OpenAIClient:
    """One entry behind an AsyncOpenAI of its own."""

    def __init__(self, entry: ModelEntry, connections: int) -> None:
        import httpx2
        from openai import AsyncOpenAI, DefaultAioHttpClient, Omit

        self._entry = entry
        self._secret = find_key(entry)
        self._model = entry.id.partition("/")[2]
        self._price = price_of(entry)
        base_url = entry.base_url or OFFICIAL
        if not base_url.startswith(("http://", "https://")):
            raise ConfigError(f"{entry.alias}: base_url {describe(base_url)!r} must start with http:// or https://")
        self._response_type = httpx2.Response
        # One attempt ends by the call path's own clock; these stop a dead socket without one. The pool is as large as
        # the limiter lets calls be in flight, so no call waits here unseen.
        timeout = httpx2.Timeout(entry.patience.attempt_s, connect=min(30.0, entry.patience.attempt_s))
        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=connections)
        unsaid: Any = {f"X-Stainless-{name}": Omit() for name in _ABOUT_THIS_MACHINE}
        self._client = AsyncOpenAI(
            api_key=self._secret or _NO_KEY,
            base_url=base_url,
            max_retries=0,
            timeout=timeout,
            default_headers=unsaid,
            http_client=DefaultAioHttpClient(timeout=timeout, limits=limits, verify=_certificates()),
        )

        base = self._client.base_url
        self._url = str(base.copy_with(raw_path=base.raw_path + b"chat/completions"))
        self._options: Any = {"headers": {f"X-Stainless-{name}": Omit() for name in _ABOUT_THIS_CALL}}

    async def complete(self, request: ModelRequest) -> Reply:
        """One POST to ``chat/completions``. Raises classes of ``models.errors``."""
        body: dict[str, Json] = {
            "model": self._model,
            "messages": wire_messages(request.messages, self._entry.chat),
            **request.parameters,
        }
        status, headers, content = await self._post(body)
        document = _decoded(content)
        if not 200 <= status < 300:
            text = content.decode("utf-8", "replace")
            raise error_for(status, headers, text if document is None else document, self._secret)
        if not isinstance(document, dict):
            raise unreadable(status, content.decode("utf-8", "replace"), self._secret)
        error = error_in(document)
        if error is not None:
            raise error_in_ok_response(error, self._secret)
        reply = reply_of(document)
        cost = None if self._price is None else self._price.cost(reply.usage)
        return reply if cost is None else reply.model_copy(update={"cost_usd": cost})

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def _post(self, body: Mapping[str, Json]) -> tuple[int, Mapping[str, str], bytes]:
        import openai

        try:
            response: Any = await self._client.post(
                self._url, cast_to=self._response_type, body=body, options=self._options
            )
        except openai.APIStatusError as error:
            return error.response.status_code, error.response.headers, error.response.content
        except openai.APIConnectionError as error:
            raise connection_error(error, self._secret) from None
        except openai.OpenAIError as error:
            raise PermanentError(describe(f"{type(error).__name__}: {error}", self._secret)) from None
        except CallError:
            raise
        except (UnicodeError, ValueError, TypeError) as error:
            raise PermanentError(describe(f"the request cannot be sent: {error}", self._secret)) from None
        return response.status_code, response.headers, response.content


@cache
def _certificates() -> ssl.SSLContext:
    """The trusted certificates; reading them costs more than opening a client."""
    import httpx2

    context: ssl.SSLContext = httpx2.create_ssl_context()
    return context


def _decoded(content: bytes) -> object:
    """The JSON of a body, None when it is none."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
