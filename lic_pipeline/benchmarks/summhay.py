"""Summary of a Haystack: topics with documents and insights, ``*.json`` -> summary ``summhay/<topic>/<subtopic>``.

A file holds one topic or a list of topics; each subtopic is one instruction. ``judge_benchmark.json`` holds people's
judgements of summaries, not topics, and is left alone. How documents are shown to a model is in ``summhay_text``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from lic_pipeline.benchmarks.fields import need_id, need_objects, need_text
from lic_pipeline.benchmarks.rawfiles import Collector, Reading, Row, guess_id
from lic_pipeline.benchmarks.summhay_text import build_text
from lic_pipeline.errors import RecordError
from lic_pipeline.records import Instruction, Json

GLOBS = ("*.json",)
NOT_TOPICS = frozenset({"judge_benchmark.json"})


def read(folder: Path) -> Reading:
    """All subtopics of all topics below ``folder``."""
    collector = Collector(folder)
    for path in collector.find(*GLOBS):
        if path.name not in NOT_TOPICS:
            for row in collector.rows(path):
                _add_topic(collector, row)
    return collector.reading()


def build(
    instruction_id: str,
    topic: str,
    query: str,
    documents: Sequence[Mapping[str, Json]],
    insights: Sequence[Mapping[str, Json]],
    citations: Mapping[str, Json] | None,
) -> Instruction:
    """The instruction over exactly these documents (each with ``document_index``); insights none of them holds go.

    ``citations`` maps insight ids to document indexes; None = ``insights_included`` of the documents says it.
    Raises RecordError naming the field.
    """
    shown = [{key: document.get(key) for key in ("document_index", "document_text")} for document in documents]
    text = build_text(shown, topic, query)
    given = [document["document_index"] for document in documents]
    kept = [_insight(insight, place, given, documents, citations) for place, insight in enumerate(insights)]
    names = [insight["insight_id"] for insight in kept]
    if len(set(names)) != len(names):
        raise RecordError("an insight_id stands twice", field="insights")
    kept = [insight for insight in kept if insight["citations"]]
    if not kept:
        raise RecordError("no insight is in any of the documents given", field="insights")
    return Instruction(
        instruction_id=instruction_id,
        task="summary",
        benchmark="summhay",
        text=text,
        context={"topic": topic.strip(), "query": query.strip(), "documents": shown},
        reference={"insights": kept},
    )


def _add_topic(collector: Collector, row: Row) -> None:
    try:
        topic_id, topic = need_id(row.value, "topic_id"), need_text(row.value, "topic")
        documents = _numbered(need_objects(row.value, "documents"))
        subtopics = need_objects(row.value, "subtopics")
    except RecordError as error:
        collector.reject(row, error.reason, field=error.field or "", record_id=guess_id(row.value))
        return
    citations = row.value.get("insightid2ref_citations")
    for place, subtopic in enumerate(subtopics):
        collector.add(row, lambda _, s=subtopic, p=place: _subtopic(topic_id, topic, documents, s, p, citations))  # type: ignore[misc]


def _subtopic(
    topic_id: str,
    topic: str,
    documents: Sequence[Mapping[str, Json]],
    subtopic: Mapping[str, Json],
    place: int,
    citations: Json,
) -> Instruction:
    try:
        cited = subtopic.get("insightid2ref_citations", citations)
        if cited is not None and not isinstance(cited, Mapping):
            raise RecordError("must be an object", field="insightid2ref_citations")
        given = _given(documents, subtopic.get("doc_indices"), cited)
        name = f"summhay/{topic_id}/{need_id(subtopic, 'subtopic_id')}"
        return build(name, topic, need_text(subtopic, "query"), given, need_objects(subtopic, "insights"), cited)
    except RecordError as error:
        raise RecordError(error.reason, field=f"subtopics[{place}].{error.field or ''}".rstrip(".")) from error


def _numbered(documents: Sequence[Mapping[str, Json]]) -> list[Mapping[str, Json]]:
    """Documents without any index are numbered from 1, as the benchmark's citations do; exact copies are dropped."""
    if not any("document_index" in document for document in documents):
        return [{**document, "document_index": number} for number, document in enumerate(documents, start=1)]
    kept: list[Mapping[str, Json]] = []
    for document in documents:
        if document not in kept:
            kept.append(document)
    return kept


def _given(
    documents: Sequence[Mapping[str, Json]], indexes: Json, citations: Mapping[str, Json] | None
) -> list[Mapping[str, Json]]:
    if indexes is None:
        return list(documents)
    if not isinstance(indexes, list):
        raise RecordError("must be a list of document indexes", field="doc_indices")
    copies = [(index, [d for d in documents if d.get("document_index") == index]) for index in indexes]
    missing = [index for index, found in copies if not found]
    if missing:
        raise RecordError(f"no documents with the indexes {missing}", field="doc_indices")
    return [found[0] if len(found) == 1 else _cited_copy(index, found, citations or {}) for index, found in copies]


def _cited_copy(index: int, copies: Sequence[Mapping[str, Json]], citations: Mapping[str, Json]) -> Mapping[str, Json]:
    """Subtopics may number documents differently; the right one is cited for every insight it includes."""
    fitting = [
        document
        for document in copies
        if all(index in (citations.get(name) or []) for name in document.get("insights_included") or [None])
    ]
    if len(fitting) != 1:
        raise RecordError(f"document_index {index} stands {len(copies)} times, unclear which one", field="documents")
    return fitting[0]


def _insight(
    insight: Mapping[str, Json],
    place: int,
    given: Sequence[int],
    documents: Iterable[Mapping[str, Json]],
    citations: Mapping[str, Json] | None,
) -> dict[str, Json]:
    label = f"insights[{place}]"
    text = need_text(insight, "insight", label=f"{label}.insight").strip()
    name = insight.get("insight_id")
    if not isinstance(name, str) or not name:
        raise RecordError("must be a string that is not empty", field=f"{label}.insight_id")
    if citations is None:
        held = [d["document_index"] for d in documents if name in (d.get("insights_included") or [])]
    else:
        held = citations.get(name, [])
        if not isinstance(held, list) or not all(isinstance(i, int) and not isinstance(i, bool) for i in held):
            raise RecordError(f"{name} must have a list of document indexes", field="insightid2ref_citations")
    return {"insight_id": name, "insight": text, "citations": [index for index in given if index in set(held)]}
