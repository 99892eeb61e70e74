"""Released sharded records -> instruction and shards, joined with the benchmark files at hand.

The benchmark's own row wins when it asks the same thing: it has tests, references and databases that records lack.
When the ids coincide but the content differs (other documents, another edition, our own samples under the same number),
the record keeps its content under ``released/<id>``. Storing the records is done in ``release_store``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Literal

from lic_pipeline.benchmarks import bfcl, gsm8k, humaneval, livecodebench, spider, summhay, totto
from lic_pipeline.benchmarks.fields import any_text, need_id, need_list, need_object, need_objects, need_text
from lic_pipeline.benchmarks.spider_databases import Databases
from lic_pipeline.errors import RecordError
from lic_pipeline.records import Instruction, Json, ShardedInstruction
from lic_pipeline.sharding.shardlists import shards_for

Record = Mapping[str, Json]
OLD_NAMES = {"python": "code", "apis": "actions"}
SET_ASIDE = {"translation": "translation is not a task of this pipeline"}


@dataclass(frozen=True)
class Joins:
    """What the current sources hold: instructions by id, and the databases of Spider."""

    instructions: Mapping[str, Instruction]
    databases: Databases


@dataclass(frozen=True)
class Interpreted:
    """What became of one record; ``instruction`` and ``sharded`` are there when it is usable.

    A plain record without shards is usable without ``sharded``.
    """

    record_id: str
    task: str
    outcome: Literal["usable", "set_aside", "unusable"]
    reason: str = ""
    field: str = ""
    instruction: Instruction | None = None
    sharded: ShardedInstruction | None = None


def interpret(record: Record, joins: Joins) -> Interpreted:
    """Make a released record usable, or say why not. Never raises on any JSON object."""
    name = record.get("task_id")
    record_id = name if isinstance(name, str) else ""
    task = task_of(record)
    if task in SET_ASIDE:
        return Interpreted(record_id, task, "set_aside", SET_ASIDE[task])
    try:
        need_text(record, "task_id")
        if task not in _BUILDERS:
            raise RecordError(f"{task!r} is no task with released records", field="task")
        instruction = _joined(record, task, joins)
        sharded = ShardedInstruction(
            instruction_id=instruction.instruction_id,
            task=task,
            shards=shards_for(record, instruction),
            provenance="released",
        )
    except RecordError as error:
        return Interpreted(record_id, task, "unusable", error.reason, error.field or "")
    return Interpreted(record_id, task, "usable", instruction=instruction, sharded=sharded)


def task_of(record: Record) -> str:
    """The task a record names, older names included; "" when it names none."""
    named = record.get("task")
    return OLD_NAMES.get(named, named) if isinstance(named, str) else ""


def instruction_id_of(record: Record, task: str) -> str:
    """The id of the benchmark row a record was made from; ``released/<task_id>`` when its name does not tell."""
    name = need_text(record, "task_id").strip()
    if task == "summary" and record.get("topic_id") and record.get("subtopic_id"):
        return f"summhay/{need_id(record, 'topic_id')}/{need_id(record, 'subtopic_id')}"
    if task == "code" and record.get("source") != "humaneval" and record.get("question_id"):
        return f"livecodebench/{need_id(record, 'question_id')}"
    for pattern, form in _ID_FORMS:
        if found := pattern.fullmatch(name):
            return form.format(*found.groups())
    return f"released/{name}"


def _joined(record: Record, task: str, joins: Joins) -> Instruction:
    instruction_id = instruction_id_of(record, task)
    row = joins.instructions.get(instruction_id)
    if row is not None and _asks_the_same(record, row):
        return row
    if row is not None:
        instruction_id = f"released/{instruction_id}"
    built = _BUILDERS[task](record, instruction_id, joins)
    metadata = {**built.metadata, "released_id": record["task_id"]}
    return built.model_copy(update={"source": "released", "metadata": metadata})


def _asks_the_same(record: Record, row: Instruction) -> bool:
    """True when the record carries the row's question; a record without its question is taken at its id's word."""
    match row.task:
        case "data2text":
            return _table_metadata(record) == {key: row.metadata.get(key) for key in _TABLE_KEYS}
        case "summary":
            same = _documents(need_objects(record, "documents")) == _documents(row.context["documents"])
            return same and _squeezed(need_text(record, "query")) == _squeezed(row.context["query"])
        case "actions":
            return _squeezed(bfcl.question_text(record, "fully_specified_question")) == _squeezed(row.text)
        case "database":
            same = _squeezed(need_text(record, "fully_specified_question")) == _squeezed(row.text)
            return same and record.get("db_id") == row.reference["db_id"]
        case "code" if row.benchmark == "humaneval":
            return _squeezed(need_text(record, "prompt")) == _squeezed(row.reference["prompt"])
        case "code":
            return row.text.startswith(need_text(record, "question_content").strip())
        case _:
            return _squeezed(need_text(record, "question")) == _squeezed(row.text)


def _math(record: Record, instruction_id: str, _: Joins) -> Instruction:
    return gsm8k.build(record, instruction_id)


def _code(record: Record, instruction_id: str, _: Joins) -> Instruction:
    if record.get("source") != "humaneval" and "question_content" in record:
        return livecodebench.build(record, instruction_id)
    name = need_text(need_object(record, "metadata"), "func_name", label="metadata.func_name")
    return humaneval.build({**record, "entry_point": name}, instruction_id)


def _database(record: Record, instruction_id: str, joins: Joins) -> Instruction:
    fields = {"question": "fully_specified_question", "query": "reference_sql"}
    return spider.build(record, instruction_id, joins.databases, **fields)


def _actions(record: Record, instruction_id: str, _: Joins) -> Instruction:
    question = {"question": need_list(record, "fully_specified_question")}
    calls = {"ground_truth": need_objects(record, "reference_answer")}
    return bfcl.build(instruction_id, question, record, calls)


def _data2text(record: Record, instruction_id: str, _: Joins) -> Instruction:
    return totto.build(instruction_id, _table_metadata(record), need_list(record, "references"))


def _summary(record: Record, instruction_id: str, _: Joins) -> Instruction:
    citations = record.get("insightid2ref_citations")
    return summhay.build(
        instruction_id,
        need_text(record, "topic"),
        need_text(record, "query"),
        need_objects(record, "documents"),
        need_objects(record, "insights"),
        None if citations is None else need_object(record, "insightid2ref_citations"),
    )


def _table_metadata(record: Record) -> dict[str, Json]:
    about = need_object(record, "metadata")
    return {
        "table": need_list(record, "raw_table"),
        "highlighted_cells": _highlighted(need_text(record, "table_highlighted_html")),
        "page_title": need_text(about, "table_page_title", label="metadata.table_page_title"),
        "section_title": any_text(about, "table_section_title", label="metadata.table_section_title"),
        "section_text": any_text(about, "table_section_text", label="metadata.table_section_text"),
    }


class _Cells(HTMLParser):
    """Collects [row, cell] of the cells whose class says highlighted; records hold these in HTML only."""

    def __init__(self) -> None:
        super().__init__()
        self.row, self.cell = -1, -1
        self.found: list[list[int]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self.row, self.cell = self.row + 1, -1
        elif tag in ("td", "th"):
            self.cell += 1
            if "highlight" in (dict(attrs).get("class") or ""):
                self.found.append([self.row, self.cell])


def _highlighted(text: str) -> list[list[int]]:
    cells = _Cells()
    cells.feed(text)
    cells.close()
    if not cells.found:
        raise RecordError("marks no cell as highlighted", field="table_highlighted_html")
    return cells.found


def _documents(documents: Sequence[Record]) -> set[tuple[str, str]]:
    return {(str(document.get("document_index")), str(document.get("document_text"))) for document in documents}


def _squeezed(text: str) -> str:
    return " ".join(text.split())


_TABLE_KEYS = ("table", "highlighted_cells", "page_title", "section_title", "section_text")
_ID_FORMS = tuple(
    (re.compile(rf"(?:sharded-)?{pattern}"), form)
    for pattern, form in (
        (r"GSM8K/(\d+)", "gsm8k/{}"),
        (r"HumanEval/(\d+)", "humaneval/{}"),
        (r"(?:lcb|livecodebench)[^/]*/(.+)", "livecodebench/{}"),
        (r"spider-val-(\d+)(?:-\w+)?", "spider/{}"),
        (r"BFCL/(\w+)", "bfcl/{}"),
        (r"totto_(-?\d+)", "totto/{}"),
    )
)
_BUILDERS: Mapping[str, Callable[[Record, str, Joins], Instruction]] = {
    "code": _code,
    "database": _database,
    "actions": _actions,
    "math": _math,
    "data2text": _data2text,
    "summary": _summary,
}
