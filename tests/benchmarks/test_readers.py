"""The seven readers on small files: what a good row becomes, and each way a row can be broken."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from lic_pipeline.benchmarks.registry import READERS
from lic_pipeline.records import Instruction


def _only(lay: Any, good_rows: dict[str, Any], benchmark: str, **changes: Any) -> Instruction:
    reading = READERS[benchmark].read(lay(benchmark, [{**good_rows[benchmark], **changes}]))
    assert reading.problems == ()
    (instruction,) = reading.instructions
    assert instruction.benchmark == benchmark
    assert instruction.task == READERS[benchmark].task
    assert instruction.metadata["line"] >= 1
    return instruction


def test_gsm8k_keeps_answer_and_solution(lay: Any, good_rows: dict[str, Any]) -> None:
    item = _only(lay, good_rows, "gsm8k")
    assert item.instruction_id == "gsm8k/0"
    assert item.reference == {"answer": "7", "solution": good_rows["gsm8k"]["answer"]}
    assert item.text == good_rows["gsm8k"]["question"]


def test_gsm8k_ids_are_physical_lines(lay: Any, good_rows: dict[str, Any]) -> None:
    row = good_rows["gsm8k"]
    reading = READERS["gsm8k"].read(lay("gsm8k", [row, "", "{", row]))
    assert [item.instruction_id for item in reading.instructions] == ["gsm8k/0", "gsm8k/3"]
    assert [problem.line for problem in reading.problems] == [3]


def test_humaneval_asks_to_complete_the_prompt(lay: Any, good_rows: dict[str, Any]) -> None:
    item = _only(lay, good_rows, "humaneval")
    assert item.instruction_id == "humaneval/0"
    assert 'def twice(n):\n    """Return n times two."""' in item.text
    assert item.text.startswith("Complete")
    assert item.reference["format"] == "humaneval"
    assert {"entry_point", "prompt", "test", "canonical_solution"} < set(item.reference)
    assert "canonical_solution" not in item.text


def test_livecodebench_joins_public_and_private_tests(lay: Any, good_rows: dict[str, Any]) -> None:
    item = _only(lay, good_rows, "livecodebench")
    assert item.instruction_id == "livecodebench/q1"
    assert item.reference["format"] == "stdin"
    assert item.reference["entry_point"] is None
    assert [test["input"] for test in item.reference["tests"]] == ["1\n", "2\n"]
    assert item.context == {"starter_code": ""}
    assert "standard input" in item.text


@pytest.mark.parametrize(
    ("starter_code", "metadata", "shown"),
    [
        ("class Solution:\n    def go(self, n):\n        ", '{"func_name": "go"}', "class Solution:"),
        ("class Solution:\n    def go(self, n):\n        ", "{}", "class Solution:"),
        ("", {"func_name": "go"}, "named `go`"),
    ],
)
def test_livecodebench_functional_names_its_function(
    lay: Any, good_rows: dict[str, Any], starter_code: str, metadata: Any, shown: str
) -> None:
    tests = json.dumps([{"input": "1", "output": "1", "testtype": "functional"}])
    changes = {"public_test_cases": tests, "private_test_cases": "", "metadata": metadata}
    item = _only(lay, good_rows, "livecodebench", starter_code=starter_code, **changes)
    assert (item.reference["format"], item.reference["entry_point"]) == ("functional", "go")
    assert shown in item.text


def test_bfcl_joins_question_and_answer(lay: Any, good_rows: dict[str, Any]) -> None:
    item = _only(lay, good_rows, "bfcl")
    assert item.instruction_id == "bfcl/parallel_0"
    assert item.text == "Book a table at 7 and one at 8."
    assert item.context["functions"] == good_rows["bfcl"]["function"]
    assert item.reference["calls"] == [{"book": {"hour": [7]}}, {"book": {"hour": [8]}}]


def test_spider_shows_the_schema_without_rows(lay: Any, good_rows: dict[str, Any]) -> None:
    item = _only(lay, good_rows, "spider")
    assert item.instruction_id == "spider/0"
    assert item.context == {"schema_sql": "CREATE TABLE animal (id INTEGER, name TEXT);"}
    assert item.reference["reference_sql"] == "SELECT count(*) FROM animal"
    (database,) = item.reference["databases"]
    assert Path(database).is_absolute()
    assert Path(database).is_file()
    assert _only(lay, good_rows, "spider", dev_index=79).instruction_id == "spider/79"


def test_spider_lists_the_databases_it_used(lay: Any, good_rows: dict[str, Any]) -> None:
    reading = READERS["spider"].read(lay("spider", [good_rows["spider"]]))
    assert [file.path for file in reading.files] == ["dev.json", "database/zoo/zoo.sqlite"]
    assert all(len(file.sha256) == 64 for file in reading.files)


def test_totto_keeps_what_rendering_needs_and_drops_empty_sentences(lay: Any, good_rows: dict[str, Any]) -> None:
    item = _only(lay, good_rows, "totto")
    assert item.instruction_id == "totto/5"
    assert item.reference == {"references": ["The band made an album in 1999."]}
    keys = {"table", "highlighted_cells", "page_title", "section_title", "section_text", "file", "line"}
    assert set(item.metadata) == keys
    assert "1999" in item.text


def test_summhay_restricts_insights_to_the_documents_given(lay: Any, good_rows: dict[str, Any]) -> None:
    item = _only(lay, good_rows, "summhay")
    assert item.instruction_id == "summhay/t/s"
    assert item.reference["insights"] == [{"insight_id": "a", "insight": "Beans are planted.", "citations": [3]}]
    assert [document["document_index"] for document in item.context["documents"]] == [3, 8]
    assert "insights_included" not in item.context["documents"][0]


def test_summhay_reads_original_files_without_indexes_and_citations(lay: Any, good_rows: dict[str, Any]) -> None:
    row = copy.deepcopy(good_rows["summhay"])
    del row["subtopics"][0]["insightid2ref_citations"]
    for document in row["documents"]:
        del document["document_index"]
    item = _only(lay, {"summhay": row}, "summhay")
    assert [insight["citations"] for insight in item.reference["insights"]] == [[1], [2]]


def test_summhay_tells_documents_of_one_number_apart_by_their_citations(lay: Any, good_rows: dict[str, Any]) -> None:
    row = copy.deepcopy(good_rows["summhay"])
    row["documents"].append({"document_index": 3, "document_text": "Other.", "insights_included": ["b"]})
    row["subtopics"][0]["doc_indices"] = [3, 8]
    item = _only(lay, {"summhay": row}, "summhay")
    assert item.context["documents"][0]["document_text"] == "They plant beans."


def test_summhay_leaves_the_judge_benchmark_alone(lay: Any, good_rows: dict[str, Any]) -> None:
    folder = lay("summhay", [good_rows["summhay"]])
    (folder / "judge_benchmark.json").write_text('[{"summary": []}]')
    assert READERS["summhay"].read(folder).problems == ()


_ONE_TEST = {"input": "1", "output": "1", "testtype": "stdin"}
_BROKEN = [
    ("gsm8k", {"question": None}, "question", "must be a string, is null"),
    ("gsm8k", {"question": " \n"}, "question", "is empty"),
    ("gsm8k", {"answer": 7}, "answer", "must be a string, is a whole number"),
    ("gsm8k", {"answer": "seven"}, "answer", "has no '#### <number>'"),
    ("gsm8k", {"answer": "so\n#### "}, "answer", "has no '#### <number>'"),
    ("humaneval", {"task_id": "twice"}, "task_id", "not of the form HumanEval/<number>"),
    ("humaneval", {"prompt": "x = 1"}, "prompt", "does not define twice"),
    ("humaneval", {"entry_point": "not a name"}, "entry_point", "no Python name"),
    ("humaneval", {"test": "assert True"}, "test", "does not define check"),
    ("humaneval", {"canonical_solution": ""}, "canonical_solution", "is empty"),
    ("livecodebench", {"question_id": None}, "question_id", "must be a string"),
    ("livecodebench", {"question_content": ""}, "question_content", "is empty"),
    ("livecodebench", {"public_test_cases": "[{"}, "public_test_cases", "broken JSON"),
    ("livecodebench", {"public_test_cases": "{}"}, "public_test_cases", "must be a list of tests"),
    ("livecodebench", {"public_test_cases": [5]}, "public_test_cases[0]", "must be an object"),
    ("livecodebench", {"public_test_cases": [{**_ONE_TEST, "input": 1}]}, "public_test_cases[0].input", "a string"),
    ("livecodebench", {"public_test_cases": [{**_ONE_TEST, "testtype": "x"}]}, "public_test_cases[0].testtype", "'x'"),
    ("livecodebench", {"public_test_cases": "[]", "private_test_cases": ""}, "public_test_cases", "no test at all"),
    ("livecodebench", {"private_test_cases": "!!!"}, "private_test_cases", "base64"),
    (
        "livecodebench",
        {"private_test_cases": [{**_ONE_TEST, "testtype": "functional"}]},
        "public_test_cases",
        "functional and stdin tests are mixed",
    ),
    (
        "livecodebench",
        {"public_test_cases": [{**_ONE_TEST, "testtype": "functional"}], "private_test_cases": None},
        "metadata",
        "names no function",
    ),
    ("bfcl", {"id": "parallel_9"}, "ground_truth", "no usable answer with this id"),
    ("bfcl", {"question": []}, "question", "is empty"),
    ("bfcl", {"question": [[], []]}, "question", "one turn with one message"),
    ("bfcl", {"question": [[{"role": "system", "content": "x"}]]}, "question", "role 'user'"),
    ("bfcl", {"question": [[{"role": "user", "content": ""}]]}, "question[0][0].content", "is empty"),
    ("bfcl", {"function": [{"name": "f"}]}, "function[0].parameters", "is missing"),
    ("bfcl", {"function": [{"name": "", "parameters": {}}]}, "function[0].name", "is empty"),
    ("bfcl", {"function": ["f"]}, "function", "element 0 must be an object"),
    ("bfcl", {"function": {}}, "function", "must be a list, is an object"),
    ("spider", {"db_id": "moon"}, "db_id", "no_database: moon"),
    ("spider", {"db_id": "../zoo"}, "db_id", "is no database name"),
    ("spider", {"db_id": None}, "db_id", "must be a string"),
    ("spider", {"query": " "}, "query", "is empty"),
    ("spider", {"question": 3}, "question", "must be a string"),
    ("spider", {"dev_index": -1}, "dev_index", "whole number"),
    ("spider", {"dev_index": True}, "dev_index", "whole number"),
    ("totto", {"example_id": 1.5}, "example_id", "must be a string"),
    ("totto", {"table": []}, "table", "is empty"),
    ("totto", {"table": [["x"]]}, "table", "list of cells"),
    ("totto", {"highlighted_cells": [[9, 9]]}, "highlighted_cells", "no cell of the table"),
    ("totto", {"table_page_title": ""}, "table_page_title", "is empty"),
    ("totto", {"table_section_text": 3}, "table_section_text", "must be a string"),
    ("totto", {"sentence_annotations": [{"final_sentence": " "}]}, "references", "no reference sentence"),
    ("totto", {"sentence_annotations": []}, "sentence_annotations", "is empty"),
    ("summhay", {"topic_id": ""}, "topic_id", "is empty"),
    ("summhay", {"documents": []}, "documents", "is empty"),
    ("summhay", {"subtopics": "x"}, "subtopics", "must be a list"),
    ("summhay", {"documents": [{"document_index": 3}]}, "subtopics[0].documents", "no document_text"),
    ("summhay", {"subtopics": [{"subtopic_id": "s", "query": ""}]}, "subtopics[0].query", "is empty"),
    (
        "summhay",
        {"subtopics": [{"subtopic_id": "s", "query": "q", "insights": [{"insight_id": "z", "insight": "i"}]}]},
        "subtopics[0].insights",
        "no insight is in any of the documents",
    ),
    (
        "summhay",
        {"subtopics": [{"subtopic_id": "s", "query": "q", "insights": [{"insight_id": 4, "insight": "i"}]}]},
        "subtopics[0].insights[0].insight_id",
        "must be a string",
    ),
    (
        "summhay",
        {"subtopics": [{"subtopic_id": "s", "query": "q", "insights": [{}], "doc_indices": [77]}]},
        "subtopics[0].doc_indices",
        "no documents with the indexes [77]",
    ),
]


@pytest.mark.parametrize(("benchmark", "change", "field", "said"), _BROKEN)
def test_a_broken_row_is_named_by_field_and_line_and_the_good_row_survives(
    lay: Any, good_rows: dict[str, Any], benchmark: str, change: dict[str, Any], field: str, said: str
) -> None:
    good = good_rows[benchmark]
    reading = READERS[benchmark].read(lay(benchmark, [{**good, **change}, good]))
    assert len(reading.instructions) == 1
    (problem,) = reading.problems
    element = benchmark in ("spider", "summhay")
    assert problem.field == (f"[0].{field}" if element else field)
    assert said in problem.reason
    assert problem.line == (2 if element else 1)


@pytest.mark.parametrize("benchmark", [name for name in READERS if name not in ("gsm8k", "spider")])
def test_a_second_row_of_the_same_id_is_a_problem(lay: Any, good_rows: dict[str, Any], benchmark: str) -> None:
    row = good_rows[benchmark]
    reading = READERS[benchmark].read(lay(benchmark, [row, row]))
    assert len(reading.instructions) == 1
    assert ["duplicate id" in problem.reason for problem in reading.problems] == [True]


def test_a_dev_index_that_stands_twice_is_a_problem(lay: Any, good_rows: dict[str, Any]) -> None:
    row = {**good_rows["spider"], "dev_index": 4}
    reading = READERS["spider"].read(lay("spider", [row, row]))
    assert "duplicate id" in reading.problems[0].reason


@pytest.mark.parametrize("benchmark", READERS)
def test_every_field_may_be_missing_or_of_a_wrong_type_without_an_exception(
    lay: Any, good_rows: dict[str, Any], benchmark: str
) -> None:
    good = good_rows[benchmark]
    broken = [{key: value for key, value in good.items() if key != left_out} for left_out in good]
    broken += [
        {**good, key: value} for key in good for value in (None, 0, "", [], {}, [[]], [{}], [None], "\ud7ff", True)
    ]
    reading = READERS[benchmark].read(lay(benchmark, [*broken, good]))
    assert reading.instructions
    assert reading.problems


@pytest.mark.parametrize("benchmark", READERS)
def test_an_empty_folder_is_a_problem(tmp_path: Path, benchmark: str) -> None:
    reading = READERS[benchmark].read(tmp_path)
    assert reading.instructions == ()
    assert "no file" in reading.problems[0].reason


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        (None, "is missing, so no item can be scored"),
        ('{"id": "parallel_0", "ground_truth": []}', "is empty"),
        ('{"id": "parallel_0", "ground_truth": [{"a": {}, "b": {}}]}', "exactly one function"),
        ('{"id": "parallel_0", "ground_truth": [{"book": {"hour": 7}}]}', "list of accepted values"),
        ('{"id": "parallel_0", "ground_truth": [{"book": []}]}', "must be an object"),
        ("{", "broken JSON"),
    ],
)
def test_bfcl_answers_are_checked(lay: Any, good_rows: dict[str, Any], answers: str | None, said: str) -> None:
    folder = lay("bfcl", [good_rows["bfcl"]])
    path = folder / "possible_answer" / "BFCL_v4_parallel.json"
    path.unlink() if answers is None else path.write_text(answers)
    reading = READERS["bfcl"].read(folder)
    assert reading.instructions == ()
    assert said in " ".join(str(problem) for problem in reading.problems)
