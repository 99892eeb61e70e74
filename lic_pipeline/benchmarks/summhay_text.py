"""What a user says in Summary of a Haystack: documents as text, the FULL message, the shards by rule.

Wording stands in ``prompts/summary``. Nothing here reads files or scores; readers of raw files and released records
call this. A document is ``{"document_index": int, "document_text": str}``; further keys are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lic_pipeline.errors import RecordError
from lic_pipeline.prompts import render
from lic_pipeline.records import Json, Shard

BATCH_SIZE = 10
Document = Mapping[str, Json]


def documents_message(documents: Sequence[Document]) -> str:
    """The documents in the given order, each under a line ``Document [index]``.

    Raises RecordError (field ``documents``) for none at all, a wrong shape, or an index that stands twice.
    """
    _index_texts(documents)
    return "\n".join(
        render("summary/document", index=str(document["document_index"]), text=str(document["document_text"]).strip())
        for document in documents
    )


def build_text(documents: Sequence[Document], topic: str, query: str) -> str:
    """The FULL message: topic, question, request for cited bullets, all documents. Raises RecordError."""
    return _intent(documents, topic, query)


def build_shards(
    documents: Sequence[Document], topic: str, query: str, batches: Sequence[Sequence[int]] | None = None
) -> tuple[Shard, ...]:
    """Shards by rule: batches of at most ``BATCH_SIZE`` documents in order, the first with the request itself.

    ``batches`` (released records: ``doc_idxs``) lists the document indexes of each shard instead; an empty batch gives
    no shard. Each shard names its ``documents``. Raises RecordError when a batch names an unknown document, names one
    twice, or a document is in no batch.
    """
    by_index = _index_texts(documents)
    known = list(by_index)
    if batches is None:
        batches = [known[start : start + BATCH_SIZE] for start in range(0, len(known), BATCH_SIZE)]
    batches = [list(batch) for batch in batches if len(batch)]
    handed = [index for batch in batches for index in batch]
    if sorted(handed) != sorted(known):
        wrong = sorted(set(handed) ^ set(known)) or sorted({i for i in handed if handed.count(i) > 1})
        raise RecordError(f"every document must be in exactly one batch; not so: {wrong}", field="shards")
    shards = []
    for number, batch in enumerate(batches, start=1):
        part = [by_index[index] for index in batch]
        text = _intent(part, topic, query) if number == 1 else render("summary/more", documents=documents_message(part))
        shards.append(Shard(shard_id=number, text=text, documents=tuple(batch)))
    return tuple(shards)


def _intent(documents: Sequence[Document], topic: str, query: str) -> str:
    for name, value in (("topic", topic), ("query", query)):
        if not isinstance(value, str) or not value.strip():
            raise RecordError("missing or empty", field=name)
    return render("summary/intent", topic=topic.strip(), query=query.strip(), documents=documents_message(documents))


def _index_texts(documents: Sequence[Document]) -> dict[int, Document]:
    if isinstance(documents, str | bytes | Mapping) or not documents:
        raise RecordError("missing or empty; a list of documents is needed", field="documents")
    by_index: dict[int, Document] = {}
    for document in documents:
        index = document.get("document_index") if isinstance(document, Mapping) else None
        if not isinstance(index, int) or isinstance(index, bool):
            raise RecordError("a document has no whole-number document_index", field="documents")
        if not isinstance(document.get("document_text"), str) or not document["document_text"].strip():
            raise RecordError(f"document {index} has no document_text", field="documents")
        if index in by_index:
            raise RecordError(f"document_index {index} stands twice", field="documents")
        by_index[index] = document
    return by_index
