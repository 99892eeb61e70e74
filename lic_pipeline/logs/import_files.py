"""Log files -> conversations in the lake and entries for their manifests. One line at a time, bad ones named.

A conversation that is already stored is not written again, so importing twice changes nothing. In memory stay one batch
of conversations, bounded in bytes, and an entry of a few hundred bytes per line for the manifest.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from sys import intern

from lic_pipeline.config import Home
from lic_pipeline.errors import ConfigError, RecordError
from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.lake.files import safe_part
from lic_pipeline.logs.build_conversation import SINGLE, build_conversation, conversation_id, infer_stop
from lic_pipeline.logs.find_instruction import References, UnjoinedError
from lic_pipeline.logs.outcome import Entry, Imported
from lic_pipeline.logs.reading.log_files import listed_shards, log_fields, numbered_lines
from lic_pipeline.logs.reading.parse_line import LogConversation, parse_log
from lic_pipeline.logs.reading.reference_names import (
    MODEL_ALIASES,
    PREFIX,
    SETTINGS,
    SetAsideError,
    UnknownSettingError,
    model_named,
)
from lic_pipeline.records import Conversation, Instruction, RecordProblem, Setting
from lic_pipeline.tasks.registry import get_task

BATCH = 1000
BATCH_BYTES = 4_000_000
"""A batch is written when it holds this many conversations, or lines of this many bytes."""


def import_files(
    home: Home,
    paths: Sequence[Path],
    aliases: Mapping[str, str] = MODEL_ALIASES,
    only: str | None = None,
    settings: Mapping[str, Setting] = SETTINGS,
) -> Imported:
    """Read the files, store what is new, and say what came of every line. ``only`` = lines of this task.

    ``aliases`` and ``settings`` say what names of models and ``conv_type`` names stand for.

    Raises InputError when a file cannot be read, StorageError when the lake cannot be written.
    """
    reader = _Reader(home, References(home, listed_shards(paths, settings)), aliases, only, settings)
    for path in paths:
        for number, raw in numbered_lines(path):
            reader.line(path, number, raw)
    reader.finish()
    return reader.result


class _Reader:
    """Takes lines one by one."""

    def __init__(
        self,
        home: Home,
        references: References,
        aliases: Mapping[str, str],
        only: str | None,
        settings: Mapping[str, Setting],
    ) -> None:
        self.result = Imported()
        self._home = home
        self._references = references
        self._aliases = aliases
        self._only = only
        self._settings = settings
        self._seen: set[str] = set()
        self._conv_ids: dict[tuple[str, ...], str] = {}
        self._runs: Counter[tuple[str, str, str, str]] = Counter()
        self._stored: dict[tuple[str, str], set[str]] = {}
        self._waiting: list[Conversation] = []
        self._bytes = 0
        self._foreign: set[tuple[str, str]] = set()

    def line(self, path: Path, number: int, raw: bytes) -> None:
        """Take one line; whatever is wrong with it becomes a problem."""
        self.result.lines += 1
        conv_id = ""
        try:
            fields = log_fields(raw)
            log = parse_log(fields, self._settings)
            conv_id = log.conv_id
            if self._only is None or log.task == self._only:
                self._bytes += len(raw)
                self._take(log, path, number)
        except SetAsideError as error:
            self.result.set_aside[error.reason] += 1
        except UnjoinedError as error:
            if error.kind == "other_content":
                self._foreign.add((log.task, log.task_id))
            self._problem(path, number, conv_id, error, error.kind)
        except RecordError as error:
            self._problem(path, number, conv_id, error, "bad_line")
        except (ValueError, TypeError, ArithmeticError, LookupError, RecursionError) as error:
            said = RecordError(f"cannot be read, {type(error).__name__}: {error}"[:300])
            self._problem(path, number, conv_id, said, "bad_line")
        if len(self._waiting) >= BATCH or self._bytes >= BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        """Write the conversations collected so far. Raises StorageError."""
        batch, self._waiting, self._bytes = self._waiting, [], 0
        groups: dict[tuple[str, str], list[Conversation]] = defaultdict(list)
        for conversation in batch:
            groups[conversation.task, conversation.model].append(conversation)
        for (task, model), group in groups.items():
            ConversationStore(self._home.lake, task, model).append(group)

    def finish(self) -> None:
        """Write what is left, merge the small files of many batches, and drop items that turned out to be others."""
        self.flush()
        for task, model in self._stored if self.result.added else ():
            ConversationStore(self._home.lake, task, model).compact()
        self._drop_foreign()

    def _drop_foreign(self) -> None:
        """Take items out altogether whose FULL message asks something else than the instruction of that id."""
        for (task, _), entries in self.result.partitions.items():
            dropped = [entry for entry in entries if (task, entry.task_id) in self._foreign]
            if dropped:
                self.result.kinds["other_content"] += len(dropped)
                entries[:] = [entry for entry in entries if (task, entry.task_id) not in self._foreign]
        for key in [key for key, entries in self.result.partitions.items() if not entries]:
            del self.result.partitions[key]

    def _take(self, log: LogConversation, path: Path, number: int) -> None:
        name = self._model(log)
        model = intern(PREFIX + name)
        identity = conversation_id(log, name)
        if identity in self._seen:
            self.result.repeated += 1
            return
        claimed = (log.conv_id, log.task, log.task_id, log.conv_type, name)
        other = self._conv_ids.get(claimed) if log.conv_id else None
        if other is not None:
            raise RecordError(f"{log.conv_id!r} stands in {other} already with other content", field="conv_id")
        instruction = self._references.instruction(log)
        task = get_task(log.task)
        n_shards = self._references.n_shards(log, instruction)
        place = (log.task, model, log.conv_type, instruction.instruction_id)
        run = self._runs[place]
        conversation = build_conversation(log, name, instruction, task, n_shards, run)
        self._runs[place] += 1
        self._seen.add(identity)
        self.result.skip(log.trace.skipped)
        if log.conv_id:
            self._conv_ids[claimed] = f"{path.name}:{number}"
        self._keep(conversation)
        self._enter(log, conversation, instruction, path, number)

    def _model(self, log: LogConversation) -> str:
        name = model_named(log.assistant, self._aliases)
        try:
            safe_part(PREFIX + name)
        except ConfigError as error:
            raise RecordError(str(error), field="assistant_model") from error
        return name

    def _keep(self, conversation: Conversation) -> None:
        key = conversation.task, conversation.model
        if key not in self._stored:
            self._stored[key] = ConversationStore(self._home.lake, *key).ids()
        if conversation.conversation_id in self._stored[key]:
            self.result.known += 1
            return
        self.result.added += 1
        self._waiting.append(conversation)

    def _enter(
        self, log: LogConversation, conversation: Conversation, instruction: Instruction, path: Path, number: int
    ) -> None:
        result = self.result
        result.instructions[log.task, instruction.instruction_id] = instruction
        result.names[conversation.model].add(log.assistant)
        shards = len(conversation.shard_ids)
        result.n_shards[instruction.instruction_id] = max(shards, result.n_shards.get(instruction.instruction_id, 0))
        reveals = () if conversation.setting in SINGLE else tuple(turn.revealed for turn in conversation.turns)
        result.partitions[log.task, conversation.model].append(
            Entry(
                conversation_id=conversation.conversation_id,
                setting=str(conversation.setting),
                condition=intern(json.dumps(dict(conversation.condition), sort_keys=True)),
                instruction_id=instruction.instruction_id,
                run=conversation.run,
                conv_id=log.conv_id,
                file=path.name,
                line=number,
                conv_type=log.conv_type,
                task_id=log.task_id,
                named_model=log.assistant,
                user_model=log.user_model,
                system_model=log.system_model,
                git_version=log.git_version,
                stop=infer_stop(log, reveals, shards),
                recorded=log.score,
            )
        )

    def _problem(self, path: Path, number: int, conv_id: str, error: RecordError, kind: str) -> None:
        problem = RecordProblem(
            file=str(path), line=number, record_id=conv_id, field=error.field or "", reason=error.reason
        )
        self.result.blame(problem, kind, error.name if isinstance(error, UnknownSettingError) else None)
