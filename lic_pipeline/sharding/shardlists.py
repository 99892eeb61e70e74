"""Lists of shards as files hold them (``[{shard_id, shard, doc_idxs?}]``) -> checked ``Shard`` records.

Released records, plain records and our sidecar share this form. Making shards out of instructions is done elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping

from lic_pipeline.benchmarks.fields import kind_of, need_list
from lic_pipeline.benchmarks.summhay_text import build_shards
from lic_pipeline.errors import RecordError
from lic_pipeline.records import Instruction, Json, Shard


def parse_shards(record: Mapping[str, Json]) -> tuple[Shard, ...]:
    """Shards with text, ordered by their ids and numbered from 1. Plain strings are taken in their order.

    The published description calls the text ``shard_text``, the data ``shard``; both are read. Raises RecordError.
    """
    entries = _ordered(record)
    return tuple(Shard(shard_id=n, text=_text(entry, place)) for n, (place, entry) in enumerate(entries, start=1))


def parse_batches(record: Mapping[str, Json]) -> list[list[int]]:
    """The document indexes of each shard (``doc_idxs``), in order. Raises RecordError."""
    batches = []
    for place, entry in _ordered(record):
        batch = entry.get("doc_idxs") if isinstance(entry, Mapping) else None
        if not isinstance(batch, list) or not all(isinstance(i, int) and not isinstance(i, bool) for i in batch):
            raise RecordError("must be a list of document indexes", field=f"shards[{place}].doc_idxs")
        batches.append(batch)
    return batches


def shards_for(record: Mapping[str, Json], instruction: Instruction) -> tuple[Shard, ...]:
    """The shards of ``record`` for this instruction; summary shards get their text from the documents they name.

    Raises RecordError naming the field.
    """
    if instruction.task != "summary":
        return parse_shards(record)
    context = instruction.context
    return build_shards(context["documents"], context["topic"], context["query"], parse_batches(record))


def _ordered(record: Mapping[str, Json]) -> list[tuple[int, Json]]:
    entries = list(enumerate(need_list(record, "shards")))
    if all(isinstance(entry, str) for _, entry in entries):
        return entries
    ids: set[int] = set()
    for place, entry in entries:
        if not isinstance(entry, Mapping):
            raise RecordError(f"must be an object, is {kind_of(entry)}", field=f"shards[{place}]")
        number = entry.get("shard_id")
        if not isinstance(number, int) or isinstance(number, bool):
            raise RecordError(f"must be a whole number, is {kind_of(number)}", field=f"shards[{place}].shard_id")
        if number in ids:
            raise RecordError(f"{number} stands twice", field=f"shards[{place}].shard_id")
        ids.add(number)
    return sorted(entries, key=lambda numbered: int(numbered[1]["shard_id"]))


def _text(entry: Json, place: int) -> str:
    text = entry if isinstance(entry, str) else entry.get("shard", entry.get("shard_text"))
    if not isinstance(text, str):
        raise RecordError(f"must be a string, is {kind_of(text)}", field=f"shards[{place}].shard")
    if not text.strip():
        raise RecordError("is empty", field=f"shards[{place}].shard")
    return text
