"""Which instruction a log conversation is about, and how many shards it has. Loads a task's instructions once.

A benchmark row or an imported record is found by id; the question a FULL message asks must be the one of the row. Our
own samples carry ids that real benchmark rows have too, so they are joined only where the content proves it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lic_pipeline.config import Home
from lic_pipeline.errors import InputError, RecordError
from lic_pipeline.logs.reading.parse_line import LogConversation
from lic_pipeline.logs.reading.reference_names import instruction_id
from lic_pipeline.records import Instruction, Setting, ShardedInstruction
from lic_pipeline.sharding.release_store import stored_records
from lic_pipeline.sharding.sources import all_instructions, interpreted, sharded_for
from lic_pipeline.tasks.registry import task_names

_TEXT_TASKS = frozenset({"math", "actions", "database"})
"""Tasks whose FULL message holds the instruction's text in every version of the scripts."""


class UnjoinedError(RecordError):
    """A sound line without a reference to score it by; ``kind`` is the reason it is counted under."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind


@dataclass(frozen=True)
class _Sources:
    by_id: Mapping[str, Instruction]
    sharded: Mapping[str, ShardedInstruction]


@dataclass
class References:
    """Instructions of all tasks met so far. ``listed`` = shards by (task, id) as CONCAT messages list them."""

    home: Home
    listed: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    _tasks: dict[str, _Sources | str] = field(default_factory=dict)

    def instruction(self, log: LogConversation) -> Instruction:
        """The instruction of a log conversation. Raises UnjoinedError saying why there is none."""
        sources = self._sources(log.task)
        if isinstance(sources, str):
            raise UnjoinedError("no_benchmark", sources)
        name = instruction_id(log.task_id, log.task)
        names = (log.task_id, f"released/{name}", name)  # the record of that very name first: logs came from records
        found = next((sources.by_id[one] for one in names if one in sources.by_id), None)
        if found is None:
            raise UnjoinedError(
                "unknown_item",
                f"task_id {log.task_id!r} ({name!r}) is in no benchmark file; set LIC_DATA or import its shards",
            )
        if not self._same(log, found, sources.sharded.get(found.instruction_id)):
            raise UnjoinedError(
                "other_content",
                f"task_id {log.task_id!r}: the log asks something else than {found.instruction_id} of {found.source}",
            )
        return found

    def n_shards(self, log: LogConversation, instruction: Instruction) -> int | None:
        """Number of shards: of the shard file, else as CONCAT lists them, else None."""
        sources = self._sources(log.task)
        sharded = None if isinstance(sources, str) else sources.sharded.get(instruction.instruction_id)
        if sharded is not None:
            return len(sharded.shards)
        return len(self.listed.get((log.task, instruction_id(log.task_id, log.task)), ())) or None

    def _sources(self, task: str) -> _Sources | str:
        if task not in self._tasks:
            if task not in task_names():
                raise RecordError(f"{task!r} is none of: {', '.join(task_names())}", field="task")
            self._tasks[task] = self._load(task)
        return self._tasks[task]

    def _load(self, task: str) -> _Sources | str:
        try:
            instructions, _ = all_instructions(task, self.home)
        except InputError as error:
            return str(error)
        sharded = sharded_for(instructions, self.home).sharded
        by_id = {instruction.instruction_id: instruction for instruction in instructions}
        records = interpreted(stored_records(self.home), [task], instructions)
        named = {item.record_id: by_id.get(item.instruction.instruction_id) for item in records if item.instruction}
        return _Sources(by_id | {name: found for name, found in named.items() if found is not None}, sharded)

    def _same(self, log: LogConversation, found: Instruction, sharded: ShardedInstruction | None) -> bool:
        first = _squeezed(log.trace.turns[0].user)
        strict = found.source == "embedded"
        if log.kind.setting is Setting.FULL:
            checked = log.task in _TEXT_TASKS or strict
            return not checked or _squeezed(found.text) in first
        if not strict:
            return True
        return sharded is not None and _squeezed(sharded.shards[0].text) in first


def _squeezed(text: str) -> str:
    return " ".join(text.split())
