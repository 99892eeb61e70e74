"""The store of imported sharded records: original records, verbatim, one JSON line each, in order of arrival.

``LIC_HOME/lake/released/records.jsonl`` is replaced atomically under a file lock. Records are stored whether or not
they are usable today (a database may arrive later); what they mean is decided on reading, by ``sources``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lic_pipeline.benchmarks.rawfiles import Collector, array_rows, line_rows
from lic_pipeline.config import Home
from lic_pipeline.errors import InputError, StorageError
from lic_pipeline.lake.files import write_text
from lic_pipeline.lake.inputs import open_input
from lic_pipeline.lake.locks import locked
from lic_pipeline.records import RecordProblem

Form = Literal["released", "plain"]


@dataclass(frozen=True)
class StoredRecord:
    """One original record, its form, the folder its relative paths start from, and a task for records naming none."""

    form: Form
    record: Mapping[str, Any]
    base: str = ""
    task: str | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """What makes a record the same one: form, task and id; records without an id are told apart by content."""
        named = self.record.get("task_id" if self.form == "released" else "id")
        task = self.record.get("task", self.task)
        return self.form, _text(task), _text(named if named is not None else self.record)

    @property
    def content(self) -> str:
        """The record as JSON in its own key order."""
        return _text(self.record)


@dataclass(frozen=True)
class Merge:
    """What an import did to the store: records added, found unchanged, and replaced (by id)."""

    added: int
    unchanged: int
    replaced: tuple[str, ...]


def read_records_file(path: Path, task: str | None = None) -> tuple[list[StoredRecord], list[RecordProblem]]:
    """The records of a released list (JSON array) or of JSON Lines, each in the form it has.

    A second record of the same task and id is a problem and left out. Raises InputError when the file cannot be read.
    """
    if not path.is_file():
        raise InputError(f"{path} is no file")
    collector = Collector(path.parent)
    try:
        with open_input(path) as handle:
            start = handle.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
        reader = array_rows if start == b"[" else line_rows
        rows = list(reader(collector, path, path.name))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    base, found = str(path.parent.resolve()), dict[tuple[str, str, str], StoredRecord]()
    for row in rows:
        plain = "task_id" not in row.value and "instruction" in row.value
        stored = StoredRecord("plain" if plain else "released", row.value, base if plain else "", task)
        if stored.key in found:
            collector.reject(row, "stands twice in this file; the first one is used", record_id=stored.key[2])
        else:
            found[stored.key] = stored
    return list(found.values()), collector.problems


def merge(records: Sequence[StoredRecord], home: Home | None = None) -> Merge:
    """Add records to the store; same key and content = unchanged, other content = replaced in its place.

    Raises StorageError when the store cannot be read or written.
    """
    path = _path(home)
    with locked(path, "importing into"):
        return _merge(records, path)


def stored_records(home: Home | None = None) -> list[StoredRecord]:
    """All records in order of first arrival. Raises StorageError naming the line of a damaged store."""
    return _load(_path(home))


def _merge(records: Sequence[StoredRecord], path: Path) -> Merge:
    held = {record.key: record for record in _load(path)}
    added, unchanged, replaced = 0, 0, []
    for record in records:
        old = held.get(record.key)
        if old is not None and old.content == record.content:
            unchanged += 1
            continue
        if old is None:
            added += 1
        else:
            replaced.append(json.loads(record.key[2]))
        held[record.key] = record
    if added or replaced:
        write_text(path, "".join(_line(record) for record in held.values()))
    return Merge(added, unchanged, tuple(str(name) for name in replaced))


def _load(path: Path) -> list[StoredRecord]:
    if not path.is_file():
        return []
    records: list[StoredRecord] = []
    try:
        for line in path.read_bytes().splitlines():
            entry = json.loads(line)
            records.append(StoredRecord(entry["form"], entry["record"], entry["base"], entry["task"]))
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError(f"{path}:{len(records) + 1} is damaged; delete the file and import again") from error
    return records


def _line(record: StoredRecord) -> str:
    return _text({"form": record.form, "base": record.base, "task": record.task, "record": record.record}) + "\n"


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _path(home: Home | None) -> Path:
    return (home or Home.locate()).lake / "released" / "records.jsonl"
