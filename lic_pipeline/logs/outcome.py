"""What reading log files came to: an entry per usable line, and what is wrong with the others, each reason once.

Lines that differ only in quoted values and numbers have one reason; it is kept with its count and first places. All of
it is bounded, whatever the files hold.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lic_pipeline.models.request import digest
from lic_pipeline.records import Instruction, RecordProblem, Setting

MOST_PROBLEMS = 1000
"""Problems kept word for word; further ones are only counted."""
MOST_NAMES = 50
"""Different reasons, unknown ``conv_type`` names and unknown events kept apart; further ones are counted together."""
OTHERS = "(others)"

_FIRST = 3
_LONGEST = 100
_VALUES = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\d+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Entry:
    """What the manifest and the row of ``imported_logs`` need of one line."""

    conversation_id: str
    setting: str
    condition: str
    instruction_id: str
    run: int
    conv_id: str
    file: str
    line: int
    conv_type: str
    task_id: str
    named_model: str
    user_model: str
    system_model: str
    git_version: str
    stop: str
    recorded: float | None


@dataclass
class Reason:
    """One reason: how it was first said and where, how many lines it holds for, and where it stands next."""

    kind: str
    first: RecordProblem
    count: int = 0
    places: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        if self.count == 1:
            return str(self.first)
        return f"{self.first} [{self.count} lines alike; next {', '.join(self.places[1:])}]"

    def document(self) -> dict[str, Any]:
        """The reason as JSON data."""
        said = self.first.model_dump(include={"field", "reason"})
        return {"kind": self.kind, **said, "count": self.count, "first": self.places}


@dataclass
class Imported:
    """What reading the files came to. Partitions are (task, model); ``kinds`` counts problems by reason."""

    partitions: dict[tuple[str, str], list[Entry]] = field(default_factory=lambda: defaultdict(list))
    instructions: dict[tuple[str, str], Instruction] = field(default_factory=dict)
    n_shards: dict[str, int] = field(default_factory=dict)
    names: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    problems: list[RecordProblem] = field(default_factory=list)
    reasons: dict[tuple[str, str, str], Reason] = field(default_factory=dict)
    kinds: Counter[str] = field(default_factory=Counter)
    unknown_settings: Counter[str] = field(default_factory=Counter)
    skipped_events: Counter[str] = field(default_factory=Counter)
    set_aside: Counter[str] = field(default_factory=Counter)
    lines: int = 0
    added: int = 0
    known: int = 0
    repeated: int = 0

    @property
    def n_conversations(self) -> int:
        """Conversations that can be scored."""
        return sum(len(entries) for entries in self.partitions.values())

    def experiment(self, name: str | None = None) -> str:
        """``logs-<name>``, without a name the hash of the conversations in their order."""
        if name:
            return f"logs-{name}"
        ids = [entry.conversation_id for key in sorted(self.partitions) for entry in self.partitions[key]]
        return f"logs-{digest(chr(31).join(ids))[:8]}"

    def blame(self, problem: RecordProblem, kind: str, setting: str | None = None) -> None:
        """Take the problem of one line; ``setting`` = the name of a setting that is unknown, told by that name."""
        self.kinds[kind] += 1
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(problem)
        if setting is not None:
            self.unknown_settings[_bounded(setting, self.unknown_settings)] += 1
            return
        key = (kind, problem.field, _VALUES.sub("*", problem.reason))
        if key not in self.reasons and len(self.reasons) >= MOST_NAMES:
            key = (kind, OTHERS, OTHERS)
        reason = self.reasons.setdefault(key, Reason(kind, problem))
        reason.count += 1
        if len(reason.places) < _FIRST:
            reason.places.append(f"{problem.file}:{problem.line}")

    def skip(self, events: Mapping[str, int]) -> None:
        """Count log events of a conversation that say nothing we know."""
        for name, count in events.items():
            self.skipped_events[_bounded(name, self.skipped_events)] += count

    def complaints(self) -> list[str]:
        """One line for each reason, unknown setting and way of counting; nothing when all is well."""
        return [
            *(_unknown_setting(name, count) for name, count in self.unknown_settings.most_common()),
            *(str(reason) for reason in self.reasons.values()),
            *(f"{kind}: {count} lines" for kind, count in sorted(self.kinds.items())),
            *(f"set aside {count} lines: {reason}" for reason, count in sorted(self.set_aside.items())),
            *self._skipped(),
        ]

    def _skipped(self) -> list[str]:
        events = ", ".join(f"{name} {count}" for name, count in self.skipped_events.most_common())
        return [f"skipped log events of unknown type: {events}"] if events else []


def _bounded(name: str, known: Mapping[str, int]) -> str:
    name = name if len(name) <= _LONGEST else f"{name[:_LONGEST]}..."
    return name if name in known or len(known) < MOST_NAMES else OTHERS


def _unknown_setting(name: str, count: int) -> str:
    if name == OTHERS:
        return f"{count} lines of further unknown conv_types: none was imported"
    settings = [str(setting) for setting in Setting]
    likely = max((one for one in settings if one.lower() in name), key=len, default="SETTING")
    return (
        f"conv_type {name!r}: {count} lines of a setting we do not know, none was imported; say which it is with "
        f"--setting {shlex.quote(f'{name}={likely}')} (settings: {', '.join(settings)})"
    )
