"""Table of SQL answer forms with the score each must get, and why. Kinds follow public bug reports."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from lic_pipeline.records import Instruction, Policy
from lic_pipeline.sandbox.sql import Limits
from lic_pipeline.tasks.database import TASK
from lic_pipeline.tasks.database import run_queries as database_run

SCHEMA = """
CREATE TABLE player (id INTEGER PRIMARY KEY, name TEXT, team TEXT, age INTEGER, height REAL, nick TEXT);
INSERT INTO player VALUES
  (1, 'Ada', 'Red', 30, 1.5, NULL), (2, 'Ben', 'Red', 25, 1.8, ''), (3, 'Cyd', 'Blue', 30, 2.0, 'C'),
  (4, 'Dan', 'Blue', 41, 1.7, NULL), (5, 'Eve', 'Blue', 19, 1.6, 'E'), (6, 'Ben', 'Gold', 25, 1.9, 'B');
CREATE TABLE team (name TEXT PRIMARY KEY, city TEXT, "value" INTEGER);
INSERT INTO team VALUES ('Red', 'Oslo', 10), ('Blue', 'Rome', 20), ('Gold', 'Oslo', 30), ('Grey', 'Bonn', NULL);
"""

NAMES = "SELECT name FROM player WHERE team = 'Blue'"
BY_AGE = "SELECT name FROM player ORDER BY age"
COUNTS = "SELECT team, count(*) FROM player GROUP BY team"
MEAN = "SELECT avg(height) FROM player"

# gold, answer, score, why
FORMS = [
    (NAMES, NAMES, 100, "the gold itself"),
    (NAMES, "select NAME from PLAYER where TEAM='Blue';", 100, "case of names, spaces and a final semicolon are free"),
    (NAMES, "SELECT p.name AS who FROM player AS p WHERE p.team = 'Blue'", 100, "aliases change no value"),
    (NAMES, 'SELECT name FROM player WHERE team = "Blue"', 100, "SQLite reads an unknown quoted name as text"),
    (NAMES, "SELECT `name` FROM [player] WHERE \"team\" = 'Blue'", 100, "all three quotings of names"),
    (NAMES, "/* blue */ SELECT name -- names\nFROM player WHERE team = 'Blue' -- done", 100, "comments are no content"),
    (NAMES, "SELECT name FROM player WHERE team = 'Blue' ORDER BY age DESC", 100, "the gold leaves the order free"),
    (NAMES, "SELECT name FROM player WHERE id IN (3, 4, 5)", 100, "the same rows by another way"),
    (NAMES, "WITH b AS (SELECT * FROM player WHERE team = 'Blue') SELECT name FROM b", 100, "WITH is a query"),
    (NAMES, "SELECT name FROM player WHERE team = 'blue'", 0, "literals are strict"),
    (NAMES, "SELECT name FROM player", 0, "the filter is missing"),
    (NAMES, "SELECT name, id FROM player WHERE team = 'Blue'", 0, "one column too many"),
    (NAMES, "SELECT id FROM player WHERE team = 'Blue'", 0, "another column"),
    (NAMES, "SELECT name FROM player WHERE team = 'Blue' AND id <> id", 0, "an empty result is not the gold's"),
    (COUNTS, "SELECT count(id), team FROM player GROUP BY team", 100, "columns may come in any order"),
    (COUNTS, "SELECT t.name, count(*) FROM team t JOIN player p ON p.team = t.name GROUP BY t.name", 100, "by a join"),
    (
        COUNTS,
        "SELECT t.name, count(p.id) FROM team t LEFT JOIN player p ON p.team = t.name GROUP BY 1",
        0,
        "Grey with 0",
    ),
    (COUNTS, "SELECT team, min(4 - count(*), 9) FROM player GROUP BY team", 0, "right columns, wrongly paired rows"),
    ("SELECT min(age), avg(age) FROM player", "SELECT min(age), max(age) FROM player", 0, "another aggregate"),
    ("SELECT name FROM player", "SELECT DISTINCT name FROM player", 0, "DISTINCT is strict: Ben stands twice"),
    ("SELECT DISTINCT name FROM player", "SELECT name FROM player", 0, "DISTINCT is strict the other way"),
    ("SELECT DISTINCT name FROM player", "SELECT name FROM player GROUP BY name", 100, "grouping removes doubles too"),
    (
        BY_AGE,
        "SELECT name FROM player ORDER BY age, name DESC",
        100,
        "rows tied under the gold's order come in any order",
    ),
    (BY_AGE, "SELECT name FROM player ORDER BY age, id", 100, "another order of the tied rows"),
    (BY_AGE, "SELECT name FROM player ORDER BY age DESC", 0, "the order is reversed"),
    (BY_AGE, "SELECT name FROM player", 0, "the order is missing"),
    (
        "SELECT name, age FROM player ORDER BY 2 DESC",
        "SELECT age, name FROM player ORDER BY age DESC, name",
        100,
        "ordinal",
    ),
    ("SELECT team, count(*) AS n FROM player GROUP BY team ORDER BY n", f"{COUNTS} ORDER BY count(*)", 100, "by alias"),
    (
        "SELECT name FROM player WHERE id IN (SELECT id FROM player ORDER BY age LIMIT 9)",
        "SELECT name FROM player",
        100,
        "an inner ORDER BY leaves the outer order free",
    ),
    (
        "SELECT name FROM player UNION ALL SELECT city FROM team ORDER BY name",
        "SELECT city FROM team UNION ALL SELECT name FROM player ORDER BY 1",
        100,
        "order of a compound",
    ),
    (
        "SELECT name FROM player UNION SELECT city FROM team ORDER BY name",
        "SELECT name FROM player UNION SELECT city FROM team ORDER BY 1 DESC",
        0,
        "order of a compound reversed",
    ),
    (
        "SELECT name FROM player ORDER BY team COLLATE NOCASE",
        "SELECT name FROM player ORDER BY team, age",
        100,
        "collation",
    ),
    (MEAN, "SELECT sum(height) / count(*) FROM player", 100, "the mean by hand, equal to 1e-9"),
    (MEAN, "SELECT avg(height) + 1e-12 FROM player", 100, "inside the tolerance"),
    (MEAN, "SELECT round(avg(height), 2) + 0.001 FROM player", 0, "outside the tolerance"),
    (MEAN, "SELECT avg(height) || '' FROM player", 0, "text is not a number"),
    ("SELECT count(*) FROM player", "SELECT count(*) * 1.0 FROM player", 100, "6 = 6.0"),
    ("SELECT age FROM player WHERE id = 1", "SELECT '30'", 0, "'30' is text"),
    ("SELECT nick FROM player", "SELECT coalesce(nick, '') FROM player", 0, "NULL differs from ''"),
    ("SELECT nick FROM player", "SELECT nick FROM player ORDER BY nick", 100, "NULLs sort without harm"),
    ("SELECT nick FROM player", "SELECT coalesce(nick, 'NULL') FROM player", 0, "NULL differs from 'NULL'"),
    ("SELECT value FROM team", 'SELECT "value" FROM team', 100, "a column named like a placeholder"),
    ("SELECT 9007199254740993", "SELECT 9007199254740992", 0, "large whole numbers are exact"),
    ("SELECT name FROM player WHERE age > 90", "SELECT name FROM player WHERE age > 91", 100, "two empty results"),
    ("SELECT name FROM player WHERE age > 90", "SELECT name, id FROM player WHERE age > 91", 0, "empty, other columns"),
    (
        "SELECT name FROM player WHERE team != 'Red'",
        "SELECT name FROM player WHERE team <> 'Red'",
        100,
        "both spellings",
    ),
    ("SELECT max(age) FROM player", "SELECT age FROM player ORDER BY age DESC LIMIT 1", 100, "maximum by LIMIT"),
    ("SELECT name, team FROM player", "SELECT team, team FROM player", 0, "one column twice"),
    ("SELECT id, id FROM player", "SELECT id, id FROM player ORDER BY 1 DESC", 100, "look-alike columns"),
    ("SELECT id, 7 - id FROM player", "SELECT id, id FROM player", 0, "same contents, other pairing"),
]

# answer, verdict
REFUSED = [
    ("", "no_answer"),
    ("   \n", "no_answer"),
    ("-- only a comment", "no_answer"),
    ("SELECT name FROM player; SELECT 1", "not_one_query"),
    (f"{NAMES}; DROP TABLE player", "not_one_query"),
    ("DROP TABLE player", "not_one_query"),
    ("DELETE FROM player WHERE team = 'Blue' RETURNING name", "not_one_query"),
    ("WITH x AS (SELECT 1) UPDATE player SET age = 1 RETURNING name", "not_one_query"),
    ("INSERT INTO player(name) VALUES ('x')", "not_one_query"),
    ("ATTACH 'x.db' AS x", "not_one_query"),
    ("PRAGMA table_info(player)", "not_one_query"),
    ("EXPLAIN SELECT name FROM player", "not_one_query"),
    ("I would look at the players first.", "not_one_query"),
    ("SELECT nam FROM player", "sql_error"),
    ("SELECT name FROM players", "sql_error"),
    ("SELECT name FROM player WHERE", "sql_error"),
    ("SELECT name FROM player WHERE team = 'Blue", "sql_error"),
    ("SELECT name FROM player WHERE team = ?", "sql_error"),
    ("(SELECT name FROM player WHERE team = 'Blue')", "not_one_query"),
    ("SELECT printf('%s', name) FROM player", "forbidden"),
    ("SELECT name FROM pragma_table_info('player')", "forbidden"),
    ("SELECT load_extension('x')", "forbidden"),
    ("WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x FROM r) SELECT max(x) FROM r", "timeout"),
    ("SELECT zeroblob(999999999)", "sql_error"),
    (
        "SELECT a.name FROM player a, team, player b, team c, player d, team e, player f, team g, player h, team i",
        "wrong",
    ),
]


def instruction(gold: str, **reference: Any) -> Instruction:
    fields = reference or {"schema": SCHEMA}
    return Instruction(
        instruction_id="own/1",
        task="database",
        benchmark="own",
        text="Which ones?",
        context={"schema_sql": SCHEMA.split("INSERT")[0]},
        reference={"reference_sql": gold, **fields},
    )


@pytest.mark.parametrize(("gold", "answer", "score", "why"), FORMS, ids=[why for *_, why in FORMS])
def test_answer_forms(gold: str, answer: str, score: float, why: str) -> None:
    verdict = TASK.score(answer, instruction(gold))
    assert verdict.score == score, (why, verdict)
    assert verdict.verdict == ("correct" if score else "wrong"), why
    assert verdict.error is None


@pytest.mark.parametrize(("answer", "verdict"), REFUSED, ids=[f"{v}:{a[:30]}" for a, v in REFUSED])
@pytest.mark.parametrize("policy", ["robust", "reference"])
def test_refused_answers_score_zero_with_their_reason(
    monkeypatch: pytest.MonkeyPatch, answer: str, verdict: str, policy: Policy
) -> None:
    monkeypatch.setattr(database_run, "LIMITS", Limits(seconds=0.5))
    found = TASK.score(answer, instruction(NAMES), policy)
    assert (found.score, found.verdict, found.error) == (0, verdict, None)


@pytest.mark.parametrize(
    ("gold", "answer", "robust", "reference", "why"),
    [
        (NAMES, "SELECT name FROM player WHERE team = 'Bleu'", 0, 100, "the gold's constant is plugged in"),
        (NAMES, "SELECT name FROM player WHERE team LIKE 'B%'", 100, 100, "right as it is, without plugging"),
        (NAMES, "SELECT name FROM player WHERE age = 1", 0, 0, "no constant of the gold helps"),
        ("SELECT DISTINCT name FROM player", "SELECT name FROM player", 0, 100, "DISTINCT is stripped from both"),
        ("SELECT count(DISTINCT name) FROM player", "SELECT count(name) FROM player", 0, 100, "also inside count"),
        (BY_AGE, "SELECT name FROM player ORDER BY age, name DESC", 100, 0, "ties count under strict order"),
        (
            "SELECT name FROM player WHERE id IN (SELECT id FROM player ORDER BY age)",
            "SELECT name FROM player ORDER BY id DESC",
            100,
            0,
            "any ORDER BY in the text makes order matter",
        ),
        (MEAN, "SELECT avg(height) + 1e-12 FROM player", 100, 0, "no tolerance"),
        (
            "SELECT name FROM player WHERE age > 90",
            "SELECT name, id FROM player WHERE age > 91",
            0,
            100,
            "empty = empty",
        ),
        (
            "SELECT name FROM player WHERE age >= 30",
            "SELECT name FROM player WHERE age > = 30",
            0,
            100,
            "operators joined",
        ),
    ],
)
def test_policies_differ_where_they_should(gold: str, answer: str, robust: float, reference: float, why: str) -> None:
    assert TASK.score(answer, instruction(gold)).score == robust, why
    assert TASK.score(answer, instruction(gold), "reference").score == reference, why


def test_every_database_of_a_suite_must_agree(tmp_path: Path) -> None:
    paths = []
    for name, extra in (("one", ""), ("two", "INSERT INTO player VALUES (7, 'Fay', 'Blue', 50, 1.4, NULL);")):
        path = tmp_path / f"{name}.sqlite"
        connection = sqlite3.connect(path)
        connection.executescript(SCHEMA + extra)
        connection.close()
        paths.append(str(path))
    lucky = "SELECT name FROM player WHERE id IN (3, 4, 5)"
    assert TASK.score(lucky, instruction(NAMES, databases=paths[:1])).score == 100
    suite = TASK.score(lucky, instruction(NAMES, databases=paths))
    assert (suite.score, suite.detail["database"]) == (0, "two.sqlite")
    assert TASK.score(NAMES, instruction(NAMES, databases=paths)).score == 100


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ({"databases": []}, "no database"),
        ({"databases": ["/nowhere/at/all.sqlite"]}, "cannot be read"),
        ({"schema": "CREATE TABLE player("}, "schema cannot be built"),
        ({"schema": "CREATE TABLE other(a);"}, "reference_sql fails"),
    ],
)
@pytest.mark.parametrize("policy", ["robust", "reference"])
def test_trouble_with_the_reference_is_missing_and_never_zero(
    reference: dict[str, Any], words: str, policy: Policy
) -> None:
    verdict = TASK.score(NAMES, instruction(NAMES, **reference), policy)
    assert (verdict.score, verdict.verdict) == (None, "not_judged")
    assert words in (verdict.error or "")


def test_order_of_a_gold_with_distinct_and_limit() -> None:
    gold = "SELECT DISTINCT team FROM player ORDER BY team DESC LIMIT 2"
    assert TASK.score("SELECT team FROM player GROUP BY team ORDER BY 1 DESC LIMIT 2", instruction(gold)).score == 100
    assert TASK.score("SELECT team FROM player GROUP BY team ORDER BY 1 LIMIT 2 OFFSET 1", instruction(gold)).score == 0
