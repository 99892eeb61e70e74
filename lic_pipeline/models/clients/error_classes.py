"""Which kind of failure a response or an exception is. The only place that knows providers' words for it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lic_pipeline.models.errors import (
    AccessError,
    CallError,
    CallTimeoutError,
    ContentFilteredError,
    ContextOverflowError,
    PermanentError,
    RateLimitError,
    TransientError,
)
from lic_pipeline.models.redaction import redact_message
from lic_pipeline.models.retries import retry_after

_DETAIL_CHARACTERS = 300
_TRANSIENT_STATUS = frozenset({408, 409, 425, 499})
_REQUEST_STATUS = frozenset({400, 413, 422, 500})
"""Statuses that may hide a context overflow or a filter behind their message (llama.cpp answers 500)."""

_CONTEXT_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"})
_CONTEXT_WORDS = re.compile(
    r"context[ _-]?(?:length|window|size)|maximum context|prompt is too long|input is too long"
    r"|too many (?:input )?tokens"
    r"|exceeds? (?:the )?(?:model'?s? )?(?:maximum|max)(?: allowed)? (?:number of )?(?:input )?tokens"
    r"|input token count .{0,40}exceeds|reduce the length of the (?:messages|prompt)",
    re.IGNORECASE,
)
_FILTER_CODES = frozenset(
    {"content_filter", "content_policy_violation", "responsibleaipolicyviolation", "data_inspection_failed"}
)
_FILTER_WORDS = re.compile(r"content (?:management )?policy|content filter|content[ _]policy", re.IGNORECASE)
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_TAGS = re.compile(r"<(?:script|style)\b.*?</(?:script|style)>|<[^>]{0,500}>", re.IGNORECASE | re.DOTALL)


def error_for(status: int, headers: Mapping[str, str], body: object, secret: str | None = None) -> CallError:
    """The error a response of this status stands for. ``body``: the decoded JSON, or its text; ``secret`` is masked."""
    message, codes = _message_and_codes(body)
    detail = describe(f"HTTP {status}: {message}" if message else f"HTTP {status}", secret)
    wait = retry_after(headers)
    if status in _REQUEST_STATUS:
        if codes & _CONTEXT_CODES or _CONTEXT_WORDS.search(message):
            return ContextOverflowError(detail, status=status)
        if codes & _FILTER_CODES or (status != 500 and _FILTER_WORDS.search(message)):
            return ContentFilteredError(detail, status=status)
    if codes & _QUOTA_CODES or status in (401, 402, 403, 404):
        return AccessError(detail, status=status)
    if status == 429:
        return RateLimitError(detail, status=status, retry_after=wait)
    if status in _TRANSIENT_STATUS or (status >= 500 and status not in (501, 505)):
        return TransientError(detail, status=status, retry_after=wait)
    return PermanentError(detail, status=status)


def error_in_ok_response(error: Mapping[str, Any], secret: str | None = None) -> CallError:
    """The error object some gateways send with status 200; its ``code`` is a status when it looks like one."""
    for name in ("code", "status"):
        code = error.get(name)
        if isinstance(code, str) and code.isdigit():
            code = int(code)
        if isinstance(code, int) and not isinstance(code, bool) and 400 <= code <= 599:
            return error_for(code, {}, {"error": error}, secret)
    message, codes = _message_and_codes({"error": error})
    if codes & _CONTEXT_CODES or _CONTEXT_WORDS.search(message):
        return ContextOverflowError(describe(message, secret), status=200)
    return TransientError(describe(f"an error with status 200: {message}", secret), status=200)


def unreadable(status: int, text: str, secret: str | None = None) -> CallError:
    """A body with a good status that is no JSON object (an HTML page, a body cut short)."""
    return TransientError(
        describe(f"HTTP {status} with a body that is no JSON object: {text[:2000]}", secret), status=status
    )


def connection_error(error: BaseException, secret: str | None = None) -> CallError:
    """A connection that could not be made or broke; names the innermost exception."""
    cause = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    named = type(cause).__name__
    text = describe(f"{named}: {cause}" if str(cause) else named, secret)
    # The outermost class is no guide: a refused connection is wrapped as a timeout by some transports.
    if isinstance(cause, TimeoutError) or "timeout" in named.lower():
        return CallTimeoutError(f"timeout ({text})")
    return TransientError(f"connection failed ({text})")


def describe(text: str, secret: str | None = None) -> str:
    """One short line without markup, control characters or secrets."""
    if secret:
        text = text.replace(secret, "[redacted]")
    plain = " ".join(_TAGS.sub(" ", text[:20_000]).split())
    plain = "".join(character for character in plain if character.isprintable())
    return redact_message(plain)[:_DETAIL_CHARACTERS]


def _message_and_codes(body: object) -> tuple[str, set[str]]:
    """The message of an error body and every machine-readable code in it, lower case."""
    if not isinstance(body, Mapping):
        return str(body or "")[:20_000], set()
    error = body.get("error", body)
    if isinstance(error, str):
        return error, set()
    if not isinstance(error, Mapping):
        return str(error)[:2000], set()
    codes: set[str] = set()
    inner = error.get("innererror")
    for part in (error, inner if isinstance(inner, Mapping) else {}):
        codes |= {str(part[name]).lower() for name in ("code", "type", "status", "param") if part.get(name)}
    message = error.get("message") or error.get("detail") or body.get("detail") or ""
    return str(message), codes
