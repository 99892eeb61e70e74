"""What flows between stages: frozen records, validated at the borders.

Nothing here computes anything. Instruction and shards come from benchmarks, replies from models, extractions and
verdicts from tasks, conversations from the simulation. ``Json`` fields hold plain JSON values only.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Json = Any
"""A plain JSON value: None, bool, int, float, str, list or dict of these."""

Policy = Literal["robust", "reference"]
"""Scoring policy: ``robust`` (right by the definition of the task) or ``reference`` (what published scripts gave)."""


class Record(BaseModel):
    """Base of all records: frozen, unknown fields refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Setting(StrEnum):
    """How an instruction is revealed (measurement: settings)."""

    FULL = "FULL"
    CONCAT = "CONCAT"
    SHUFFLE_CONCAT = "SHUFFLE-CONCAT"
    SHARDED = "SHARDED"
    RECAP = "RECAP"
    RETRY = "RETRY"
    SNOWBALL = "SNOWBALL"


SINGLE_TURN = frozenset({Setting.FULL, Setting.CONCAT, Setting.SHUFFLE_CONCAT})
"""Settings of one user turn."""

IMPORTED = "imported"
"""``source`` of an instruction that somebody brought in as a record of its own."""

DERIVED = frozenset({Setting.RECAP, Setting.RETRY})
"""Settings that continue a finished SHARDED conversation."""


class Strategy(StrEnum):
    """Kind of reply (measurement: strategy labels)."""

    ANSWER_ATTEMPT = "answer_attempt"
    CLARIFICATION = "clarification"
    INTERROGATION = "interrogation"
    DISCUSSION = "discussion"
    HEDGING = "hedging"
    REFUSAL = "refusal"
    MISSING = "missing"


class Rung(StrEnum):
    """Where an answer was found in a reply; the first group is strict (an unmistakable place)."""

    GIVEN = "given"
    BOXED = "boxed"
    MARKER = "marker"
    BLOCK = "block"
    WHOLE = "whole"
    LLM = "llm"
    CONCLUSION = "conclusion"
    LAST_NUMBER = "last_number"
    LOOSE = "loose"
    AMBIGUOUS = "ambiguous"
    FAILED = "failed"


STRICT_RUNGS = frozenset({Rung.GIVEN, Rung.BOXED, Rung.MARKER, Rung.BLOCK, Rung.WHOLE})


class StopReason(StrEnum):
    """Why a conversation ended; ``error:<class>`` and ``budget`` are states, not stop reasons."""

    CORRECT = "correct"
    EXHAUSTED = "exhausted"
    TURN_CAP = "turn_cap"
    CONTEXT = "context"


class Instruction(Record):
    """One fully specified benchmark item.

    ``text`` is what a user says in FULL. ``context`` holds the prompt-visible fields the task's system prompt needs
    (schema, function list); ``reference`` everything scoring needs (answer, tests, databases), never prompt-visible;
    ``metadata`` neither (difficulty, row of origin). The keys per task are listed in docs/contracts.md.
    """

    instruction_id: str
    task: str
    benchmark: str
    text: str
    context: Mapping[str, Json] = Field(default_factory=dict)
    reference: Mapping[str, Json] = Field(default_factory=dict)
    metadata: Mapping[str, Json] = Field(default_factory=dict)
    source: str = ""

    @property
    def content_hash(self) -> str:
        """Hash of what a prompt can show (text and context): the version of the instruction under its id."""
        shown = json.dumps([self.text, dict(self.context)], sort_keys=True, separators=(",", ":"))
        return hashlib.blake2b(shown.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class Shard(Record):
    """One piece of information; ``shard_id`` counts from 1, shard 1 is the intent."""

    shard_id: int = Field(ge=1)
    text: str
    documents: tuple[int, ...] = ()


Provenance = Literal["authored", "released", "generated", "reviewed"]


class ShardedInstruction(Record):
    """Ordered shards of one instruction; ``provenance`` says who made them."""

    instruction_id: str
    task: str
    shards: tuple[Shard, ...] = Field(min_length=1)
    provenance: Provenance


class RecordProblem(Record):
    """One quarantined row: where it stands and why. ``line`` counts from 1; 0 = the whole file."""

    file: str
    line: int = 0
    record_id: str = ""
    field: str = ""
    reason: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        what = f" field {self.field!r}" if self.field else ""
        who = f" ({self.record_id})" if self.record_id else ""
        return f"{place}{who}{what}: {self.reason}"


class ToolCall(Record):
    """A structured call in a reply: function name and its arguments as the provider's JSON text."""

    name: str
    arguments: str


class Usage(Record):
    """Token counts of one call by kind; None = the provider did not say."""

    prompt: int | None = None
    completion: int | None = None
    reasoning: int | None = None
    cached: int | None = None


class Reply(Record):
    """What a model answered. ``text`` never contains reasoning; ``finish_reason`` is the provider's, normalised."""

    text: str
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: Literal["stop", "length", "content_filter", "tool_calls", "other"] = "stop"
    model_returned: str = ""
    usage: Usage = Usage()
    cost_usd: float | None = None
    flags: tuple[str, ...] = ()


class Message(Record):
    """One chat message as sent to a model."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str


class Extraction(Record):
    """An answer lifted from a reply. ``answer`` is None when ``rung`` is ``failed`` or ``ambiguous``."""

    answer: str | None
    rung: Rung
    candidates: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    @property
    def strict(self) -> bool:
        """True when the answer stands in an unmistakable place."""
        return self.rung in STRICT_RUNGS


class Verdict(Record):
    """A score 0..100, or None with ``error`` saying why. ``answer`` is the canonical form that was compared."""

    score: float | None = Field(ge=0, le=100)
    verdict: str
    answer: str | None = None
    detail: Mapping[str, Json] = Field(default_factory=dict)
    error: str | None = None

    @property
    def correct(self) -> bool:
        """True at a score of exactly 100."""
        return self.score == 100.0


class PersonaReply(Record):
    """One ready reply of a persona. ``score`` is the declared score of an answer attempt (None = not an attempt)."""

    kind: Literal["right", "wrong", "question", "hedge", "refusal"]
    text: str
    score: float | None = None


class Attempt(Record):
    """An answer attempt as decided in the loop, with the version of the scorer that decided.

    ``verdict`` is None in refinement tasks: nothing there depends on it in the loop, the scoring stage decides.
    """

    extraction: Extraction
    verdict: Verdict | None
    gate: Literal["labelled", "ungated", "always"]
    scorer_version: int


class Turn(Record):
    """One user message and the reply. ``revealed`` is the shard this message reveals, None = none.

    ``utterance`` is the new part of a message that also repeats earlier ones (SNOWBALL); empty = the whole message.
    ``system_flags``: trouble of a system model with this reply (``label_reasked``, ``label_fallback``,
    ``extractor_reasked``).
    """

    turn: int = Field(ge=1)
    user: str
    utterance: str = ""
    revealed: int | None = None
    forced: bool = False
    user_flags: tuple[str, ...] = ()
    reply: Reply
    strategy: Strategy
    rule_strategy: Strategy
    attempt: Attempt | None = None
    system_flags: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """What the user newly said in this turn."""
        return self.utterance or self.user


class Conversation(Record):
    """One run of one instruction in one setting; for RECAP and RETRY ``turns`` holds their own turn only.

    ``judged_by`` stands for the scorer and the reference its replies were judged with in the loop; "" = not known.
    """

    conversation_id: str
    purpose: Literal["eval", "verify", "pilot"]
    task: str
    model: str
    setting: Setting
    condition: Mapping[str, Json] = Field(default_factory=dict)
    instruction_id: str
    run: int = Field(ge=0)
    seed: int
    parent_id: str | None = None
    shard_ids: tuple[int, ...] = ()
    system_prompt: str
    turns: tuple[Turn, ...]
    state: str = "done"
    stop_reason: StopReason | None
    flags: tuple[str, ...] = ()
    judged_by: str = ""
