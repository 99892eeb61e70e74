"""What is asked of the sandbox and what comes back. No process is touched here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

MIB = 1024 * 1024

Ending = Literal[
    "ok",
    "wrong",
    "compile_error",
    "runtime_error",
    "timeout",
    "memory",
    "output_limit",
    "exited",
    "no_entry_point",
    "forbidden",
]


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a job. ``test_seconds``: processor time of one test (of the whole check), or idle wall clock;
    ``wall_seconds``: wall clock of the whole job; ``memory_bytes``: address space; ``output_bytes``: all it prints.
    """

    test_seconds: float = 6.0
    wall_seconds: float = 120.0
    memory_bytes: int = 1024 * MIB
    output_bytes: int = 4 * MIB


@dataclass(frozen=True, slots=True)
class Target:
    """What tests call: a function ``name``, or the method ``name`` of class ``owner``."""

    name: str
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the target with plain arguments."""

    args: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Stdin:
    """One run of the program as a script that reads ``text``."""

    text: str


@dataclass(frozen=True, slots=True)
class Check:
    """Test code that defines ``check(candidate)``; ``setup`` runs before it, ``entry`` names the candidate in it."""

    test: str
    setup: str
    entry: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one step ended; ``value`` is the plain result of a call, or the text a script printed."""

    ending: Ending
    value: Any = None
    detail: str = ""


Judge = Callable[[int, Outcome], bool]
"""Called with the number (from 0) and the outcome of each step; False = the rest need not run."""


@dataclass(frozen=True, slots=True)
class ProgramJob:
    """A program and the steps to run it through, all of one kind. ``target`` is needed for calls and checks.

    ``tolerant`` (calls and checks): top-level statements that are no definitions may fail, as usage blocks do.
    """

    source: str
    steps: tuple[Call | Stdin | Check, ...]
    target: Target | None = None
    judge: Judge | None = None
    tolerant: bool = False
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class ProgramResult:
    """``ending`` of the last step that ran (``ok`` when all went through), and every outcome in order.

    ``seconds`` is wall clock.
    """

    ending: Ending
    detail: str
    outcomes: tuple[Outcome, ...]
    seconds: float


class Opaque:
    """A result that is no plain data: equal to nothing but itself."""

    __slots__ = ("kind",)

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def __repr__(self) -> str:
        return f"<{self.kind}>"
