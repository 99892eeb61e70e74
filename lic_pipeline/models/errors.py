"""How a call can fail, as classes the engine acts on. Clients translate every provider's errors into these."""

from __future__ import annotations

from lic_pipeline.errors import LicError


class CallError(LicError):
    """A call that gave no reply. ``kind`` becomes the class in ``error:<class>``; never a score of 0.

    ``status``: HTTP status, None when there was no response. ``retry_after``: seconds, when the provider said.
    """

    kind = "transient"
    outcome = "transient"
    stops_run = False
    retried = False

    def __init__(self, message: str, *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after


class RateLimitError(CallError):
    """Rate limited (429)."""

    kind = "rate_limit"
    outcome = "rate_limit"
    retried = True


class TransientError(CallError):
    """Resets, 5xx, unreadable bodies: worth another try."""

    retried = True


class CallTimeoutError(TransientError):
    """No complete reply within the time one attempt, or all attempts together, may take."""

    kind = "timeout"
    outcome = "timeout"


class PermanentError(CallError):
    """Bad request of this one call (400, 422): another try cannot help, other calls may work."""

    kind = "permanent"
    outcome = "permanent"


class AccessError(CallError):
    """Bad key, no permission, unknown model (401, 403, 404): it would hit every call, so the run stops early."""

    kind = "permanent"
    outcome = "access"
    stops_run = True


class ContextOverflowError(CallError):
    """The request does not fit the model's context window; never retried."""

    kind = "context"
    outcome = "context"


class BudgetError(CallError):
    """The budget was reached before this call; nothing was sent."""

    kind = "budget"
    outcome = "budget"


class ContentFilteredError(CallError):
    """The provider's filter refused the request. The call path makes a reply of it: it says something of the model."""

    kind = "content_filter"
    outcome = "content_filter"
