"""Tables of planned conversations and of what their replies held (conversations: ``lake.conversation_rows``)."""

from __future__ import annotations

from typing import Any

from lic_pipeline.records import Rung, Setting, Strategy
from lic_pipeline.tables import Column, TableSpec, register

MANIFESTS = register(
    TableSpec(
        "manifests",
        "One conversation an experiment wants of a (task, model); everything downstream reads these ids.",
        (
            Column("experiment", "string", "Experiment"),
            Column("task", "string", "Task"),
            Column("model", "string", "Alias of the assistant's registry entry"),
            Column("setting", "string", "Setting", choices=tuple(Setting)),
            Column("condition", "json", "Condition columns, keys sorted"),
            Column("instruction_id", "string", "Instruction"),
            Column("run", "int", "Repeat index from 0", minimum=0),
            Column("conversation_id", "string", "Conversation"),
            Column("parent_id", "string", "Conversation it continues", nullable=True),
            Column("content", "string", "Version of the instruction: hash of its text and context", nullable=True),
            Column("n_shards", "int", "Shards of the instruction, 0 = none", minimum=0),
            Column("approval", "string", "Why the item is approved"),
            Column("signature", "string", "What its score will depend on"),
            Column("unanswerable", "string", "Why no run holds it: context, no_reference, no_shards", nullable=True),
        ),
        ("experiment", "conversation_id"),
    )
)

_SCORE: dict[str, Any] = {"nullable": True, "minimum": 0.0, "maximum": 100.0}

_OF_A_CONVERSATION = (
    Column("experiment", "string", "Experiment"),
    Column("conversation_id", "string", "Conversation"),
    Column("task", "string", "Task"),
    Column("model", "string", "Alias of the assistant's registry entry"),
    Column("setting", "string", "Setting", choices=tuple(Setting)),
    Column("instruction_id", "string", "Instruction"),
    Column("run", "int", "Repeat index from 0", minimum=0),
)

EXTRACTED_ANSWERS = register(
    TableSpec(
        "extracted_answers",
        "One answer attempt: what current code finds, and what the loop had recorded.",
        (
            *_OF_A_CONVERSATION,
            Column("turn", "int", "Turn from 1", minimum=1),
            Column("strategy", "string", "Label of the reply", choices=tuple(Strategy)),
            Column("gate", "string", "Why it is graded", choices=("labelled", "ungated", "always", "held_back")),
            Column("informed", "bool", "Every shard was out"),
            Column("rung", "string", "Where the answer was found", choices=tuple(Rung)),
            Column("answer", "string", "Answer as lifted from the reply", nullable=True),
            Column("verdict", "string", "Verdict, robust policy"),
            Column("score", "float", "Score, robust policy", **_SCORE),
            Column("error", "string", "Why there is no score", nullable=True),
            Column("reference_score", "float", "Score, reference policy; NULL = it would not have graded", **_SCORE),
            Column("recorded_rung", "string", "Rung recorded in the loop", nullable=True),
            Column("recorded_answer", "string", "Answer recorded in the loop", nullable=True),
            Column("recorded_verdict", "string", "Verdict recorded in the loop", nullable=True),
            Column("recorded_score", "float", "Score recorded in the loop", **_SCORE),
        ),
        ("experiment", "conversation_id", "turn"),
    )
)

JUDGEMENTS = register(
    TableSpec(
        "judgements",
        "One summary put before a judge that is a model: what it said of the insights, or why there is no verdict.",
        (
            *_OF_A_CONVERSATION,
            Column("turn", "int", "Turn of the reply, from 1", minimum=1),
            Column("policy", "string", "Scoring policy the bullets were cut for", choices=("robust", "reference")),
            Column("judge", "string", "Alias of the judge's registry entry"),
            Column("judgement_id", "string", "The question to this judge, by content; the ledger's id of its calls"),
            Column("state", "string", "judged, unusable, or the class of the error"),
            Column("full", "int", "Insights fully covered", nullable=True, minimum=0),
            Column("partial", "int", "Insights partly covered", nullable=True, minimum=0),
            Column("none", "int", "Insights not covered", nullable=True, minimum=0),
        ),
        ("experiment", "conversation_id", "turn", "policy"),
    )
)
