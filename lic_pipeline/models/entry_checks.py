"""Whether a registry entry could be called: key, library, price, and on request one real call. No output here."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import time
from dataclasses import dataclass

from lic_pipeline.errors import ConfigError
from lic_pipeline.models.clients import open_client
from lic_pipeline.models.errors import CallError
from lic_pipeline.models.keys import key_variable
from lic_pipeline.models.prices import price_of
from lic_pipeline.models.redaction import redact_message
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.models.request import ModelRequest
from lic_pipeline.records import Json, Message

PING = "Answer with the one word: ok"
_PING_TOKENS = 16
_PING_TOKENS_REASONING = 1024


@dataclass(frozen=True, slots=True)
class Check:
    """Findings on one entry; ``problem`` says what to do, None = ready. Ping fields are None where nothing was sent."""

    alias: str
    model_id: str
    client: str
    key: str
    priced: bool
    context_window: int | None
    problem: str | None
    answered: bool | None = None
    model_returned: str | None = None
    latency_s: float | None = None
    cost_usd: float | None = None


def client_kind(entry: ModelEntry) -> str:
    """Which client speaks for an entry: sim, openai, litellm or python."""
    if entry.is_persona:
        return "sim"
    if entry.provider == "python":
        return "python"
    return "openai" if entry.provider == "openai" or entry.base_url else "litellm"


def check(entry: ModelEntry) -> Check:
    """What can be said without a call. Opens nothing, imports no client library."""
    kind = client_kind(entry)
    variable = key_variable(entry)
    present = variable is not None and bool(os.environ.get(variable, "").strip())
    problem = None
    if variable is not None and not present:
        problem = f"set {variable} in the environment or in .env"
    elif kind in ("openai", "litellm") and importlib.util.find_spec(kind) is None:
        problem = f"the package {kind} is not installed; install lic-pipeline with its dependencies"
    elif kind == "python":
        problem = _python_problem(entry)
    key = "none needed" if variable is None else f"{variable} {'set' if present else 'missing'}"
    return Check(entry.alias, entry.id, kind, key, price_of(entry) is not None, entry.context_window, problem)


def ping(entry: ModelEntry) -> Check:
    """As ``check``, and one small paid call if nothing stands in its way. Raises nothing a provider does wrong."""
    found = check(entry)
    if found.problem is not None or entry.is_persona:
        return found
    return asyncio.run(_ping(entry, found))


async def _ping(entry: ModelEntry, found: Check) -> Check:
    tokens = _PING_TOKENS_REASONING if entry.reasoning else _PING_TOKENS
    parameters: dict[str, Json] = {entry.output_limit: tokens, **entry.parameters}
    request = ModelRequest(entry.id, (Message(role="user", content=PING),), parameters)
    started = time.monotonic()
    try:
        client = await open_client(entry, 1)
        try:
            async with asyncio.timeout(entry.patience.attempt_s):
                reply = await client.complete(request)
        finally:
            await client.close()
    except TimeoutError:
        return _with(found, problem=f"no reply within {entry.patience.attempt_s:g} s", answered=False)
    except (CallError, ConfigError) as error:
        return _with(found, problem=redact_message(str(error)), answered=False)
    return _with(
        found,
        answered=True,
        model_returned=reply.model_returned,
        latency_s=round(time.monotonic() - started, 3),
        cost_usd=reply.cost_usd,
    )


def _with(found: Check, **changes: Json) -> Check:
    fields = {name: getattr(found, name) for name in Check.__slots__}
    return Check(**{**fields, **changes})


def _python_problem(entry: ModelEntry) -> str | None:
    from lic_pipeline.models.clients.python_client import load_function

    try:
        load_function(entry)
    except ConfigError as error:
        return str(error)
    return None
