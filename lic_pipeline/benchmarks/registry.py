"""The benchmarks we read, and which copy of each is used: LIC_DATA, else a fetched copy, else our embedded sample.

Each benchmark is decided alone: a folder LIC_DATA lacks falls through to the next place. Formats are the readers'.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lic_pipeline.benchmarks import bfcl, gsm8k, humaneval, livecodebench, spider, summhay, totto
from lic_pipeline.benchmarks.rawfiles import Reading
from lic_pipeline.config import Home, data_path, raw_data_folder
from lic_pipeline.errors import InputError, UnknownNameError

SourceKind = Literal["lic_data", "fetched", "embedded"]


@dataclass(frozen=True)
class Reader:
    """One benchmark: its task, what it is, whose licence its data has, folder name, files, and the reading function."""

    benchmark: str
    task: str
    title: str
    license: str
    folder: str
    globs: tuple[str, ...]
    read: Callable[[Path], Reading]


@dataclass(frozen=True)
class Source:
    """The copy of a benchmark that is used."""

    benchmark: str
    kind: SourceKind
    folder: Path


_ALL = (
    Reader("humaneval", "code", "HumanEval", "MIT", "humaneval", humaneval.GLOBS, humaneval.read),
    Reader(
        "livecodebench",
        "code",
        "LiveCodeBench",
        "problem owners'",
        "livecodebench",
        livecodebench.GLOBS,
        livecodebench.read,
    ),
    Reader("spider", "database", "Spider", "CC BY-SA 4.0", "spider", spider.GLOBS, spider.read),
    Reader("bfcl", "actions", "Berkeley Function-Calling Leaderboard", "Apache-2.0", "bfcl", bfcl.GLOBS, bfcl.read),
    Reader("gsm8k", "math", "GSM8K", "MIT", "gsm8k", gsm8k.GLOBS, gsm8k.read),
    Reader("totto", "data2text", "ToTTo", "CC BY-SA 3.0", "totto", totto.GLOBS, totto.read),
    Reader("summhay", "summary", "Summary of a Haystack", "Apache-2.0", "summhay", summhay.GLOBS, summhay.read),
)
READERS: Mapping[str, Reader] = {reader.benchmark: reader for reader in _ALL}


def reader(benchmark: str) -> Reader:
    """The reader of a benchmark. Raises UnknownNameError listing the known ones."""
    if benchmark not in READERS:
        raise UnknownNameError("benchmark", benchmark, list(READERS))
    return READERS[benchmark]


def benchmarks_of(task: str) -> tuple[str, ...]:
    """Names of the benchmarks that feed a task, in the order of the registry."""
    return tuple(name for name, known in READERS.items() if known.task == task)


def samples_folder() -> Path:
    """Folder of our own samples."""
    return data_path() / "samples"


def locate(benchmark: str) -> Source:
    """The copy of a benchmark to read. Raises InputError naming the places looked at when none is there."""
    name = reader(benchmark).folder
    raw = raw_data_folder()
    places: list[tuple[SourceKind, Path]] = [("lic_data", raw / name)] if raw else []
    places += [("fetched", Home.locate().fetched / name), ("embedded", samples_folder() / name)]
    for kind, folder in places:
        if folder.is_dir():
            return Source(benchmark, kind, folder)
    looked = ", ".join(str(folder) for _, folder in places)
    raise InputError(f"benchmark {benchmark} is nowhere: looked at {looked}; run `lic fetch`, or set LIC_DATA")


def read_source(source: Source) -> Reading:
    """Read one copy; each instruction's ``source`` says which kind of copy it came from."""
    found = reader(source.benchmark).read(source.folder)
    named = tuple(item.model_copy(update={"source": source.kind}) for item in found.instructions)
    return Reading(named, found.problems, found.files)
