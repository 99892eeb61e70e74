"""The database Task object: prompts, gold, menu, checks, lines of ``lic score``."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from lic_pipeline.errors import RecordError
from lic_pipeline.records import Instruction, Json, Reply, Shard, Strategy
from lic_pipeline.scoring.line_scorer import LineScorer
from lic_pipeline.tasks.database import TASK
from lic_pipeline.tasks.protocol import Task
from lic_pipeline.tasks.registry import get_task

SCHEMA = "CREATE TABLE boat (id INTEGER, name TEXT); INSERT INTO boat VALUES (1, 'Tern'), (2, 'Gull'), (3, 'Loon');"
SQL = "SELECT name FROM boat WHERE id > 1"
KINDS = {"question": Strategy.CLARIFICATION, "hedge": Strategy.HEDGING, "refusal": Strategy.REFUSAL}


def instruction(**changes: Any) -> Instruction:
    fields: dict[str, Any] = {
        "instruction_id": "own/1",
        "task": "database",
        "benchmark": "own",
        "text": "Which boats have a number above 1?",
        "context": {"schema_sql": "CREATE TABLE boat (id INTEGER, name TEXT);"},
        "reference": {"reference_sql": SQL, "schema": SCHEMA},
    }
    return Instruction(**{**fields, **changes})


def database(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.executescript(SCHEMA)
    connection.close()
    return path


def test_it_is_the_registered_task() -> None:
    assert get_task("database") is TASK
    assert isinstance(TASK, Task)
    assert (TASK.kind, TASK.costly) == ("binary", True)


def test_messages_and_prompt() -> None:
    item = instruction(context={"schema_sql": "CREATE TABLE boat (id INTEGER, {{schema}} TEXT);"})
    prompt = TASK.system_prompt(item)
    assert "id INTEGER, {{schema}} TEXT" in prompt, "values are never expanded again"
    assert SQL not in prompt
    assert not re.search(r"\b(turns?|underspecified|conversation|incomplete|clarif\w*|step by step)\b", prompt.lower())
    shards = (Shard(shard_id=1, text="boats"), Shard(shard_id=2, text="number above 1"))
    assert TASK.full_message(item) == item.text
    assert TASK.shard_message(item, shards[1]) == "number above 1"
    assert "- boats\n- number above 1" in TASK.concat_message(item, shards)


def test_gold_and_menu_score_as_declared() -> None:
    item = instruction()
    gold = TASK.gold(item)
    assert gold is not None
    assert TASK.score(TASK.extract(Reply(text=gold), item).answer or "", item).score == 100
    menu = TASK.persona_replies(item)
    assert [entry.kind for entry in menu] == ["right", "wrong", "wrong", "question", "hedge", "refusal"]
    for entry in menu:
        reply = Reply(text=entry.text)
        if entry.score is None:
            assert TASK.label(reply, item) is KINDS[entry.kind]
            assert TASK.extract(reply, item).answer is None
        else:
            assert TASK.label(reply, item) is Strategy.ANSWER_ATTEMPT
            assert TASK.extract(reply, item).strict
            assert TASK.score(TASK.extract(reply, item).answer or "", item).score == entry.score


@pytest.mark.parametrize("sql", ["SELECT * FROM boat", "SELECT count(*) FROM boat", "SELECT 'none', -1"])
def test_the_menu_finds_wrong_queries_even_for_trivial_references(sql: str) -> None:
    item = instruction(reference={"reference_sql": sql, "schema": SCHEMA})
    for entry in TASK.persona_replies(item)[1:3]:
        assert TASK.score(TASK.extract(Reply(text=entry.text), item).answer or "", item).score == 0


def test_gold_without_reference_is_none() -> None:
    assert TASK.gold(instruction(reference={})) is None


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"reference": {"schema": SCHEMA}}, "reference.reference_sql"),
        ({"reference": {"reference_sql": "DROP TABLE boat", "schema": SCHEMA}}, "reference.reference_sql"),
        ({"reference": {"reference_sql": SQL}}, "reference.databases"),
        ({"reference": {"reference_sql": SQL, "databases": []}}, "reference.databases"),
        ({"reference": {"reference_sql": SQL, "databases": ["/nowhere/x.sqlite"]}}, "reference.databases"),
        ({"context": {}}, "context.schema_sql"),
    ],
)
def test_check_names_the_field(changes: dict[str, Any], field: str) -> None:
    TASK.check(instruction())
    with pytest.raises(RecordError) as caught:
        TASK.check(instruction(**changes))
    assert caught.value.field == field


def test_score_lines_with_schema_file_and_folder(tmp_path: Path) -> None:
    database(tmp_path / "sets" / "a" / "one.sqlite")
    database(tmp_path / "sets" / "two.sqlite")
    line = {"reference_sql": SQL, "response": f"```sql\n{SQL}\n```"}
    for place in ({"schema": SCHEMA}, {"database": "sets/two.sqlite"}, {"database": "sets"}):
        item = TASK.score_item({**line, **place}, tmp_path)
        TASK.check(item)
        answer = TASK.extract(Reply(text=line["response"]), item).answer
        assert TASK.score(answer or "", item).score == 100
        assert "CREATE TABLE boat" in TASK.system_prompt(item)
    assert TASK.score(SQL, TASK.score_item({**line, "database": "sets"}, tmp_path)).detail["databases"] == 2


@pytest.mark.parametrize(
    ("place", "db"),
    [({"schema": SCHEMA}, "rebuilt"), ({"database": "two.sqlite"}, "original"), ({"database": "."}, "suite(2)")],
)
def test_a_score_says_what_it_was_measured_on(tmp_path: Path, place: dict[str, Json], db: str) -> None:
    database(tmp_path / "a" / "one.sqlite")
    database(tmp_path / "two.sqlite")
    line = {"reference_sql": SQL, "response": SQL, **place}
    for response in (SQL, "SELECT 1"):
        output = LineScorer(TASK, base=tmp_path).score(1, json.dumps({**line, "response": response}).encode())
        assert output["signature"] == f"task:database|policy:robust|ver:{TASK.scorer_version}|db:{db}"


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ({"schema": SCHEMA}, "reference_sql"),
        ({"reference_sql": None, "schema": SCHEMA}, "reference_sql"),
        ({"reference_sql": 5, "schema": SCHEMA}, "reference_sql"),
        ({"reference_sql": "SELECT 1; SELECT 2", "schema": SCHEMA}, "reference_sql"),
        ({"reference_sql": SQL}, "schema"),
        ({"reference_sql": SQL, "schema": 3}, "schema"),
        ({"reference_sql": SQL, "database": "missing.sqlite"}, "database"),
        ({"reference_sql": SQL, "database": "empty"}, "database"),
        ({"reference_sql": SQL, "database": "empty", "schema": SCHEMA}, "database"),
        ({"reference_sql": SQL, "database": ["a"]}, "database"),
        ({"reference_sql": SQL, "database": "a\0b"}, "database"),
    ],
)
def test_bad_score_lines_name_the_field(tmp_path: Path, line: dict[str, Any], field: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecordError) as caught:
        TASK.score_item(line, tmp_path)
    assert caught.value.field == field


def test_a_database_that_vanishes_later_is_missing_not_wrong(tmp_path: Path) -> None:
    path = database(tmp_path / "gone.sqlite")
    item = instruction(reference={"reference_sql": SQL, "databases": [str(path)]})
    assert TASK.score(SQL, item).score == 100
    path.unlink()
    verdict = TASK.score(SQL, item)
    assert verdict.score is None
    assert "gone.sqlite" in (verdict.error or "")


def test_scoring_from_many_threads() -> None:
    item = instruction()
    found: list[float | None] = []

    def work(sql: str) -> None:
        found.extend(TASK.score(sql, item).score for _ in range(20))

    threads = [threading.Thread(target=work, args=(sql,)) for sql in [SQL, "SELECT 1"] * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(score for score in found if score is not None) == [0] * 80 + [100] * 80
