"""API keys: found in the environment only, known to the redactor before they are used, shown nowhere."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable

from lic_pipeline.errors import ConfigError
from lic_pipeline.models.redaction import register_secret
from lic_pipeline.models.registry import ModelEntry

_USUAL = {"cohere_chat": "COHERE_API_KEY", "together_ai": "TOGETHERAI_API_KEY", "fireworks_ai": "FIREWORKS_AI_API_KEY"}
_OTHER_CREDENTIALS = frozenset(
    {"bedrock", "vertex_ai", "sagemaker", "azure", "azure_ai", "watsonx", "oci", "ollama", "ollama_chat"}
)
"""Providers whose credentials are no single key; litellm finds them by itself."""


def key_variable(entry: ModelEntry) -> str | None:
    """Name of the variable that holds an entry's key; None when none is needed.

    An endpoint of one's own (``base_url``) is given a key only when the entry names the variable: a provider's usual
    key must not travel to another host.
    """
    if entry.key_variable:
        return entry.key_variable
    if entry.base_url or entry.is_persona or entry.provider == "python" or entry.provider in _OTHER_CREDENTIALS:
        return None
    return _USUAL.get(entry.provider, f"{entry.provider.upper().replace('-', '_')}_API_KEY")


def find_key(entry: ModelEntry) -> str | None:
    """The key of an entry, None when it needs none. Raises ConfigError naming the variable that holds no key."""
    variable = key_variable(entry)
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        raise ConfigError(f"{entry.alias} needs an API key: set {variable} in the environment or in .env")
    register_secret(key)
    if not (key.isascii() and key.isprintable()):
        raise ConfigError(f"{variable} holds a line break or a letter no key has; copy the key of {entry.alias} again")
    return key


def require_keys(entries: Iterable[ModelEntry]) -> None:
    """Raise ConfigError, as ``find_key`` does, for the first of these entries that needs a key and has none."""
    for entry in entries:
        find_key(entry)


def provider_key(entry: ModelEntry) -> str:
    """One name per provider, endpoint and key, under which limits are shared; of a key eight hex digits of its hash."""
    variable = key_variable(entry)
    key = os.environ.get(variable, "").strip() if variable else ""
    fingerprint = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest() if key else "none"
    return f"{entry.provider}|{_without_password(entry.base_url or '')}|{fingerprint}"


def _without_password(url: str) -> str:
    scheme, mark, rest = url.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}" if mark else url
