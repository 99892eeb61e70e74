"""Score rows from a JSON Lines file (`lic metrics`): read, checked line by line, and turned into two narrow tables.

A bad line is data: it is named with its number and reason and left out, good lines survive.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import pyarrow as pa

from lic_pipeline.errors import plain_words
from lic_pipeline.metrics.statistics.reliability import IntArray
from lic_pipeline.signatures import build

_NAMES = ("model", "task", "setting", "instruction_id")
_FIELDS = (*_NAMES, "run", "score")
T = TypeVar("T", str, tuple[str, str, str, str])


@dataclass(frozen=True)
class BadLine:
    """A line that was left out: its number (from 1) and why."""

    line: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.reason}"


@dataclass
class ScoreRows:
    """Checked rows, compact: per row the instruction (index into ``keys``), the run (index into ``runs``), score, line.

    ``keys`` are (model, task, setting, instruction_id); a null score is NaN in ``scores`` and counts as missing.
    """

    keys: list[tuple[str, str, str, str]] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    key_of: array[int] = field(default_factory=lambda: array("q"))
    run_of: array[int] = field(default_factory=lambda: array("q"))
    scores: array[float] = field(default_factory=lambda: array("d"))
    lines: array[int] = field(default_factory=lambda: array("q"))
    bad: list[BadLine] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.scores)


def read_rows(lines: Iterable[bytes]) -> ScoreRows:
    """Read rows ``{model, task, setting, instruction_id, run, score}``; blank lines and other fields are skipped."""
    rows = ScoreRows()
    key_index: dict[tuple[str, str, str, str], int] = {}
    run_index: dict[str, int] = {}
    for number, raw in enumerate(lines, start=1):
        if not raw.strip():
            continue
        try:
            *names, run, score = _checked(raw, first=number == 1)
        except ValueError as error:
            rows.bad.append(BadLine(number, str(error)))
            continue
        key = (names[0], names[1], names[2], names[3])
        rows.key_of.append(key_index.setdefault(key, len(key_index)))
        rows.run_of.append(run_index.setdefault(run, len(run_index)))
        rows.scores.append(float("nan") if score is None else score)
        rows.lines.append(number)
    rows.keys, rows.runs = list(key_index), list(run_index)
    return _sorted_without_repeats(rows)


def _checked(raw: bytes, first: bool) -> tuple[str, str, str, str, str, float | None]:
    try:
        text = raw.decode("utf-8-sig" if first else "utf-8")
        row = _DECODER.decode(text)
    except UnicodeDecodeError:
        raise ValueError("not UTF-8 text") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not a JSON object ({error.msg} at column {error.colno})") from None
    except RecursionError:
        raise ValueError("not a JSON object (nested too deeply)") from None
    except ValueError as error:
        raise ValueError(f"not a JSON object ({plain_words(error)})") from None
    if not isinstance(row, dict):
        raise ValueError("not a JSON object")
    for name in _FIELDS:
        if name not in row:
            raise ValueError(f"{name} is missing")
    model, task, setting = (_named(row[name], name) for name in _NAMES[:3])
    instruction, run = (_identity(row[name], name) for name in ("instruction_id", "run"))
    return model, task, setting, instruction, run, _score(row)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def _named(value: object, name: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{name} must be a non-empty string")
    return _storable(value, name)


def _identity(value: object, name: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        raise ValueError(f"{name} must be a non-empty string or an integer")
    return _storable(str(value), name)


def _storable(text: str, name: str) -> str:
    if not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError(f"{name} holds half of a surrogate pair, which is no text")
    return text


def _score(row: dict[str, object]) -> float | None:
    score = row["score"]
    if score is None:
        return None
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise ValueError("score must be a number in 0..100 or null")
    if not 0 <= score <= 100:
        shown = f"{score:g}" if isinstance(score, float) or abs(score) < 10**15 else "a huge number"
        raise ValueError(f"score must lie in 0..100, got {shown}")
    return float(score)


def _sorted_without_repeats(rows: ScoreRows) -> ScoreRows:
    """Rows by key and run, so that no result depends on their order; of repeated ones the first in the file stays."""
    keys, key_rank = _ranked(rows.keys)
    runs, run_rank = _ranked(rows.runs)
    key_of = key_rank[np.frombuffer(rows.key_of, dtype=np.int64)]
    run_of = run_rank[np.frombuffer(rows.run_of, dtype=np.int64)]
    order = np.lexsort((np.arange(len(rows)), run_of, key_of))
    key_of, run_of = key_of[order], run_of[order]
    repeats = np.zeros(len(rows), dtype=bool)
    repeats[1:] = (np.diff(key_of) == 0) & (np.diff(run_of) == 0)
    lines = np.frombuffer(rows.lines, dtype=np.int64)[order]
    bad = [
        BadLine(int(lines[i]), f"repeats an earlier row ({', '.join(keys[key_of[i]])}, run {runs[run_of[i]]})")
        for i in np.flatnonzero(repeats)
    ]
    kept = ~repeats
    return ScoreRows(
        keys=keys,
        runs=runs,
        key_of=array("q", key_of[kept].tobytes()),
        run_of=array("q", run_of[kept].tobytes()),
        scores=array("d", np.frombuffer(rows.scores)[order][kept].tobytes()),
        lines=array("q", lines[kept].tobytes()),
        bad=sorted([*rows.bad, *bad], key=lambda one: one.line),
    )


def _ranked(values: list[T]) -> tuple[list[T], IntArray]:
    """The values sorted, and for each old place its new one."""
    places = sorted(range(len(values)), key=values.__getitem__)
    rank = np.empty(len(values), dtype=np.int64)
    rank[places] = np.arange(len(values))
    return [values[i] for i in places], rank


def tables_of(rows: ScoreRows) -> tuple[pa.Table, pa.Table]:
    """The rows as two narrow tables: instructions by key, and one line per planned run with its score.

    Target N of a cell is the largest number of rows of any of its instructions; every instruction of the cell is
    planned that often, so runs that others have and it has not are missing: lines with ``present`` false.
    """
    count = len(rows.keys)
    key_of = np.frombuffer(rows.key_of, dtype=np.int64)
    per_key = np.bincount(key_of, minlength=count)
    target: dict[tuple[str, str, str], int] = {}
    for key, n in zip(rows.keys, per_key, strict=True):
        target[key[:3]] = max(target.get(key[:3], 0), int(n))
    lacking = np.array([target[key[:3]] for key in rows.keys], dtype=np.int64) - per_key
    phantom = np.repeat(np.arange(count), lacking)
    scores = np.concatenate((np.frombuffer(rows.scores), np.full(len(phantom), np.nan)))
    planned = {
        "key": np.concatenate((key_of, phantom)),
        "place": np.arange(len(scores)),
        "score": pa.array(scores, mask=np.isnan(scores)),
        "present": np.arange(len(scores)) < len(rows),
    }
    keys: dict[str, list[str] | IntArray] = {
        name: [key[i] for key in rows.keys] for i, name in enumerate(("model", "task", "setting", "instruction_id"))
    }
    keys["signature"] = [build({"task": task, "setting": setting}) for _, task, setting, _ in rows.keys]
    names = pa.table({name: pa.array(values, pa.string()) for name, values in keys.items()})
    return names.append_column("key", pa.array(np.arange(count))), pa.table(planned)
