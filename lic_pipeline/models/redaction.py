"""Removal of secrets from text before it is stored, logged or shown.

Known secrets are the values of environment variables whose names look like credentials, and values registered by the
clients (keys from other sources). Shapes of keys are removed as well. Nothing here decides what is logged or stored.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Mapping

MASK = "[redacted]"

_CREDENTIAL_NAME = re.compile(
    r"(^|_)(API_?KEY|KEY|ACCESS_?KEY(_ID)?|TOKEN|SECRET|PASSWORD|PASSWD|PASS|PWD|CREDENTIALS?|AUTH|PAT)($|_)", re.I
)
# A key has letters and digits; "sk-learn-compatible-estimators" is prose, so at least one digit is required.
_KEY_STARTS = ("sk-", "sk_", "pk-", "pk_", "rk_", "xai-", "gsk_", "hf_", "ghp_", "gho_")
# In JSON text a line break or a letter beyond ASCII before a key ends in a letter or digit of its own.
_BEGINS = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=\\u[0-9A-Fa-f]{4}))"
_KEY_SHAPE = re.compile(rf"{_BEGINS}(?:{'|'.join(_KEY_STARTS)})(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{{16,}}")
_HEADER = re.compile(
    r"((?:proxy-)?authorization|x-api-key|api-key|x-goog-api-key)(\\?[\"']?\s*[:=]\s*\\?[\"']?\s*)"
    r"((?:bearer|basic|token)\s+)?(?!\[redacted\]|(?:bearer|basic|token)\s+\[redacted\])[^\s\"'\\,;}\])]{6,}",
    re.I,
)
_BEARER = re.compile(_BEGINS + r"(bearer\s+)(?=[A-Za-z._~+/-]*[0-9])[A-Za-z0-9._~+/-]{12,}=*", re.I)
_URL_PASSWORD = re.compile(r"(://[^/\s:@\"']*:)[^@\s/\"']+@")
_SHORTEST_SECRET = 8
_REREAD_SECONDS = 1.0


def looks_like_credential(name: str) -> bool:
    """True when an environment variable of this name probably holds a secret."""
    return _CREDENTIAL_NAME.search(name) is not None


def without_credentials(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment for a child process that needs no key."""
    return {name: value for name, value in environ.items() if not looks_like_credential(name)}


class Redactor:
    """Knows the secrets of one environment; ``redact`` replaces them by ``[redacted]``. Safe to use from threads."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._environ = os.environ if environ is None else environ
        self._registered: set[str] = set()
        self._secrets: tuple[str, ...] = ()
        self._read_at = float("-inf")
        self._lock = threading.Lock()

    def register(self, secret: str) -> None:
        """Add a secret that stands in no environment variable. Shorter than 8 characters is ignored."""
        if len(secret) >= _SHORTEST_SECRET:
            with self._lock:
                self._registered.add(secret)
                self._read_at = float("-inf")

    def refresh(self) -> None:
        """Read the environment again at the next use, instead of within a second."""
        with self._lock:
            self._read_at = float("-inf")

    def redact(self, text: str) -> str:
        """``text`` without known secrets, key shapes and authorization headers; JSON text stays valid JSON."""
        if not self.suspicious(text):
            return text
        for secret in self._known():
            text = text.replace(secret, MASK)
        text = _KEY_SHAPE.sub(MASK, text)
        text = _HEADER.sub(lambda found: f"{found[1]}{found[2]}{found[3] or ''}{MASK}", text)
        return _BEARER.sub(lambda found: found[1] + MASK, text)

    def suspicious(self, text: str) -> bool:
        """False when ``redact`` surely leaves a text as it is.

        Substring tests are many times cheaper than the patterns, and nearly every text passes all of them.
        """
        for sign in self._known():
            if sign in text:
                return True
        for sign in _KEY_STARTS:
            if sign in text:
                return True
        lowered = text.lower()
        return "authorization" in lowered or "api-key" in lowered or "bearer" in lowered

    def redact_message(self, text: str) -> str:
        """As ``redact``, and passwords inside URLs too: for error messages and details, not for replies."""
        text = self.redact(text)
        return _URL_PASSWORD.sub(rf"\g<1>{MASK}@", text) if "://" in text else text

    def _known(self) -> tuple[str, ...]:
        """Secrets, longest first. Re-read now and then: .env may be loaded after the first use."""
        now = time.monotonic()
        if now - self._read_at >= _REREAD_SECONDS:
            with self._lock:
                found = {value for name, value in self._environ.items() if _is_secret(name, value)} | self._registered
                escaped = {json.dumps(value)[1:-1] for value in found}
                self._secrets = tuple(sorted(found | escaped, key=lambda value: (-len(value), value)))
                self._read_at = now
        return self._secrets


def _is_secret(name: str, value: str) -> bool:
    """A credential-like name with a value that is no path, number or word."""
    if len(value) < _SHORTEST_SECRET or not looks_like_credential(name):
        return False
    return not value.startswith(("/", "~", "./")) and value.lower() not in {"disabled", "required"}


_default = Redactor()
redact = _default.redact
redact_message = _default.redact_message
suspicious = _default.suspicious
register_secret = _default.register
refresh_secrets = _default.refresh
