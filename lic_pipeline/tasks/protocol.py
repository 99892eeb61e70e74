"""The contract of a task: everything the simulation and the scorers ask of one, and nothing else.

A task is one module with one object of this shape, registered as an entry point of the group ``lic_pipeline.tasks``
(ours are listed in ``registry.py``). Tasks are stateless, hold no model client and never read a conversation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from lic_pipeline.records import (
    Extraction,
    Instruction,
    Json,
    PersonaReply,
    Policy,
    Reply,
    Shard,
    Strategy,
    Verdict,
)


@runtime_checkable
class Task(Protocol):
    """One task of the evaluation.

    ``kind``: *binary* tasks stop at a correct attempt; in *refinement* tasks each reply is an attempt and nothing is
    correct. ``costly``: scoring leaves the process (sandbox), so the engine runs it in a thread and caches verdicts.
    ``scorer_version`` rises whenever a score could change. ``scores_every_turn``: scoring is cheap enough to give every
    reply of a refinement task a score (False where a judge is paid per reply, unless an experiment asks for it).
    """

    name: str
    kind: Literal["binary", "refinement"]
    costly: bool
    scores_every_turn: bool
    scorer_version: int
    answer_description: str

    def check(self, instruction: Instruction) -> None:
        """Raise RecordError naming the field when the instruction lacks or garbles something this task needs."""

    def system_prompt(self, instruction: Instruction) -> str:
        """The system prompt, the same in every setting."""

    def full_message(self, instruction: Instruction) -> str:
        """The one user message of FULL."""

    def concat_message(self, instruction: Instruction, shards: Sequence[Shard]) -> str:
        """The one user message of CONCAT: all shards in the given order with a short lead-in."""

    def shard_message(self, instruction: Instruction, shard: Shard) -> str:
        """The user message that reveals one shard verbatim."""

    def label(self, reply: Reply, instruction: Instruction) -> Strategy:
        """Strategy of a reply by this task's rules."""

    def extract(self, reply: Reply, instruction: Instruction, policy: Policy = "robust") -> Extraction:
        """Lift the answer from a reply by rules, strict rungs first, then loose ones. Never raises on any text."""

    def score(self, answer: str, instruction: Instruction, policy: Policy = "robust") -> Verdict:
        """Score an extracted answer. Never raises on any text; infrastructure trouble gives score None + error."""

    def gold(self, instruction: Instruction) -> str | None:
        """A full reply that must score 100 (robust), or None when the instruction has no reference."""

    def persona_replies(self, instruction: Instruction) -> tuple[PersonaReply, ...]:
        """Ready replies for personas: at least one right, two wrong, a question, a hedge and a refusal."""

    def score_item(self, line: Mapping[str, Json], base: Path) -> Instruction:
        """The instruction that one input line of ``lic score`` describes; paths are relative to ``base``.

        Raises RecordError naming the missing or wrong field.
        """
