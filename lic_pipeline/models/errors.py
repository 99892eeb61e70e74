"""How a call can fail, as classes the engine acts on. Clients translate every provider's errors into these."""

from __future__ import annotations

from lic_pipeline.errors import LicError


class CallError(LicError):
    """A call that gave no reply. ``kind`` becomes the class in ``error:<class>``; never a score of 0."""

    kind = "transient"
    stops_run = False


class RateLimitError(CallError):
    """Still rate limited after all retries. ``retry_after`` in seconds when the provider said."""

    kind = "rate_limit"

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class TransientError(CallError):
    """Timeouts, resets, 5xx, unreadable bodies: worth another try."""


class PermanentError(CallError):
    """Bad request of this one call (400, 422): another try cannot help, other calls may work."""

    kind = "permanent"


class AccessError(CallError):
    """Bad key, no permission, unknown model (401, 403, 404): it would hit every call, so the run stops early."""

    kind = "permanent"
    stops_run = True


class ContextOverflowError(CallError):
    """The request does not fit the model's context window; never retried."""

    kind = "context"


class BudgetError(CallError):
    """The budget was reached before this call; nothing was sent."""

    kind = "budget"
