"""What a provider refuses for good: when it ends the run, and how a person is told of which entry and what to do."""

from __future__ import annotations

from lic_pipeline.models.errors import AccessError, CallError, PermanentError
from lic_pipeline.models.keys import key_variable
from lic_pipeline.models.registry import ModelEntry

REFUSALS_IN_A_ROW = 8
"""So many bad requests and never a reply: the entry is wrong, not the items, and the run stops."""


class PermanentErrors:
    """Those of one entry. ``ending`` is the error that ends the run, None as long as calls may go on."""

    def __init__(self, entry: ModelEntry) -> None:
        self.ending: AccessError | None = None
        self._entry = entry
        self._answered = False
        self._bad_requests = 0

    def answered(self) -> None:
        """A call has been answered: bad requests are the items' from now on."""
        self._answered = True

    def met(self, error: CallError) -> CallError:
        """Take note of a failed attempt; returns the error to raise for it."""
        if isinstance(error, AccessError):
            error = AccessError(
                f"{self._entry.alias}: {error}{_advice(self._entry, error.status)}", status=error.status
            )
        elif isinstance(error, PermanentError):
            self._bad_requests += 1
            if not self._answered and self._bad_requests >= REFUSALS_IN_A_ROW:
                said = f"{self._entry.alias} refused the first {self._bad_requests} requests: {error}"
                error = AccessError(f"{said}; correct its registry entry", status=error.status)
        if isinstance(error, AccessError) and self.ending is None:
            self.ending = error
        return error

    def require_none(self) -> None:
        """Raise the error that ends the run, if there is one."""
        if self.ending is not None:
            raise AccessError(str(self.ending), status=self.ending.status)


def _advice(entry: ModelEntry, status: int | None) -> str:
    """What to look at, empty where the error says it itself."""
    variable = key_variable(entry)
    if status == 404:
        where = f"its id {entry.id} and its base_url" if entry.base_url else f"its id {entry.id}"
        return f"; check {where}" + (f", and that the key in {variable} may use it" if variable else "")
    if status not in (401, 402, 403, 429):
        return ""
    if variable:
        wanted = {401: "is right", 403: f"may use {entry.id}"}.get(status, "belongs to an account with credit")
        return f"; check that the key in {variable} {wanted}"
    if entry.provider == "python":
        return f"; check the key {entry.id} uses itself"
    if entry.base_url:
        return "; no key was sent: if it needs one, let key_variable in its registry entry name the variable"
    return f"; check the credentials of {entry.provider} in the environment"
