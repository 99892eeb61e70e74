"""Conversations in the lake: append-only Parquet files by task, model and setting, unique by id on reading.

``conversations/task=.../model=.../setting=.../<uuid>.parquet``. Of several rows with one id the latest written counts
(a conversation that ended in an error and was tried again). Manifests, not folders, say which ids belong to what.
What a row holds is in ``conversation_rows``.
"""

from __future__ import annotations

import json
import time
import uuid
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from lic_pipeline.errors import StorageError
from lic_pipeline.lake.conversation_rows import CONVERSATIONS, conversation_of, conversation_row
from lic_pipeline.lake.files import read_parquet, safe_part, write_parquet
from lic_pipeline.records import Conversation, Setting

_MERGED_ROWS = 2048
"""Files of fewer rows are merged; larger ones would have to be held in memory as a whole, again and again."""
_READ_ROWS = 256
_WAY_ON = "remove this file: the next run restores its conversations from the ledger without a call"


class Ending(NamedTuple):
    """How a stored conversation ended, without its transcript."""

    instruction_id: str
    state: str
    stop_reason: str | None
    n_turns: int
    first_turn: int
    judged_by: str


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
        return {name for (name,) in self._columns("conversation_id")}

    def endings(self, ids: Collection[str]) -> dict[str, Ending]:
        """How the stored conversations among ``ids`` ended, without reading a transcript."""
        newest: dict[str, int] = {}
        found: dict[str, Ending] = {}
        for name, written, *rest in self._columns("conversation_id", "written_ns", *Ending._fields):
            if name in ids and written > newest.get(name, -1):
                newest[name] = written
                found[name] = Ending(*rest)
        return found

    def flags(self, ids: Iterable[str]) -> dict[str, tuple[str, ...]]:
        """Flags of the stored conversations among ``ids``, without reading a transcript."""
        wanted = set(ids)
        newest: dict[str, tuple[int, str]] = {}
        for name, written, flags in self._columns("conversation_id", "written_ns", "flags"):
            if name in wanted and written > newest.get(name, (-1, ""))[0]:
                newest[name] = written, flags
        return {name: tuple(json.loads(flags)) for name, (_, flags) in newest.items()}

    def file_names(self) -> list[str]:
        """Names of all files; a name never comes back with other content."""
        return [f"{file.parent.name}/{file.name}" for file in self._files()]

    def read(self, ids: Iterable[str]) -> Iterator[Conversation]:
        """The stored conversations among ``ids``, file by file, each once; memory holds a few hundred at a time.

        Safe while another process appends or compacts. Raises StorageError for a file that cannot be read.
        """
        wanted = set(ids)
        while newest := self._newest(wanted):
            wanted = set(newest)
            for row in self._rows(wanted):
                name = row["conversation_id"]
                if name in wanted and newest[name] == row["written_ns"]:
                    wanted.discard(name)
                    yield conversation_of(row)
            # What is left was superseded while it was looked for, and its old row compacted away.

    def compact(self, most_files: int = 8) -> None:
        """Merge small files of each setting that has more than ``most_files``; rows superseded in them fall away."""
        for folder in sorted(self.folder.glob("setting=*")):
            files = sorted(folder.glob("*.parquet"))
            if len(files) <= most_files:
                continue
            group: list[tuple[Path, pa.Table]] = []
            for file in files:
                table = self._read_if_there(file, None)
                if table is not None and table.num_rows < _MERGED_ROWS:
                    group.append((file, table))
                if sum(one.num_rows for _, one in group) >= _MERGED_ROWS:
                    self._merge(folder, group)
                    group = []
            self._merge(folder, group)

    def _merge(self, folder: Path, group: Sequence[tuple[Path, pa.Table]]) -> None:
        if len(group) < 2:
            return
        merged = pa.concat_tables([table for _, table in group]).sort_by([("written_ns", "descending")])
        names = merged.column("conversation_id").to_pylist()
        first = {name: place for place, name in reversed(list(enumerate(names)))}
        write_parquet(folder / f"{uuid.uuid4().hex}.parquet", merged.take(pa.array(sorted(first.values()))))
        for file, _ in group:
            file.unlink(missing_ok=True)

    def _newest(self, wanted: Collection[str]) -> dict[str, int]:
        newest: dict[str, int] = {}
        for name, written in self._columns("conversation_id", "written_ns") if wanted else ():
            if name in wanted and written > newest.get(name, -1):
                newest[name] = written
        return newest

    def _columns(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """These columns of every row of every file, superseded rows included; a row may come twice."""
        for file in self._files_as_they_come():
            table = self._read_if_there(file, list(names))
            if table is not None:
                yield from zip(*(table.column(name).to_pylist() for name in names), strict=True)

    def _rows(self, wanted: Collection[str]) -> Iterator[dict[str, Any]]:
        """Whole rows of these conversations; ``wanted`` may shrink meanwhile."""
        for file in self._files_as_they_come():
            if not wanted:
                return
            names = self._read_if_there(file, ["conversation_id"])
            if names is None or not any(name in wanted for name in names.column("conversation_id").to_pylist()):
                continue
            try:
                with file.open("rb") as handle, pq.ParquetFile(handle) as parquet:
                    for batch in parquet.iter_batches(_READ_ROWS):
                        ids = batch.column("conversation_id").to_pylist()
                        places = [place for place, name in enumerate(ids) if name in wanted]
                        yield from batch.take(pa.array(places, pa.int64())).to_pylist()
            except FileNotFoundError:
                continue
            except (pa.ArrowException, OSError) as error:
                raise StorageError(f"{file} cannot be read as Parquet: {error}; {_WAY_ON}") from error

    def _files_as_they_come(self) -> Iterator[Path]:
        """Every file once, also those that appear while the first ones are read (a compaction moves rows there)."""
        seen: set[Path] = set()
        while fresh := [file for file in self._files() if file not in seen]:
            seen.update(fresh)
            yield from fresh

    def _read_if_there(self, file: Path, columns: list[str] | None) -> pa.Table | None:
        """A file's table, None when a compaction has just taken it away. Raises StorageError."""
        try:
            table = read_parquet(file, columns)
        except StorageError as error:
            if not file.exists():
                return None
            raise StorageError(f"{error}; {_WAY_ON}") from error
        lacking = sorted(set(columns or CONVERSATIONS.arrow_schema.names) - set(table.column_names))
        if lacking:
            raise StorageError(f"{file} was written by another version (no column {lacking[0]}); {_WAY_ON}")
        return table

    def _setting_folder(self, setting: Setting) -> Path:
        return self.folder / f"setting={safe_part(str(setting))}"

    def _files(self) -> list[Path]:
        return sorted(self.folder.glob("setting=*/*.parquet"))
