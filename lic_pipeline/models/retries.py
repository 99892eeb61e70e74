"""How long to wait before another attempt: Retry-After in its two forms, and pauses that grow with jitter."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from tenacity import RetryCallState

from lic_pipeline.models.errors import CallError
from lic_pipeline.models.registry import Patience

_FIRST_DOUBLINGS = 32
"""More doublings than this change nothing: the longest pause was reached long before."""


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds a response asks to wait, None when it does not say; never negative.

    ``Retry-After`` holds seconds or an HTTP date (RFC 9110 section 10.2.3), ``retry-after-ms`` milliseconds. A date is
    compared with the response's own ``Date``, so that a clock that is off does no harm.
    """
    named = {str(name).lower(): str(value).strip() for name, value in headers.items()}
    milliseconds = _number(named.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    said = named.get("retry-after")
    if not said:
        return None
    seconds = _number(said)
    if seconds is not None:
        return seconds
    until = _date(said)
    if until is None:
        return None
    reference = _date(named.get("date", "")) or now or datetime.now(UTC)
    return max(0.0, (until - reference).total_seconds())


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


def _date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError, IndexError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class RetryPauses:
    """Seconds before the next attempt, for tenacity's ``wait``. Jitter is not design randomness: it needs no seed."""

    def __init__(self, patience: Patience, draw: Callable[[], float] = random.random) -> None:
        self._patience = patience
        self._draw = draw

    def __call__(self, state: RetryCallState) -> float:
        """Retry-After up to its cap plus a little jitter, else a doubling pause times 0.5 to 1."""
        error = state.outcome.exception() if state.outcome else None
        if isinstance(error, CallError) and error.retry_after is not None:
            asked = min(error.retry_after, self._patience.retry_after_cap_s)
            return asked + self._draw() * min(1.0, 0.1 * asked + 0.01)
        doublings = min(state.attempt_number - 1, _FIRST_DOUBLINGS)
        longest = min(self._patience.longest_pause_s, self._patience.first_pause_s * 2.0**doublings)
        return longest * (0.5 + 0.5 * self._draw())
