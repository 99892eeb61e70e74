"""Released records: real ones with exact counts, broken ones with their reasons, and records that meet other rows."""

from __future__ import annotations

import copy
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lic_pipeline.benchmarks.registry import READERS, locate, read_source
from lic_pipeline.benchmarks.spider_databases import Databases
from lic_pipeline.records import Instruction
from lic_pipeline.sharding.released import Interpreted, Joins, instruction_id_of, interpret

SHARDS = [{"shard_id": 1, "shard": "how many pears"}, {"shard_id": 2, "shard": "3 and 4"}]
MATH = {
    "task_id": "sharded-GSM8K/5",
    "task": "math",
    "question": "Mia has 3 pears and buys 4. How many has she?",
    "answer": "3 + 4 = 7\n#### 7",
    "shards": SHARDS,
}
CODE = {
    "task_id": "sharded-HumanEval/3",
    "task": "code",
    "source": "humaneval",
    "prompt": "def f(n):\n    pass\n",
    "test": "def check(candidate):\n    pass\n",
    "metadata": {"func_name": "f"},
    "shards": SHARDS,
}
LCB = {
    "task_id": "sharded-lcb_easy/2727",
    "task": "code",
    "source": "lcb_easy",
    "question_content": "Print it.",
    "starter_code": "",
    "public_test_cases": [{"input": "1", "output": "1", "testtype": "stdin"}],
    "shards": SHARDS,
}
DATABASE = {
    "task_id": "sharded-spider-val-7-medium",
    "task": "database",
    "spider_difficulty": "medium",
    "fully_specified_question": "How many animals?",
    "reference_sql": "SELECT count(*) FROM animal",
    "db_id": "zoo",
    "shards": SHARDS,
}
ACTIONS = {
    "task_id": "sharded-BFCL/parallel_7",
    "task": "actions",
    "function": [{"name": "f", "parameters": {"type": "dict", "properties": {}}}],
    "fully_specified_question": [[{"role": "user", "content": "Do f twice."}]],
    "reference_answer": [{"f": {}}, {"f": {}}],
    "shards": SHARDS,
}
DATA2TEXT = {
    "task_id": "sharded-totto_-17",
    "task": "data2text",
    "raw_table": [[{"value": "Year", "is_header": True}, {"value": "Prize"}], [{"value": "1999"}, {"value": "second"}]],
    "table_highlighted_html": "<table><tr><th>Year</th><td>Prize</td></tr>"
    '<tr><td>1999</td><td class="highlighted" colspan=1>second</td></tr></table>',
    "metadata": {"table_page_title": "A band", "table_section_title": "Prizes"},
    "references": ["They came second.", ""],
    "shards": SHARDS,
}
SUMMARY = {
    "task_id": "sharded-summary_1",
    "task": "summary",
    "topic_id": "t",
    "subtopic_id": "s",
    "topic": "A meeting.",
    "query": "What is said?",
    "documents": [{"document_index": 5, "document_text": "Beans."}, {"document_index": 2, "document_text": "Rake."}],
    "insights": [{"insight_id": "a", "insight": "Beans."}, {"insight_id": "b", "insight": "Else."}],
    "insightid2ref_citations": {"a": [5, 40], "b": [41]},
    "shards": [{"shard_id": 0, "shard": "", "doc_idxs": [2]}, {"shard_id": 1, "shard": "", "doc_idxs": [5]}],
}
GOOD: dict[str, dict[str, Any]] = {
    "gsm8k/5": MATH,
    "humaneval/3": CODE,
    "livecodebench/2727": LCB,
    "spider/7": DATABASE,
    "bfcl/parallel_7": ACTIONS,
    "totto/-17": DATA2TEXT,
    "summhay/t/s": SUMMARY,
}


@pytest.fixture
def joins(tmp_path: Path) -> Joins:
    (tmp_path / "database" / "zoo").mkdir(parents=True)
    (tmp_path / "database" / "zoo" / "schema.sql").write_text(
        "CREATE TABLE animal (id);\nINSERT INTO animal VALUES (1);"
    )
    return Joins({}, Databases(tmp_path))


def _usable(record: Mapping[str, Any], joins: Joins) -> tuple[Instruction, list[str]]:
    item = interpret(record, joins)
    assert (item.outcome, item.reason) == ("usable", "")
    assert item.instruction is not None
    assert item.sharded is not None
    assert item.sharded.provenance == "released"
    assert item.sharded.instruction_id == item.instruction.instruction_id
    assert [shard.shard_id for shard in item.sharded.shards] == list(range(1, len(item.sharded.shards) + 1))
    return item.instruction, [shard.text for shard in item.sharded.shards]


@pytest.mark.parametrize("instruction_id", GOOD)
def test_a_record_alone_becomes_an_instruction_with_its_shards(joins: Joins, instruction_id: str) -> None:
    record = GOOD[instruction_id]
    instruction, texts = _usable(record, joins)
    assert instruction.instruction_id == instruction_id
    assert instruction.task == record["task"]
    assert instruction.source == "released"
    assert instruction.metadata["released_id"] == record["task_id"]
    if record["task"] != "summary":
        assert texts == ["how many pears", "3 and 4"]


def test_a_database_record_takes_schema_and_rows_from_the_database(joins: Joins) -> None:
    instruction, _ = _usable(DATABASE, joins)
    assert instruction.context == {"schema_sql": "CREATE TABLE animal (id);"}
    assert "INSERT" in instruction.reference["schema"]
    own, _ = _usable({**DATABASE, "schema_sql": "CREATE TABLE own (x);"}, joins)
    assert own.context == {"schema_sql": "CREATE TABLE own (x);"}


def test_highlighted_cells_come_from_the_marked_table(joins: Joins) -> None:
    instruction, _ = _usable(DATA2TEXT, joins)
    assert instruction.metadata["highlighted_cells"] == [[1, 1]]
    assert instruction.reference == {"references": ["They came second."]}


def test_summary_shards_hand_over_their_documents_and_insights_are_restricted(joins: Joins) -> None:
    instruction, texts = _usable(SUMMARY, joins)
    assert instruction.reference["insights"] == [{"insight_id": "a", "insight": "Beans.", "citations": [5]}]
    assert "Rake." in texts[0]
    assert "What is said?" in texts[0]
    assert "Beans." in texts[1]
    item = interpret(SUMMARY, joins)
    assert item.sharded is not None
    assert [shard.documents for shard in item.sharded.shards] == [(2,), (5,)]


def test_shard_text_of_the_published_description_is_read_and_ids_set_the_order(joins: Joins) -> None:
    shards = [{"shard_id": 9, "shard_text": "b"}, {"shard_id": 4, "shard_text": "a"}]
    assert _usable({**MATH, "shards": shards}, joins)[1] == ["a", "b"]


def test_older_task_names_are_understood(joins: Joins) -> None:
    assert _usable({**CODE, "task": "python"}, joins)[0].task == "code"
    assert _usable({**ACTIONS, "task": "apis"}, joins)[0].task == "actions"


@pytest.mark.parametrize(
    ("record", "change", "field", "reason"),
    [
        (MATH, {"task_id": None}, "task_id", "must be a string"),
        (MATH, {"task": "poetry"}, "task", "'poetry' is no task"),
        (MATH, {"task": ["math"]}, "task", "'' is no task"),
        (MATH, {"question": ...}, "question", "is missing"),
        (MATH, {"answer": "7"}, "answer", "####"),
        (MATH, {"shards": ...}, "shards", "is missing"),
        (MATH, {"shards": []}, "shards", "is empty"),
        (MATH, {"shards": [4]}, "shards[0]", "must be an object"),
        (MATH, {"shards": [{"shard_id": "1", "shard": "a"}]}, "shards[0].shard_id", "whole number"),
        (MATH, {"shards": [SHARDS[0], SHARDS[0]]}, "shards[1].shard_id", "stands twice"),
        (MATH, {"shards": [{"shard_id": 1, "shard": " "}]}, "shards[0].shard", "is empty"),
        (MATH, {"shards": [{"shard_id": 1}]}, "shards[0].shard", "must be a string"),
        (CODE, {"test": ...}, "test", "is missing"),
        (CODE, {"metadata": {}}, "metadata.func_name", "is missing"),
        (LCB, {"public_test_cases": "[]"}, "public_test_cases", "no test at all"),
        (DATABASE, {"db_id": "moon"}, "db_id", "no_database: moon"),
        (DATABASE, {"reference_sql": ...}, "reference_sql", "is missing"),
        (ACTIONS, {"reference_answer": ...}, "reference_answer", "is missing"),
        (ACTIONS, {"fully_specified_question": "Do f."}, "fully_specified_question", "must be a list"),
        (DATA2TEXT, {"table_highlighted_html": "<table></table>"}, "table_highlighted_html", "marks no cell"),
        (DATA2TEXT, {"references": [""]}, "references", "no reference sentence"),
        (DATA2TEXT, {"metadata": {}}, "metadata.table_page_title", "is missing"),
        (SUMMARY, {"insights": ...}, "insights", "is missing"),
        (SUMMARY, {"documents": [{}]}, "documents", "document_index"),
        (SUMMARY, {"shards": [{"shard_id": 0, "doc_idxs": [2]}]}, "shards", "exactly one batch"),
        (SUMMARY, {"shards": [{"shard_id": 0, "doc_idxs": ["2"]}]}, "shards[0].doc_idxs", "document indexes"),
    ],
)
def test_an_unusable_record_names_field_and_reason(
    joins: Joins, record: dict[str, Any], change: dict[str, Any], field: str, reason: str
) -> None:
    broken = {key: value for key, value in {**record, **change}.items() if value is not ...}
    item = interpret(broken, joins)
    assert (item.outcome, item.field, item.instruction) == ("unusable", field, None)
    assert reason in item.reason


@pytest.mark.parametrize("instruction_id", GOOD)
def test_no_record_raises_whatever_its_fields_hold(joins: Joins, instruction_id: str) -> None:
    record = GOOD[instruction_id]
    row, _ = _usable(record, joins)
    known = Joins({row.instruction_id: row}, joins.databases)
    for key in record:
        for value in (None, 0, "", [], {}, [[]], [{}], [None], "x", True, {"a": []}, [[{"role": "user"}]]):
            for around in (joins, known):
                assert interpret({**record, key: value}, around).outcome in ("usable", "unusable")


def test_translation_is_set_aside_with_a_reason(joins: Joins) -> None:
    item = interpret({"task_id": "wmt-1", "task": "translation", "shards": []}, joins)
    assert (item.outcome, item.task) == ("set_aside", "translation")
    assert "not a task of this pipeline" in item.reason


@pytest.mark.parametrize("instruction_id", GOOD)
def test_the_benchmark_row_wins_when_it_asks_the_same(joins: Joins, instruction_id: str) -> None:
    record = GOOD[instruction_id]
    row = _usable(record, joins)[0].model_copy(update={"source": "lic_data"})
    found, _ = _usable(record, Joins({instruction_id: row}, joins.databases))
    assert found is row


@pytest.mark.parametrize(
    ("instruction_id", "change"),
    [
        ("gsm8k/5", {"question": "Tom has 3 pears and buys 4. How many has he?"}),
        ("humaneval/3", {"prompt": "def f(n, m):\n    pass\n"}),
        ("livecodebench/2727", {"question_content": "Print it twice."}),
        ("spider/7", {"fully_specified_question": "How many?"}),
        ("bfcl/parallel_7", {"fully_specified_question": [[{"role": "user", "content": "Do f."}]]}),
        ("totto/-17", {"metadata": {"table_page_title": "Another band"}}),
        ("summhay/t/s", {"query": "What else is said?"}),
        (
            "summhay/t/s",
            {
                "documents": [SUMMARY["documents"][0]],  # type: ignore[index]
                "shards": [{"shard_id": 0, "doc_idxs": [5]}],
            },
        ),
    ],
)
def test_other_content_under_the_id_of_a_row_is_kept_beside_it(
    joins: Joins, instruction_id: str, change: dict[str, Any]
) -> None:
    row, _ = _usable(GOOD[instruction_id], joins)
    found, _ = _usable({**copy.deepcopy(GOOD[instruction_id]), **change}, Joins({instruction_id: row}, joins.databases))
    assert found.instruction_id == f"released/{instruction_id}"
    assert found.text != row.text


@pytest.mark.parametrize(
    ("task", "task_id", "instruction_id"),
    [
        ("math", "sharded-GSM8K/12", "gsm8k/12"),
        ("database", "sharded-spider-val-79-medium", "spider/79"),
        ("database", "sharded-spider-val-129-extra", "spider/129"),
        ("actions", "sharded-BFCL/parallel_82", "bfcl/parallel_82"),
        ("data2text", "sharded-totto_-1368446073372924912", "totto/-1368446073372924912"),
        ("math", "my own", "released/my own"),
    ],
)
def test_ids_map_to_the_originals(task: str, task_id: str, instruction_id: str) -> None:
    assert instruction_id_of({"task_id": task_id}, task) == instruction_id


def _real(shared_data: Path, *, with_rows: bool) -> list[Interpreted]:
    records = json.loads((shared_data / "lic" / "sharded_instructions_sample.json").read_text())
    rows: dict[str, Instruction] = {}
    if with_rows:
        for benchmark in READERS:
            rows |= {item.instruction_id: item for item in read_source(locate(benchmark)).instructions}
    joins = Joins(rows, Databases(shared_data / "raw" / "spider"))
    return [interpret(record, joins) for record in records]


@pytest.mark.parametrize("with_rows", [True, False])
def test_the_real_sample_gives_exactly_these_outcomes(
    shared_data: Path, lic_home: Path, monkeypatch: pytest.MonkeyPatch, with_rows: bool
) -> None:
    monkeypatch.setenv("LIC_DATA", str(shared_data / "raw"))
    items = _real(shared_data, with_rows=with_rows)
    assert Counter((item.task, item.outcome) for item in items) == {
        ("code", "usable"): 8,
        ("database", "usable"): 8,
        ("database", "unusable"): 3,
        ("actions", "usable"): 10,
        ("math", "usable"): 10,
        ("data2text", "usable"): 3,
        ("summary", "usable"): 3,
        ("translation", "set_aside"): 20,
    }
    assert {(item.record_id, item.reason) for item in items if item.outcome == "unusable"} == {
        ("sharded-spider-val-423-hard", "no_database: museum_visit"),
        ("sharded-spider-val-701-medium", "no_database: voter_1"),
        ("sharded-spider-val-699-medium", "no_database: voter_1"),
    }
    sources = Counter(item.instruction.source for item in items if item.instruction)
    assert sources == ({"lic_data": 39, "released": 3} if with_rows else {"released": 42})
    assert not [item for item in items if item.instruction and item.instruction.instruction_id.startswith("released/")]
