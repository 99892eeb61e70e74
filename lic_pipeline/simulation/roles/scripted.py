"""The roles beside the assistant: who speaks as the user, who labels replies, who extracts answers.

Here live the roles that need no model: the scripted user and the rules of each task. LLM roles implement the same
protocols and come with model access; the loop does not know which it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from lic_pipeline.records import Extraction, Instruction, Reply, Shard, Strategy, Turn
from lic_pipeline.simulation.call_store import CallStore
from lic_pipeline.tasks.protocol import Task


@dataclass(frozen=True, slots=True)
class Utterance:
    """What the user says next. ``revealed`` = the shard it gives away, None = none."""

    text: str
    revealed: int | None
    forced: bool = False
    flags: tuple[str, ...] = ()


class UserRole(Protocol):
    """The simulated user of the turns after the first."""

    async def next_utterance(
        self,
        task: Task,
        instruction: Instruction,
        turns: Sequence[Turn],
        unrevealed: Sequence[Shard],
        call_store: CallStore,
    ) -> Utterance:
        """The next utterance; reveals at most one of the unrevealed shards."""


class ClassifierRole(Protocol):
    """Labels the strategy of a reply."""

    async def label(
        self, task: Task, instruction: Instruction, reply: Reply, turn: int, call_store: CallStore
    ) -> Strategy:
        """The label; an empty reply is ``missing`` without a call."""


class ExtractorRole(Protocol):
    """Extracts an answer where the strict rungs found none."""

    async def extract(
        self, task: Task, instruction: Instruction, reply: Reply, found: Extraction, turn: int, call_store: CallStore
    ) -> Extraction:
        """A better extraction than ``found``, or ``found`` itself."""


class ScriptedUser:
    """Reveals the lowest unrevealed shard verbatim; makes no call."""

    async def next_utterance(
        self,
        task: Task,
        instruction: Instruction,
        turns: Sequence[Turn],
        unrevealed: Sequence[Shard],
        call_store: CallStore,
    ) -> Utterance:
        """The next shard, word for word."""
        shard = min(unrevealed, key=lambda candidate: candidate.shard_id)
        return Utterance(task.shard_message(instruction, shard), shard.shard_id)


class RuleClassifier:
    """Labels by the task's rules; makes no call."""

    async def label(
        self, task: Task, instruction: Instruction, reply: Reply, turn: int, call_store: CallStore
    ) -> Strategy:
        """The label by rule."""
        return task.label(reply, instruction)


class RuleExtractor:
    """Keeps what the task's rules found, loose rungs included; makes no call."""

    async def extract(
        self, task: Task, instruction: Instruction, reply: Reply, found: Extraction, turn: int, call_store: CallStore
    ) -> Extraction:
        """``found`` as it is."""
        return found


@dataclass(frozen=True, slots=True)
class Roles:
    """The roles of one run."""

    user: UserRole
    classifier: ClassifierRole
    extractor: ExtractorRole


def scripted_roles() -> Roles:
    """Roles that call no model."""
    return Roles(ScriptedUser(), RuleClassifier(), RuleExtractor())
