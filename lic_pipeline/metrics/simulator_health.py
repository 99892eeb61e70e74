"""What the simulator did in each conversation, counted from its turns in the lake; summed per cell in SQL.

A count is of turns unless its description says otherwise. Only conversations of manifests are read, each once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.metrics.table_columns import count
from lic_pipeline.records import DERIVED, SINGLE_TURN, Conversation, Rung, Strategy, Turn
from lic_pipeline.tables import Column, TableSpec, register

FIDELITY = ("lost", "leak", "added", "answer", "echo", "bad_id")
"""Flags of a user turn that was sent although something is wrong with it (simulation.roles.fidelity)."""
_SYSTEM = ("label_reasked", "label_fallback", "extractor_reasked")

EVENTS = (
    count("user_turns", "turns the simulated user decided on: after the first, in settings of several turns"),
    count("user_reasked", "of them asked for again"),
    count("user_fallback", "of them replaced by the shard word for word"),
    count("user_forced", "of them forced after two turns that told nothing"),
    *(count(f"user_{flag}", f"of them sent with the flag {flag}") for flag in FIDELITY),
    count("user_flawed", "of them sent with one of these flags or more"),
    count("flawed_conversations", "conversations with such a turn"),
    count("replies", "replies of the model under test"),
    count("truncated", "of them cut off at the length limit"),
    count("content_filter", "of them withheld by a filter"),
    count("empty_replies", "of them without text or call"),
    count("refusals", "of them labelled refusal"),
    count("label_disagreements", "of them labelled otherwise than by the rules"),
    count("label_reasked", "of them whose label was asked for again"),
    count("label_fallback", "of them labelled by the rules because the classifier gave no usable label"),
    count("attempts", "of them judged as answer attempts in the loop"),
    count("extractor_asked", "attempts put before the extractor: no strict rung found an answer"),
    count("extractor_reasked", "of these asked again"),
    count("extractor_found", "of these with an answer that stands in the reply"),
    count("extractor_none", "of these without an answer, by the extractor"),
    count("extractor_failed", "of these without a usable reply of the extractor"),
    *(count(f"rung_{rung}", f"attempts whose answer was found at rung {rung}") for rung in Rung),
    count("turn_capped", "conversations ended by the cap on turns"),
    count("context_ended", "conversations ended because a prompt did not fit"),
)

SIMULATOR_EVENTS = register(
    TableSpec(
        "simulator_events",
        "What user, classifier and extractor did in one conversation.",
        (Column("conversation_id", "string", "Conversation"), *EVENTS),
        ("conversation_id",),
    )
)


def simulator_events(lake: Path, manifests: pa.Table) -> pa.Table:
    """One row per conversation of the manifests that is in the lake and ended by itself, ordered by id.

    Raises StorageError for a file of the lake that cannot be read.
    """
    wanted: dict[tuple[str, str], set[str]] = defaultdict(set)
    for task, model, name in zip(
        *(manifests.column(column).to_pylist() for column in ("task", "model", "conversation_id")), strict=True
    ):
        wanted[task, model].add(name)
    tables = [SIMULATOR_EVENTS.arrow_schema.empty_table()]
    for (task, model), ids in sorted(wanted.items()):
        held = ConversationStore(lake, task, model).read(ids)
        # One partition's rows at a time as dictionaries: they take several times the room of a table.
        tables.append(SIMULATOR_EVENTS.arrow_table(_row(one) for one in held if one.state == "done"))
    return pa.concat_tables(tables).sort_by("conversation_id")


def _row(conversation: Conversation) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    several = conversation.setting not in SINGLE_TURN and conversation.setting not in DERIVED
    for turn in conversation.turns:
        counts.update(_of_reply(turn))
        if several and turn.turn > 1:
            counts.update(_of_user(turn))
    counts["flawed_conversations"] = int(counts["user_flawed"] > 0)
    counts["turn_capped"] = int(conversation.stop_reason == "turn_cap")
    counts["context_ended"] = int(conversation.stop_reason == "context")
    return {"conversation_id": conversation.conversation_id, **{column.name: counts[column.name] for column in EVENTS}}


def _of_user(turn: Turn) -> Iterator[str]:
    yield "user_turns"
    if turn.forced:
        yield "user_forced"
    flags = set(turn.user_flags)
    yield from (f"user_{flag}" for flag in ("reasked", "fallback", *FIDELITY) if flag in flags)
    if flags & set(FIDELITY):
        yield "user_flawed"


def _of_reply(turn: Turn) -> Iterator[str]:
    yield "replies"
    reply = turn.reply
    if reply.finish_reason == "length":
        yield "truncated"
    if reply.finish_reason == "content_filter":
        yield "content_filter"
    if not reply.text.strip() and not reply.tool_calls:
        yield "empty_replies"
    if turn.strategy is Strategy.REFUSAL:
        yield "refusals"
    if turn.strategy is not turn.rule_strategy:
        yield "label_disagreements"
    yield from (flag for flag in _SYSTEM if flag in turn.system_flags)
    if turn.attempt is None:
        return
    found = turn.attempt.extraction
    yield "attempts"
    yield f"rung_{found.rung}"
    outcomes = {
        "found": found.rung is Rung.LLM,
        "none": "llm_none" in found.flags,
        "failed": "llm_failed" in found.flags,
    }
    for outcome, applies in outcomes.items():
        if applies:
            yield from ("extractor_asked", f"extractor_{outcome}")
