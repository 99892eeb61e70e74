"""Log files as numbered lines, plain or gzipped, one line in memory at a time. What a line means is read elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lic_pipeline.errors import RecordError
from lic_pipeline.lake.inputs import input_lines, open_input
from lic_pipeline.logs.reading.concat_shards import shard_texts
from lic_pipeline.logs.reading.parse_trace import read_trace
from lic_pipeline.logs.reading.reference_names import SETTINGS, instruction_id, kind_of, task_named
from lic_pipeline.records import Json, Setting
from lic_pipeline.scoring.input_lines import parse_object

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def numbered_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Non-blank lines with their numbers from 1. Raises InputError naming the file when it cannot be read."""
    with open_input(path) as handle:
        for number, raw in enumerate(input_lines(handle, str(path)), start=1):
            if raw.strip():
                yield number, raw


def listed_shards(
    paths: Sequence[Path], settings: Mapping[str, Setting] = SETTINGS
) -> dict[tuple[str, str], tuple[str, ...]]:
    """Shards by (task, instruction id) as the CONCAT messages of these files list them; the first message counts.

    Lines that cannot be read are passed over: they are reported when the conversations are read. Raises InputError.
    """
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    # The name stands in every line of a CONCAT conversation, whatever JSON writer made it; others need no second parse.
    names = [f'"{name}'.encode() for name, setting in settings.items() if setting is Setting.CONCAT]
    for path in paths:
        for _, raw in numbered_lines(path):
            spelled = raw.lower().replace(b"_", b"-")
            if not any(name in spelled for name in names):
                continue
            try:
                fields = log_fields(raw)
                if kind_of(str(fields.get("conv_type")), settings).setting is not Setting.CONCAT:
                    continue
                task = task_named(str(fields.get("task")))
                key = task, instruction_id(str(fields.get("task_id")), task)
                if key not in found and (texts := shard_texts(read_trace(fields.get("trace")).turns[0].user)):
                    found[key] = texts
            except RecordError:
                continue
    return found


def log_fields(raw: bytes) -> Mapping[str, Json]:
    """The object of one line; lone surrogates, which no file can hold, become U+FFFD. Raises RecordError."""
    fields = parse_object(raw)
    if _SURROGATE.search(raw) is None:
        return fields
    cleaned: Mapping[str, Json] = _storable(fields)
    return cleaned


def _storable(value: Json) -> Json:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_storable(item) for item in value]
    if isinstance(value, dict):
        return {_storable(name): _storable(item) for name, item in value.items()}
    return value
