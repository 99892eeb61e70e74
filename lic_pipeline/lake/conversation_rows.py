"""One conversation as one row of the lake: the table ``conversations``, and the way there and back.

Where rows are stored, and which of several with one id counts, is in ``conversations``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError

from lic_pipeline.records import Conversation, Setting, Turn
from lic_pipeline.tables import Column, TableSpec, register

CONVERSATIONS = register(
    TableSpec(
        "conversations",
        "One simulated conversation; RECAP and RETRY rows hold their own turn only.",
        (
            Column("conversation_id", "string", "Hash of everything that shapes the transcript"),
            Column("purpose", "string", "What it was held for", choices=("eval", "verify", "pilot")),
            Column("task", "string", "Task"),
            Column("model", "string", "Alias of the assistant's registry entry"),
            Column("setting", "string", "Setting", choices=tuple(Setting)),
            Column("condition", "json", "Condition columns of the experiment"),
            Column("instruction_id", "string", "Instruction"),
            Column("run", "int", "Repeat index from 0", minimum=0),
            Column("seed", "int", "Experiment seed", minimum=0),
            Column("parent_id", "string", "Conversation this one continues", nullable=True),
            Column("shard_ids", "json", "Shard ids in the order of this conversation"),
            Column("system_prompt", "string", "System prompt as sent"),
            Column("turns", "json", "Turns in order: message, revealed shard, reply, label, attempt"),
            Column("n_turns", "int", "Number of own turns", minimum=0),
            Column("state", "string", "done, or error:<class>"),
            Column("stop_reason", "string", "Why it ended; NULL when it did not end by itself", nullable=True),
            Column("flags", "json", "What a reader of its score must know"),
            Column("first_turn", "int", "Number of the first own turn, 0 = none", minimum=0),
            Column("judged_by", "string", "Scorer and reference of the loop, empty where not known"),
            Column("written_ns", "int", "When the row was written (nanoseconds since 1970); never exported"),
        ),
        ("conversation_id",),
    )
)

_TURNS = TypeAdapter(tuple[Turn, ...])
_SAME_NAMES = (
    "conversation_id", "purpose", "task", "model", "instruction_id", "run", "seed", "parent_id", "state", "judged_by",
)  # fmt: skip


def conversation_row(conversation: Conversation, written_ns: int) -> dict[str, Any]:
    """One conversation as a row of the table."""
    row: dict[str, Any] = {name: getattr(conversation, name) for name in _SAME_NAMES}
    return row | {
        "setting": str(conversation.setting),
        "condition": json.dumps(dict(conversation.condition), sort_keys=True),
        "shard_ids": json.dumps(conversation.shard_ids),
        "system_prompt": conversation.system_prompt,
        "turns": _turns_text(conversation.turns),
        "n_turns": len(conversation.turns),
        "first_turn": conversation.turns[0].turn if conversation.turns else 0,
        "stop_reason": None if conversation.stop_reason is None else str(conversation.stop_reason),
        "flags": json.dumps(conversation.flags),
        "written_ns": written_ns,
    }


def conversation_of(row: dict[str, Any]) -> Conversation:
    """The conversation of one row."""
    fields = {name: row[name] for name in _SAME_NAMES}
    return Conversation(
        **fields,
        setting=Setting(row["setting"]),
        condition=json.loads(row["condition"]),
        shard_ids=tuple(json.loads(row["shard_ids"])),
        system_prompt=row["system_prompt"],
        turns=_turns_of(row["turns"]),
        stop_reason=row["stop_reason"],
        flags=tuple(json.loads(row["flags"])),
    )


def _turns_text(turns: Sequence[Turn]) -> str:
    """Turns as JSON. A text with lone surrogates is no UTF-8, so it is written with escapes."""
    try:
        return _TURNS.dump_json(tuple(turns)).decode()
    except PydanticSerializationError:
        return json.dumps([turn.model_dump(mode="json") for turn in turns])


def _turns_of(text: str) -> tuple[Turn, ...]:
    if "\\ud" in text or "\\uD" in text:  # The fast parser refuses escaped lone surrogates.
        return _TURNS.validate_python(json.loads(text))
    return _TURNS.validate_json(text)
