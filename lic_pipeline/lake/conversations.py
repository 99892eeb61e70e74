"""Conversations in the lake: append-only Parquet files by task, model and setting, unique by id on reading.

``conversations/task=.../model=.../setting=.../<uuid>.parquet``. Of several rows with one id the latest written counts
(a conversation that ended in an error and was tried again). Manifests, not folders, say which ids belong to what.
"""

from __future__ import annotations

import json
import time
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from lic_pipeline.lake.files import read_parquet, safe_part, write_parquet
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
            Column("written_ns", "int", "When the row was written (nanoseconds since 1970); never exported"),
        ),
        ("conversation_id",),
    )
)

_TURNS = TypeAdapter(tuple[Turn, ...])
_SAME_NAMES = ("conversation_id", "purpose", "task", "model", "instruction_id", "run", "seed", "parent_id", "state")


def conversation_row(conversation: Conversation, written_ns: int) -> dict[str, Any]:
    """One conversation as a row of the table."""
    row: dict[str, Any] = {name: getattr(conversation, name) for name in _SAME_NAMES}
    return row | {
        "setting": str(conversation.setting),
        "condition": json.dumps(dict(conversation.condition), sort_keys=True),
        "shard_ids": json.dumps(conversation.shard_ids),
        "system_prompt": conversation.system_prompt,
        "turns": _TURNS.dump_json(conversation.turns).decode(),
        "n_turns": len(conversation.turns),
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
        turns=_TURNS.validate_json(row["turns"]),
        stop_reason=row["stop_reason"],
        flags=tuple(json.loads(row["flags"])),
    )


class ConversationStore:
    """Conversations of one (task, model) in the lake."""

    def __init__(self, lake: Path, task: str, model: str) -> None:
        self.folder = lake / "conversations" / f"task={safe_part(task)}" / f"model={safe_part(model)}"

    def append(self, conversations: Sequence[Conversation]) -> None:
        """Write conversations durably, one new file per setting. Raises StorageError."""
        by_setting: dict[Setting, list[Conversation]] = defaultdict(list)
        for conversation in conversations:
            by_setting[conversation.setting].append(conversation)
        for setting, group in by_setting.items():
            now = time.time_ns()
            table = CONVERSATIONS.arrow_table(conversation_row(one, now) for one in group)
            write_parquet(self._setting_folder(setting) / f"{uuid.uuid4().hex}.parquet", table)

    def ids(self) -> set[str]:
        """Ids of all stored conversations."""
        found: set[str] = set()
        for file in self._files():
            found.update(read_parquet(file, ["conversation_id"]).column("conversation_id").to_pylist())
        return found

    def flags(self, ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Flags of the stored conversations among ``ids``, without reading a transcript."""
        wanted = set(ids)
        newest: dict[str, tuple[int, str]] = {}
        for file in self._files():
            table = read_parquet(file, ["conversation_id", "written_ns", "flags"])
            columns = [table.column(name).to_pylist() for name in ("conversation_id", "written_ns", "flags")]
            for name, written, flags in zip(*columns, strict=True):
                if name in wanted and written > newest.get(name, (-1, ""))[0]:
                    newest[name] = written, flags
        return {name: tuple(json.loads(flags)) for name, (_, flags) in newest.items()}

    def file_names(self) -> list[str]:
        """Names of all files; a name never comes back with other content."""
        return [f"{file.parent.name}/{file.name}" for file in self._files()]

    def read(self, ids: Iterable[str]) -> Iterator[Conversation]:
        """The stored conversations among ``ids``, file by file, each once; memory holds one file at a time."""
        wanted = set(ids)
        newest = self._newest(wanted)
        for file in self._files():
            table = read_parquet(file)
            for row in table.filter(pc.is_in(table.column("conversation_id"), pa.array(sorted(wanted)))).to_pylist():
                name = row["conversation_id"]
                if newest.get(name) == row["written_ns"]:
                    del newest[name]
                    yield conversation_of(row)

    def compact(self, most_files: int = 8) -> None:
        """Merge the files of each setting that has more than ``most_files``; superseded rows fall away."""
        for folder in sorted(self.folder.glob("setting=*")):
            files = sorted(folder.glob("*.parquet"))
            if len(files) <= most_files:
                continue
            merged = pa.concat_tables([read_parquet(file) for file in files]).sort_by([("written_ns", "descending")])
            names = merged.column("conversation_id").to_pylist()
            first = {name: place for place, name in reversed(list(enumerate(names)))}
            write_parquet(folder / f"{uuid.uuid4().hex}.parquet", merged.take(pa.array(sorted(first.values()))))
            for file in files:
                file.unlink(missing_ok=True)

    def _newest(self, wanted: set[str]) -> dict[str, int]:
        newest: dict[str, int] = {}
        for file in self._files():
            table = read_parquet(file, ["conversation_id", "written_ns"])
            pairs = zip(
                table.column("conversation_id").to_pylist(), table.column("written_ns").to_pylist(), strict=True
            )
            for name, written in pairs:
                if name in wanted and written > newest.get(name, -1):
                    newest[name] = written
        return newest

    def _setting_folder(self, setting: Setting) -> Path:
        return self.folder / f"setting={safe_part(str(setting))}"

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("setting=*/*.parquet"))
