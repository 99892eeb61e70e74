"""Rows out of raw benchmark files: JSON Lines (plain or gzip) and JSON arrays, with every fault named by its place.

A ``Reading`` is what a reader returns. Faults of files and rows are data (``RecordProblem``), never exceptions; rows
before and after a bad row survive. What the fields of a row mean is the business of the readers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from lic_pipeline.benchmarks.jsontext import array_elements, parse_json
from lic_pipeline.errors import InputError, RecordError, StorageError
from lic_pipeline.lake.files import file_sha256
from lic_pipeline.lake.inputs import BROKEN_GZIP, GZIP, unpacked
from lic_pipeline.records import Instruction, Json, RecordProblem

LONGEST_LINE = 256 * 2**20  # bytes; the longest rows of LiveCodeBench hold some 100 MB of tests
LARGEST_UNPACKED = 8 * 2**30  # bytes out of one gzip file


@dataclass(frozen=True)
class FileProvenance:
    """One file that was read: path relative to the benchmark folder, SHA-256, number of rows found, size in bytes."""

    path: str
    sha256: str
    rows: int
    bytes: int


@dataclass(frozen=True)
class Reading:
    """What a reader found in a folder: usable instructions, what is wrong with the rest, the files it read."""

    instructions: tuple[Instruction, ...]
    problems: tuple[RecordProblem, ...]
    files: tuple[FileProvenance, ...]


@dataclass(frozen=True)
class Row:
    """One JSON object with its place: ``line`` counts from 1, ``index`` from 0 (physical line, or array element)."""

    file: str
    line: int
    index: int
    value: dict[str, Json]
    element: bool = False


@dataclass
class Collector:
    """Gathers one reader's instructions, problems and file provenance below ``folder``."""

    folder: Path
    instructions: list[Instruction] = field(default_factory=list)
    problems: list[RecordProblem] = field(default_factory=list)
    files: list[FileProvenance] = field(default_factory=list)
    _seen: dict[str, str] = field(default_factory=dict)

    def find(self, *patterns: str) -> list[Path]:
        """Files matching any pattern, sorted by name, each once; none at all is a problem."""
        found = sorted({path for pattern in patterns for path in self.folder.glob(pattern) if path.is_file()})
        if not found:
            self.problem(self.folder.name, f"no file {' or '.join(patterns)} in {self.folder}")
        return found

    def problem(self, file: str, reason: str, *, line: int = 0, record_id: str = "", field: str = "") -> None:
        """Note one problem."""
        self.problems.append(RecordProblem(file=file, line=line, record_id=record_id, field=field, reason=reason))

    def reject(self, row: Row, reason: str, *, field: str = "", record_id: str = "") -> None:
        """Note that ``row`` is unusable; the field of an array element starts with its index, as in ``[3].db_id``."""
        place = f"[{row.index}].{field}".rstrip(".") if row.element else field
        self.problem(row.file, reason, line=row.line, record_id=record_id, field=place)

    def add(self, row: Row, build: Callable[[Row], Instruction]) -> None:
        """Build the instruction of a row and keep it, or note why not; a second one of the same id is a problem."""
        try:
            instruction = build(row)
        except RecordError as error:
            self.reject(row, error.reason, field=error.field or "", record_id=guess_id(row.value))
            return
        key, place = instruction.instruction_id, f"{row.file}:{row.line}"
        if key in self._seen:
            self.reject(row, f"duplicate id; the first one stands at {self._seen[key]}", record_id=key)
            return
        self._seen[key] = place
        origin = {**instruction.metadata, "file": row.file, "line": row.line}
        self.instructions.append(instruction.model_copy(update={"metadata": origin}))

    def note(self, path: Path, *, rows: int) -> None:
        """Note the provenance of a file that was read. Raises StorageError when it is unreadable."""
        name = path.relative_to(self.folder).as_posix()
        self.files.append(FileProvenance(name, file_sha256(path), rows, path.stat().st_size))

    def reading(self) -> Reading:
        """Everything gathered."""
        return Reading(tuple(self.instructions), tuple(self.problems), tuple(self.files))

    def rows(self, path: Path) -> list[Row]:
        """All object rows of a ``.json`` array (or single object), else of JSON Lines, plain or gzip."""
        reader = array_rows if path.suffix == ".json" else line_rows
        return self._record(path, reader)

    def lines(self, path: Path) -> list[Row]:
        """All object rows of JSON Lines whatever the file is called."""
        return self._record(path, line_rows)

    def _record(self, path: Path, reader: Callable[[Collector, Path, str], Iterator[Row]]) -> list[Row]:
        name = path.relative_to(self.folder).as_posix()
        try:
            known = len(self.problems)
            rows = list(reader(self, path, name))
            bad = sum(1 for problem in self.problems[known:] if problem.line)
            self.note(path, rows=len(rows) + bad)
        except InputError as error:
            self.problem(name, str(error))
            return []
        except (OSError, StorageError) as error:
            self.problem(name, f"cannot be read: {error}")
            return []
        if not rows and not bad:
            self.problem(name, "holds no rows")
        return rows


def line_rows(collector: Collector, path: Path, name: str) -> Iterator[Row]:
    """Object rows of JSON Lines; blank lines are skipped but counted. Raises OSError or InputError: no such text."""
    for number, raw in enumerate(_raw_lines(collector, path, name), start=1):
        data = raw.removeprefix(b"\xef\xbb\xbf") if number == 1 else raw
        if not data.strip():
            continue
        try:
            yield Row(name, number, number - 1, _as_object(parse_json(data)))
        except RecordError as error:
            collector.problem(name, error.reason, line=number)


def array_rows(collector: Collector, path: Path, name: str) -> Iterator[Row]:
    """Object elements of a JSON array, or the file's one object. After broken JSON the rest of the file is lost."""
    data = _whole(collector, path, name).removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        collector.problem(name, f"is not UTF-8 (byte {error.start})", line=data.count(b"\n", 0, error.start) + 1)
        return
    if not text.strip():
        return
    if not text.lstrip().startswith("["):
        yield from _one_object(collector, name, text)
        return
    for element in array_elements(text):
        row = Row(name, element.line, element.index, {}, element=True)
        try:
            if element.fault:
                raise RecordError(element.fault)
            yield replace(row, value=_as_object(element.value))
        except RecordError as error:
            collector.reject(row, error.reason)


def _one_object(collector: Collector, name: str, text: str) -> Iterator[Row]:
    try:
        yield Row(name, text[: len(text) - len(text.lstrip())].count("\n") + 1, 0, _as_object(parse_json(text)))
    except RecordError as error:
        collector.problem(name, error.reason, line=1)


def guess_id(value: dict[str, Json]) -> str:
    """The id a row seems to carry, for messages only."""
    for key in ("task_id", "question_id", "example_id", "id", "topic_id", "dev_index"):
        found = value.get(key)
        if isinstance(found, str | int) and not isinstance(found, bool):
            return str(found)[:80]
    return ""


def _whole(collector: Collector, path: Path, name: str) -> bytes:
    with path.open("rb") as plain:
        try:
            data = unpacked(plain, "it").read(LARGEST_UNPACKED)
        except BROKEN_GZIP as error:
            collector.problem(name, f"broken or truncated gzip, nothing of it can be read: {error}", line=1)
            return b""
    if len(data) == LARGEST_UNPACKED:
        collector.problem(name, "file is too large; nothing of it is read", line=1)
        return b""
    return data


def _raw_lines(collector: Collector, path: Path, name: str) -> Iterator[bytes]:
    with path.open("rb") as plain:
        packed = plain.peek(2).startswith(GZIP)
        stream = unpacked(plain, "it")
        total = number = 0
        try:
            while line := stream.readline(LONGEST_LINE):
                number, total = number + 1, total + len(line)
                if len(line) >= LONGEST_LINE or (packed and total > LARGEST_UNPACKED):
                    collector.problem(name, "line or file is too large; the rest is not read", line=number)
                    return
                yield line
        except BROKEN_GZIP as error:
            collector.problem(name, f"broken or truncated gzip, the rest is lost: {error}", line=number + 1)


def _as_object(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise RecordError(f"must be a JSON object, is {type(value).__name__}")
    return value
