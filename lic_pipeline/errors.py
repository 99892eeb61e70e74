"""Every error a user can meet, as a small hierarchy whose messages say what to do.

Each class names the exit code ``lic`` ends with (architecture: exit codes). Errors of single rows are data
(``RecordProblem``), not exceptions: good rows survive, bad ones are quarantined and counted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the command line starts without pydantic
    from pydantic import ValidationError


class LicError(Exception):
    """Base of all errors raised on purpose; ``exit_code`` is what the command line ends with."""

    exit_code = 2


class ConfigError(LicError):
    """A setting, name, flag or configuration file is wrong; the message names it and the way on."""


class UnknownNameError(ConfigError):
    """A task, model, setting, persona or experiment that is not registered; the message lists what is."""

    def __init__(self, kind: str, name: str, known: list[str]) -> None:
        listed = ", ".join(sorted(known)) or "none"
        super().__init__(f"unknown {kind} {name!r}; known: {listed}")


class InputError(LicError):
    """An input file cannot be read at all; the message names file, and line or field where there is one."""


INTERRUPTED = "interrupted; finished work is stored, run the command again to go on"
"""What a person is told whose Ctrl-C (or SIGTERM) has ended a command."""


class RecordError(LicError):
    """One record is unusable. ``field`` names the offending field, ``reason`` says what is wrong with it."""

    def __init__(self, reason: str, *, field: str | None = None) -> None:
        super().__init__(f"{field}: {reason}" if field else reason)
        self.field = field
        self.reason = reason


class StorageError(LicError):
    """LIC_HOME cannot be written or read (read-only, full, corrupt); nothing half-written is left behind."""


class BudgetReachedError(LicError):
    """The budget of a run is used up; everything paid for is stored and the run can be resumed."""

    exit_code = 3


class ProviderStoppedError(LicError):
    """A provider answered with an error that would hit every call (bad key, unknown model); resumable."""

    exit_code = 4


class DriftError(LicError):
    """A stored call has the same key but another request: nothing was called, nothing overwritten."""

    exit_code = 5

    def __init__(self, conversation_id: str, key: str, field: str) -> None:
        super().__init__(
            f"conversation {conversation_id}: the request of call {key} differs from the stored one in {field!r}; "
            "nothing was called. Restore the old setting, or ask anew what differs with lic run --accept-drift."
        )
        self.conversation_id = conversation_id
        self.key = key
        self.field = field


class InterruptedRunError(LicError):
    """The run was interrupted (SIGINT or SIGTERM); everything finished is stored, the rest can be resumed."""

    exit_code = 130


def first_problem(error: ValidationError, whole: str = "") -> str:
    """The first field that is wrong and what is wrong with it; ``whole`` names the record where no field does.

    Roles put this before their models: another text would be another request, and a stored answer would not count.
    """
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"]) or whole
    said = first["msg"].removeprefix("Value error, ")
    return f"{place}: {said}" if place else said


def problems_told(error: ValidationError) -> str:
    """What a person is told of a record that does not fit: its first problem, and how many more there are."""
    others = error.error_count() - 1
    return first_problem(error) + (f" (and {others} more)" if others else "")
