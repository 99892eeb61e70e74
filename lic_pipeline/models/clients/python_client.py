"""``python:module.function``: a system under test of the user's own, called in this process.

The function is async and takes the messages (dicts with role and content), and ``parameters=`` if it has such an
argument. It returns a string, a chat message, a chat completion document, or a Reply. It may raise the classes of
``lic_pipeline.models.errors``; timeouts and connection errors are tried again, anything else is permanent.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from typing import Any

from lic_pipeline.errors import ConfigError
from lic_pipeline.models.clients.chat import wire_messages
from lic_pipeline.models.clients.error_classes import connection_error, describe
from lic_pipeline.models.clients.replies import reply_of
from lic_pipeline.models.errors import CallError, PermanentError
from lic_pipeline.models.prices import price_of
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.models.request import ModelRequest
from lic_pipeline.records import Reply


class PythonClient:
    """One function. ``aclose`` of its module, if there is one, is awaited at the end."""

    def __init__(self, entry: ModelEntry) -> None:
        self._entry = entry
        self._price = price_of(entry)
        self._function, self._module = load_function(entry)
        parameters = inspect.signature(self._function).parameters.values()
        self._takes_parameters = any(p.name == "parameters" or p.kind is p.VAR_KEYWORD for p in parameters)

    async def complete(self, request: ModelRequest) -> Reply:
        """One call of the function."""
        messages = wire_messages(request.messages, self._entry.chat)
        extra = {"parameters": dict(request.parameters)} if self._takes_parameters else {}
        try:
            result = await self._function(messages, **extra)
        except CallError:
            raise
        except (OSError, TimeoutError) as error:
            raise connection_error(error) from error
        except Exception as error:
            raise PermanentError(describe(f"{self._entry.id} raised {type(error).__name__}: {error}")) from error
        reply = self._reply(result)
        if reply.cost_usd is None and self._price is not None:
            return reply.model_copy(update={"cost_usd": self._price.cost(reply.usage)})
        return reply

    async def close(self) -> None:
        """Let the module close what it holds."""
        closing = getattr(self._module, "aclose", None)
        if closing is not None and inspect.iscoroutinefunction(closing):
            await closing()

    def _reply(self, result: object) -> Reply:
        if isinstance(result, Reply):
            return result
        if isinstance(result, str):
            result = {"content": result}
        if not isinstance(result, Mapping):
            raise PermanentError(
                f"{self._entry.id} returned {type(result).__name__}; return a string, a chat message, a chat "
                "completion document or a Reply"
            )
        document = dict(result)
        if "choices" not in document:
            choice = {"message": document, "finish_reason": document.get("finish_reason") or "stop"}
            document = {"choices": [choice], "usage": document.get("usage"), "model": document.get("model")}
        reply = reply_of(document)
        cost = result.get("cost_usd")
        if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0:
            return reply.model_copy(update={"cost_usd": float(cost)})
        return reply


def load_function(entry: ModelEntry) -> tuple[Any, Any]:
    """The function of an entry and its module. Raises ConfigError naming what is missing."""
    path = entry.id.removeprefix("python:")
    module_name, _, name = path.rpartition(".")
    if not module_name or not name:
        raise ConfigError(f"{entry.alias}: write python:module.function, not {entry.id!r}")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ConfigError(
            f"{entry.alias}: module {module_name} cannot be imported ({error}); set PYTHONPATH"
        ) from error
    function = getattr(module, name, None)
    if not callable(function):
        raise ConfigError(f"{entry.alias}: module {module_name} has no function {name}")
    called = function if inspect.isfunction(function) or inspect.ismethod(function) else function.__call__
    if not inspect.iscoroutinefunction(called):
        raise ConfigError(f"{entry.alias}: {path} must be async (async def {name}(messages): ...)")
    return function, module
