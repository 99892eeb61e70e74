"""Good rows of every benchmark, ours, in the raw formats; tests break them one field at a time."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

GSM8K = {"question": "Mia has 3 pears and buys 4. How many has she?", "answer": "3 + 4 = <<3+4=7>>7\n#### 7"}
HUMANEVAL = {
    "task_id": "HumanEval/0",
    "prompt": 'def twice(n):\n    """Return n times two."""\n',
    "entry_point": "twice",
    "canonical_solution": "    return 2 * n\n",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n",
}
LIVECODEBENCH = {
    "question_title": "Echo",
    "question_content": "Print the number you read.",
    "platform": "own",
    "question_id": "q1",
    "starter_code": "",
    "difficulty": "easy",
    "public_test_cases": json.dumps([{"input": "1\n", "output": "1\n", "testtype": "stdin"}]),
    "private_test_cases": json.dumps([{"input": "2\n", "output": "2\n", "testtype": "stdin"}]),
    "metadata": "{}",
}
BFCL = {
    "id": "parallel_0",
    "question": [[{"role": "user", "content": "Book a table at 7 and one at 8."}]],
    "function": [
        {
            "name": "book",
            "description": "Book a table.",
            "parameters": {"type": "dict", "properties": {"hour": {"type": "integer"}}, "required": ["hour"]},
        }
    ],
}
BFCL_ANSWER = {"id": "parallel_0", "ground_truth": [{"book": {"hour": [7]}}, {"book": {"hour": [8]}}]}
SPIDER = {"db_id": "zoo", "question": "How many animals are there?", "query": "SELECT count(*) FROM animal"}
TOTTO = {
    "example_id": 5,
    "table": [[{"value": "Year", "is_header": True}], [{"value": "1999", "is_header": False}]],
    "highlighted_cells": [[1, 0]],
    "table_page_title": "A band",
    "table_section_title": "Albums",
    "table_section_text": "",
    "sentence_annotations": [{"final_sentence": "The band made an album in 1999."}, {"final_sentence": ""}],
}
SUMMHAY = {
    "topic_id": "t",
    "topic": "A meeting about a garden.",
    "documents": [
        {"document_index": 3, "document_text": "They plant beans.", "insights_included": ["a"]},
        {"document_index": 8, "document_text": "They buy a rake.", "insights_included": ["b"]},
    ],
    "subtopics": [
        {
            "subtopic_id": "s",
            "query": "What do they do?",
            "insights": [
                {"insight_id": "a", "insight": "Beans are planted."},
                {"insight_id": "b", "insight": "A rake."},
            ],
            "insightid2ref_citations": {"a": [3, 99], "b": [99]},
        }
    ],
}

Write = Callable[[str, list[Any]], Path]


@pytest.fixture
def lay(tmp_path: Path) -> Write:
    """Lay rows out as the raw files of a benchmark; a row may be bytes or text to stand in the file as it is."""

    def write(benchmark: str, rows: list[Any]) -> Path:
        folder = tmp_path / benchmark
        folder.mkdir(exist_ok=True)
        lines = b"".join(_bytes(row) + b"\n" for row in rows)
        array = b"[\n" + b",\n".join(_bytes(row) for row in rows) + b"\n]\n"
        match benchmark:
            case "spider":
                (folder / "dev.json").write_bytes(array)
                make_database(folder / "database" / "zoo" / "zoo.sqlite")
            case "summhay":
                (folder / "topics.json").write_bytes(array)
            case "bfcl":
                (folder / "BFCL_v4_parallel.json").write_bytes(lines)
                (folder / "possible_answer").mkdir(exist_ok=True)
                answers = folder / "possible_answer" / "BFCL_v4_parallel.json"
                answers.write_text(json.dumps(BFCL_ANSWER) + "\n")
            case _:
                names = {"gsm8k": "test.jsonl", "humaneval": "HumanEval.jsonl"}
                (folder / names.get(benchmark, "sample.jsonl")).write_bytes(lines)
        return folder

    return write


def make_database(path: Path) -> None:
    """A small SQLite file with one table and two rows."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE animal (id INTEGER, name TEXT); INSERT INTO animal VALUES (1,'a'),(2,'b')"
        )
        connection.commit()


def _bytes(row: Any) -> bytes:
    if isinstance(row, bytes):
        return row
    return (row if isinstance(row, str) else json.dumps(row, ensure_ascii=False)).encode()


@pytest.fixture(scope="session")
def good_rows() -> dict[str, dict[str, Any]]:
    """One good row per benchmark."""
    return {
        "gsm8k": GSM8K,
        "humaneval": HUMANEVAL,
        "livecodebench": LIVECODEBENCH,
        "bfcl": BFCL,
        "spider": SPIDER,
        "totto": TOTTO,
        "summhay": SUMMHAY,
    }
