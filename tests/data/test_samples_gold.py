"""The embedded samples are right by their own tests, tables and documents.

Programs and queries of the samples are our own, so they run here by plain ``exec`` and ``sqlite3``.
"""

from __future__ import annotations

import ast
import json
import re
import sqlite3
from typing import Any

import pytest
from sample_rows import (
    BATCHES,
    BFCL,
    BFCL_ANSWERS,
    GSM8K,
    HUMANEVAL,
    SAMPLES,
    SPIDER,
    SUMMHAY,
    TOTTO,
    numbers,
    read_json,
)


@pytest.mark.parametrize("row", HUMANEVAL, ids=lambda row: row["entry_point"])
def test_canonical_solutions_pass_and_the_tests_tell_wrong_ones(row: dict[str, Any]) -> None:
    scope: dict[str, Any] = {}
    exec(row["prompt"] + row["canonical_solution"] + "\n" + row["test"], scope)
    scope["check"](scope[row["entry_point"]])
    constants: tuple[Any, ...] = (None, 0, "", [])
    for constant in constants:
        with pytest.raises(AssertionError):
            scope["check"](lambda *_, value=constant: value)


@pytest.mark.parametrize("row", HUMANEVAL, ids=lambda row: row["entry_point"])
def test_examples_in_prompts_are_true(row: dict[str, Any]) -> None:
    scope: dict[str, Any] = {}
    exec(row["prompt"] + row["canonical_solution"], scope)
    examples = re.findall(r">>> (.+)\n\s*(.+)", row["prompt"])
    assert examples
    for call, expected in examples:
        exec(f"result = {call}", scope)
        assert scope["result"] == ast.literal_eval(expected)


@pytest.mark.parametrize("row", GSM8K, ids=range(len(GSM8K)))
def test_solution_steps_are_true_and_end_in_the_answer(row: dict[str, Any]) -> None:
    steps = re.findall(r"<<([\d.+*/-]+)=([\d.]+)>>", row["answer"])
    assert steps
    for expression, result in steps:
        scope: dict[str, Any] = {}
        exec(f"value = {expression}", scope)
        assert scope["value"] == pytest.approx(float(result))
    assert float(row["answer"].rsplit("#### ", 1)[1].replace(",", "")) == float(steps[-1][1])


def _spider(db_id: str) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.executescript((SAMPLES / "spider" / "database" / db_id / "schema.sql").read_text("utf-8"))
    return connection


@pytest.mark.parametrize("row", SPIDER, ids=lambda row: row["dev_index"])
def test_gold_queries_discriminate(row: dict[str, Any]) -> None:
    connection, query = _spider(row["db_id"]), row["query"]

    def bag(sql: str) -> list[str]:
        return sorted(map(repr, connection.execute(sql).fetchall()))

    gold = bag(query)
    assert gold
    for pattern in (r"\bWHERE\b(?:(?!GROUP BY|ORDER BY|INTERSECT|HAVING).)*", r"\bHAVING\b(?:(?!ORDER BY).)*"):
        if (weaker := re.sub(pattern, "", query)) != query:
            assert bag(weaker) != gold
    for table in re.findall(
        r"CREATE TABLE (\w+)", (SAMPLES / f"spider/database/{row['db_id']}/schema.sql").read_text()
    ):
        assert bag(f"SELECT * FROM {table}") != gold


@pytest.mark.parametrize("row", [row for row in SPIDER if "LIMIT" in row["query"]], ids=lambda row: row["dev_index"])
def test_no_ties_at_the_limit(row: dict[str, Any]) -> None:
    body, limit = re.fullmatch(r"(.*) LIMIT (\d+)", row["query"]).groups()  # type: ignore[union-attr]
    keys = [line[1] for line in _spider(row["db_id"]).execute(body).fetchall()]
    assert len(keys) > int(limit)
    assert keys[int(limit) - 1] != keys[int(limit)]


def test_tables_json_describes_the_databases() -> None:
    described = {entry["db_id"]: entry for entry in read_json("spider/tables.json")}
    assert set(described) == {row["db_id"] for row in SPIDER}
    for db_id, entry in described.items():
        connection = _spider(db_id)
        for number, table in enumerate(entry["table_names_original"]):
            columns = [line[1] for line in connection.execute(f"PRAGMA table_info({table})")]
            assert columns == [name for owner, name in entry["column_names_original"] if owner == number]
            assert 8 <= connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] <= 15
        assert len(entry["column_types"]) == len(entry["column_names"]) == len(entry["column_names_original"])
        assert not connection.execute("PRAGMA foreign_key_check").fetchall()


TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "float": (float,), "boolean": (bool,), "array": (list,), "dict": (dict,)
}  # fmt: skip


@pytest.mark.parametrize("row", BFCL, ids=lambda row: row["id"])
def test_accepted_values_fit_the_function(row: dict[str, Any]) -> None:
    functions = {function["name"]: function["parameters"] for function in row["function"]}
    calls = BFCL_ANSWERS[row["id"]]
    assert 2 <= len(calls) <= 4
    assert len({json.dumps(call) for call in calls}) == len(calls)
    for call in calls:
        ((name, arguments),) = call.items()
        properties, required = functions[name]["properties"], functions[name]["required"]
        assert set(arguments) == set(properties)
        for parameter, accepted in arguments.items():
            assert not ("" in accepted and parameter in required)
            for value in accepted:
                if value != "":
                    assert type(value) in TYPES[properties[parameter]["type"]]
                if "default" in properties[parameter] and value == properties[parameter]["default"]:
                    assert "" in accepted, f"{parameter} equals its default, so it may be left out"


def test_actions_cover_the_types_of_the_benchmark() -> None:
    used = {
        parameter["type"]
        for row in BFCL
        for f in row["function"]
        for parameter in f["parameters"]["properties"].values()
    }
    assert used == set(TYPES)


@pytest.mark.parametrize("row", TOTTO, ids=lambda row: row["table_page_title"])
def test_tables_are_whole_and_references_use_the_marked_cells(row: dict[str, Any]) -> None:
    for cells in row["table"]:
        assert all(set(cell) == {"value", "is_header", "column_span", "row_span"} for cell in cells)
    marked = [row["table"][line][column]["value"] for line, column in row["highlighted_cells"]]
    references = [annotation["final_sentence"] for annotation in row["sentence_annotations"]]
    assert 1 <= len(references) <= 3
    assert all(references)
    for value in marked:
        assert any(value.split(" ")[0].lower() in reference.lower() for reference in references), value
    in_table = {number for cells in row["table"] for cell in cells for number in re.findall(r"\d+", cell["value"])}
    allowed = in_table | set(re.findall(r"\d+", row["table_page_title"]))
    assert all(set(re.findall(r"\d+", reference)) <= allowed for reference in references)


@pytest.mark.parametrize("topic", SUMMHAY, ids=lambda topic: topic["topic_id"])
def test_insights_stand_in_two_or_three_documents(topic: dict[str, Any]) -> None:
    documents = {document["document_index"]: document for document in topic["documents"]}
    assert 6 <= len(documents) == len(topic["documents"]) <= 9
    assert all(60 <= len(document["document_text"].split()) <= 120 for document in documents.values())
    known = set()
    for subtopic in topic["subtopics"]:
        assert 3 <= len(subtopic["insights"]) <= 5
        for insight in subtopic["insights"]:
            known.add(insight["insight_id"])
            places = [i for i, document in documents.items() if insight["insight_id"] in document["insights_included"]]
            assert 2 <= len(places) <= 3
            assert subtopic["insightid2ref_citations"][insight["insight_id"]] == places
            for place in places:
                assert numbers(insight["insight"]) <= numbers(documents[place]["document_text"]), (insight, place)
    assert {insight for document in documents.values() for insight in document["insights_included"]} == known


def test_batches_hand_over_every_document_once_and_in_order() -> None:
    topics = {f"summhay/{t['topic_id']}/{s['subtopic_id']}": t for t in SUMMHAY for s in t["subtopics"]}
    assert set(BATCHES) == set(topics)
    for name, row in BATCHES.items():
        assert 3 <= len(row["shards"]) <= 8
        assert [shard["shard_id"] for shard in row["shards"]] == list(range(1, len(row["shards"]) + 1))
        handed = [index for shard in row["shards"] for index in shard["doc_idxs"]]
        assert handed == [document["document_index"] for document in topics[name]["documents"]]
