"""Items that cannot tell a right query from a lazy one are named, with the reason; good items are not."""

from __future__ import annotations

import pytest

from lic_pipeline.errors import RecordError
from lic_pipeline.records import Instruction
from lic_pipeline.tasks.database.task import discrimination

SCHEMA = """
CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT, author INTEGER, pages INTEGER, year INTEGER);
INSERT INTO book VALUES (1, 'Ash', 1, 100, 2000), (2, 'Bay', 1, 200, 2000), (3, 'Cog', 2, 300, 2001),
  (4, 'Dew', 3, 300, 2002);
CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT);
INSERT INTO author VALUES (1, 'Lee'), (2, 'Moe'), (3, 'Nan'), (4, 'Oda');
CREATE TABLE shop (city TEXT);
"""


def item(sql: str, schema: str = SCHEMA) -> Instruction:
    reference = {"reference_sql": sql, "schema": schema} if schema else {"reference_sql": sql, "databases": []}
    return Instruction(instruction_id="x", task="database", benchmark="own", text="?", reference=reference)


@pytest.mark.parametrize(
    ("sql", "reason"),
    [
        ("SELECT title FROM book WHERE pages > 150", None),
        ("SELECT count(*) FROM book", None),
        ("SELECT title FROM book", None),
        ("SELECT title, name FROM book JOIN author ON author.id = book.author", None),
        ("SELECT title FROM book ORDER BY pages LIMIT 1", None),
        ("SELECT pages FROM book ORDER BY pages DESC LIMIT 1", None),
        ("SELECT title FROM book WHERE pages > 900", "empty"),
        ("SELECT city FROM shop", "empty"),
        ("SELECT title FROM books", "gold_fails"),
        ("SELECT title FROM book WHERE pages > 0", "filter_inert"),
        ("SELECT year FROM book WHERE pages > 0 GROUP BY year HAVING count(*) > 1", "filter_inert"),
        ("SELECT author FROM book WHERE year > 2000 GROUP BY author HAVING count(*) >= 1", "filter_inert"),
        ("SELECT DISTINCT year FROM book WHERE title <> 'Ash'", "filter_inert"),
        ("SELECT title FROM book ORDER BY pages DESC LIMIT 1", "limit_tie"),
        ("SELECT author FROM book GROUP BY author ORDER BY count(*) LIMIT 1", "limit_tie"),
        ("SELECT title FROM book LIMIT 2", "limit_tie"),
        ("SELECT title FROM book LIMIT 20", "single_table"),
        ("SELECT title FROM book ORDER BY pages LIMIT 2 OFFSET 1", "limit_tie"),
        ("SELECT name FROM author WHERE id = (SELECT author FROM book ORDER BY pages DESC LIMIT 1)", "limit_tie"),
        ("SELECT name FROM author WHERE id = (SELECT author FROM book ORDER BY pages LIMIT 1)", None),
        ("SELECT id, name FROM author", "whole_table"),
        ("SELECT * FROM author", "whole_table"),
        ("SELECT a.name FROM author a LEFT JOIN book b ON b.id = a.id", "single_table"),
        ("SELECT b.title FROM book b JOIN author a ON a.id = b.author", "single_table"),
        ("SELECT name FROM author EXCEPT SELECT name FROM author JOIN book ON author.id = book.author", None),
        ("SELECT name FROM author WHERE id < 3 UNION SELECT title FROM book WHERE year = 2001", None),
    ],
)
def test_reasons(sql: str, reason: str | None) -> None:
    assert discrimination(item(sql)) == reason


def test_no_database_is_its_own_reason_and_no_reference_an_error() -> None:
    assert discrimination(item("SELECT 1", schema="")) == "no_database"
    with pytest.raises(RecordError, match="reference_sql"):
        discrimination(item("DROP TABLE book"))
