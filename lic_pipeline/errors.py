"""Every error a user can meet, as a small hierarchy whose messages say what to do.

Each class names the exit code ``lic`` ends with (architecture: exit codes). Errors of single rows are data
(``RecordProblem``), not exceptions: good rows survive, bad ones are quarantined and counted.
"""

from __future__ import annotations

import sys
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
        from difflib import get_close_matches

        listed = ", ".join(sorted(known)) or "none"
        meant = _BENCHMARK_TASKS.get(name.lower().replace("-", "_")) if kind == "task" else None
        close = [meant] if meant in known else get_close_matches(name, known, n=1, cutoff=0.75)
        hint = f"; did you mean {close[0]}?" if close else ""
        super().__init__(f"unknown {kind} {name!r}; known: {listed}{hint}")


_BENCHMARK_TASKS = {
    **dict.fromkeys(("gsm8k", "gsm", "mathematics", "arithmetic"), "math"),
    **dict.fromkeys(("humaneval", "livecodebench", "lcb", "python", "coding", "programming"), "code"),
    **dict.fromkeys(("spider", "sql", "text2sql", "text_to_sql", "nl2sql"), "database"),
    **dict.fromkeys(("bfcl", "api", "apis", "functions", "function_calling", "tools", "tool_calls"), "actions"),
    **dict.fromkeys(("totto", "data_to_text", "table2text", "table_to_text"), "data2text"),
    **dict.fromkeys(("summhay", "summarization", "summaries"), "summary"),
}
"""What people who know a benchmark or another word call a task of ours."""


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


def plain_words(error: BaseException) -> str:
    """What an error of a library says, in our own words where it speaks of the insides of Python."""
    text = str(error)
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if "set_int_max_str_digits" in text or "integer string conversion" in text:
        return f"a whole number has more than {sys.get_int_max_str_digits():,} digits"
    return text


def problems_told(error: ValidationError) -> str:
    """What a person is told of a record that does not fit: its first problem, and how many more there are."""
    others = error.error_count() - 1
    return first_problem(error) + (f" (and {others} more)" if others else "")
