"""From a reply to one query and a strategy label: fences, prose, JSON, several queries, replies without any."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lic_pipeline.records import Instruction, Reply
from lic_pipeline.tasks.database import TASK
from lic_pipeline.tasks.database.sql_tokens import canonical

Q = "SELECT name FROM player WHERE age > 20"
ALL = "SELECT name FROM player"
ITEM = Instruction(instruction_id="x", task="database", benchmark="own", text="?")

# reply, expected query (canonical), rung, label
REPLIES = [
    (f"```sql\n{Q};\n```", Q, "block", "answer_attempt"),
    (f"```\n{Q}\n```", Q, "block", "answer_attempt"),
    (f"```SQLite\n{Q}\n```\nIt lists names.", Q, "block", "answer_attempt"),
    (f"Here it is:\n~~~sql\n{Q}\n~~~\nIs there anything else?", Q, "block", "answer_attempt"),
    (f"````markdown\n## Query\n```sql\n{Q};\n```\nIt lists names.\n````", Q, "block", "answer_attempt"),
    (f"```sql\n{Q}", Q, "block", "answer_attempt"),
    (f"```{Q}```", Q, "block", "answer_attempt"),
    (f"Use ```sql {Q}``` for that.", Q, "block", "answer_attempt"),
    (f"1. Do this:\n   ```sql\n   {Q}\n   ```", Q, "block", "answer_attempt"),
    (f"```sql\n-- names\n{Q} /* adults */;\n-- end\n```", Q, "block", "answer_attempt"),
    (f"```sql\n{Q}\n```\nAgain:\n```sql\n{Q};\n```", Q, "block", "answer_attempt"),
    (f"```sql\nCREATE TABLE player (name TEXT);\n```\nso\n```sql\n{Q}\n```", Q, "block", "answer_attempt"),
    (f"```python\nprint(1)\n```\n```sql\n{Q}\n```", Q, "block", "answer_attempt"),
    (f"```sql\n{Q}\n```\nOutput:\n```\nname\n----\nAda\n```", Q, "block", "answer_attempt"),
    (f"First a step:\n```sql\n{ALL}\n```\nThe final query:\n```sql\n{Q}\n```", Q, "marker", "answer_attempt"),
    (f"```sql\n{Q}\n```\nAlternatively, with no filter:\n```sql\n{ALL}\n```", Q, "loose", "answer_attempt"),
    (f"One:\n```sql\n{ALL}\n```\nTwo:\n```sql\n{Q}\n```", Q, "loose", "answer_attempt"),
    (f"If adults:\n```sql\n{Q}\n```\nIf everybody:\n```sql\n{ALL}\n```", None, "ambiguous", "hedging"),
    (f"**{Q}**", Q, "whole", "answer_attempt"),
    (f"``{Q}``", Q, "whole", "answer_attempt"),
    (f"[SQL]\n{Q}\n[/SQL]", Q, "whole", "answer_attempt"),
    (f"'''sql\n{Q}\n'''", Q, "block", "answer_attempt"),
    (Q.replace(">", "&gt;"), Q, "whole", "answer_attempt"),
    (Q.replace("SELECT ", "SELECT\u00a0"), Q, "whole", "answer_attempt"),
    (f"{Q} \uff1b", Q, "whole", "answer_attempt"),
    (f"<|start|>assistant<|channel|>final<|message|>{Q}<|im_end|>", Q, "whole", "answer_attempt"),
    (f"{Q}, assuming ages are whole numbers", Q, "marker", "answer_attempt"),
    (f"«{Q} AND name = 'é—»'»", f"{Q} AND name = 'é—»'", "loose", "answer_attempt"),
    (f"{Q}\nQuestion: which teams?", Q, "marker", "answer_attempt"),
    ('```json\n{"SQL": "SELECT name\\nFROM player WHERE age > 20"}\n```', Q, "whole", "answer_attempt"),
    (Q, Q, "whole", "answer_attempt"),
    (f"{Q};\n", Q, "whole", "answer_attempt"),
    (f"sql\n{Q}", Q, "whole", "answer_attempt"),
    (f"-- adults\n{Q}", Q, "whole", "answer_attempt"),
    (f"> {Q}", Q, "whole", "answer_attempt"),
    ("select name from player where age > 20", "select name from player where age > 20", "whole", "answer_attempt"),
    ('{"sql": "SELECT name\\nFROM player WHERE age > 20"}', Q, "whole", "answer_attempt"),
    ('```json\n{"query": "SELECT name\\nFROM player WHERE age > 20"}\n```', Q, "whole", "answer_attempt"),
    (f"SQL: {Q}", Q, "marker", "answer_attempt"),
    (f"Here: <sql>{Q}</sql>", Q, "loose", "answer_attempt"),
    (f'```python\nq = """\n{Q}\n"""\nrun(q)\n```', Q, "loose", "answer_attempt"),
    (f"First `SELECT * FROM player`.\nThe query is `{Q.replace(chr(10), ' ')}`", Q, "loose", "answer_attempt"),
    (f"**Query:** {Q}", Q, "marker", "answer_attempt"),
    (f"query: {Q.lower()}", Q.lower(), "marker", "answer_attempt"),
    (f"Sure:\n\n{Q}\n\nThis returns all adults' names.", Q, "marker", "answer_attempt"),
    (f"{Q};\n\nThis doesn't list anybody under 20.", Q, "marker", "answer_attempt"),
    ("SELECT\n  name\nFROM\n  player\nWHERE\n  age > 20\n\nThe query lists names.", Q, "marker", "answer_attempt"),
    ("SELECT\n  name\nFROM\n  player\nThe query gives all the names.", ALL, "marker", "answer_attempt"),
    ("WITH x AS (\n  SELECT 1 AS a\n\n)\nSELECT a FROM x", "WITH x AS ( SELECT 1 AS a ) SELECT a FROM x", "whole",
     "answer_attempt"),
    (f"You could use `{Q}` here.", Q, "loose", "answer_attempt"),
    (f"Shall it be `{Q}`? Or which age do you mean?", Q, "loose", "interrogation"),
    ("SELECT 1; SELECT 2;", "SELECT 1; SELECT 2", "whole", "answer_attempt"),
    ("```sql\nSELECT 1;\nSELECT 2;\n```", "SELECT 1; SELECT 2", "block", "answer_attempt"),
    ("```sql\nDROP TABLE player;\n```", "DROP TABLE player", "block", "answer_attempt"),
    ("DROP TABLE player", "DROP TABLE player", "whole", "answer_attempt"),
    ("WITH d AS (SELECT 1) DELETE FROM player RETURNING id", "WITH d AS (SELECT 1) DELETE FROM player RETURNING id",
     "whole", "answer_attempt"),
    (f"<think>maybe {ALL}</think>\n```sql\n{Q}\n```", Q, "block", "answer_attempt"),
    (f"<think>maybe {ALL}", None, "failed", "missing"),
    (f"<think>{Q}</think>", None, "failed", "missing"),
    ("", None, "failed", "missing"),
    ("  \n ", None, "failed", "missing"),
    ("Which columns do you want?", None, "failed", "clarification"),
    ("Which columns? And from which table?", None, "failed", "interrogation"),
    ("I am sorry, but I cannot help with this.", None, "failed", "refusal"),
    ("Select the names of players from the table where age is over 20.", None, "failed", "discussion"),
    ("Please select one from the list. With that in mind, we go on.", None, "failed", "discussion"),
    ("SELECT all the names of the players FROM your table", None, "failed", "discussion"),
    ("A SELECT with a JOIN is needed, and GROUP BY for the counts.", None, "failed", "discussion"),
    ("The schema has a table player and the view team; both hold names.", None, "failed", "discussion"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "query", "rung", "label"), REPLIES, ids=[repr(row[0][:40]) for row in REPLIES])
def test_replies(text: str, query: str | None, rung: str, label: str) -> None:
    extraction = TASK.extract(Reply(text=text), ITEM)
    assert (extraction.answer and canonical(extraction.answer), extraction.rung.value) == (query, rung)
    assert TASK.label(Reply(text=text), ITEM).value == label


MEAN = "SELECT avg(age) FROM player"
JOINED = "SELECT p.name, t.city\nFROM player AS p\nJOIN team t ON p.team = t.name\nWHERE t.city = 'St. Ives. (north)'"
OLDEST = "SELECT name FROM player WHERE id NOT IN (SELECT id FROM team) ORDER BY age DESC LIMIT 1"
BY_TEAM = "select team, count(*) from player group by team having count(*) > 1"
BARE = [Q, MEAN, JOINED, OLDEST, BY_TEAM]

TAILS = [
    ". This returns the names.", ".", ". Having said that, ties are open.", " (oldest first)",
    " which gives what you want.", " -- as asked", " — as asked.", ": it is all you need.",
    "? Or do you want the ages?", " => Ada", " Answer: Ada", "\nSQLResult: Ada\nAnswer: it is Ada.",
    "\nSQL Result: 3", "\nDone.", "\nOutput:\nAda", "\n(3 rows)", "\n*This needs SQLite.*",
    "\n- reads players\n- sorts them", "\n1. It reads players\n2. It sorts them", "\n| name |\n|---|\n| Ada |",
    "\n</sql>", "<end_of_turn>", "\n\n(This returns one row per player.)",
    "\n\nWhere the age is unknown, nothing is returned.", "\n\nAnd that is it.", "\n\nOrder is of no matter here.",
    "\n\nSelect your database first.", "\n\nWith this, you are done.", "\n\nLimit reached.", "\n\nJoin us next week.",
    "\n\nHere's why it's right: players' ages count.", "\n\n**Note:** ties are open.", "\n\n> A note",
]  # fmt: skip


@pytest.mark.parametrize("tail", TAILS)
def test_a_bare_query_ends_where_prose_begins(tail: str) -> None:
    for query in BARE:
        answer = TASK.extract(Reply(text=query + tail), ITEM).answer
        assert canonical(answer or "") == canonical(query)


@pytest.mark.parametrize("query", [Q, MEAN, JOINED, OLDEST])
def test_a_query_in_mid_sentence_is_the_query(query: str) -> None:
    answer = TASK.extract(Reply(text=f"Take {query} for this."), ITEM).answer
    assert canonical(answer or "") == canonical(query)


WHOLE = [
    "SELECT name\nFROM player\n\nWHERE age > 20\n\nORDER BY age",
    "SELECT name FROM player\nWhere age > 20\nOrder By age",
    "Select name\nFrom player\nWhere age > 20",
    "SELECT name\n     , age\nFROM player p\nLEFT OUTER\nJOIN team t\nUSING (name)",
    "SELECT CASE\n  WHEN age > 20 THEN 'x. This'\n  ELSE 'y'\nEND AS k\nFROM player ORDER BY k\nDESC NULLS\nLAST",
    "SELECT which, p.this AS the FROM player p WHERE p.that\n> 3",
    "SELECT name FROM player WHERE note = 'a; b' -- Keep. This\nAND age > 3",
    "SELECT count(*) Total FROM Player P",
    "VALUES (1), (2)",
]


@pytest.mark.parametrize("query", WHOLE)
def test_no_part_of_a_query_is_taken_for_prose(query: str) -> None:
    assert TASK.extract(Reply(text=query), ITEM).answer == query
    assert TASK.extract(Reply(text=f"{query}\n\nThis is it."), ITEM).answer == query


FAULTY = [
    "SELECT name FROM player WHERE",
    "SELECT name FROM player FULL JOIN",
    "SELECT name FROM player WHERE age > > 20",
    "SELECT TOP 1 name FROM player",
    "SELECT name FROM player WHERE age IN (1 2)",
    "SELECT name FROM player LIMIT 1 ORDER BY age",
    "SELECT name FROM player ORDER BY age DSC",
    "SELECT name FROM player; DROP TABLE player",
    "SELECT name FROM player; EXPLAIN SELECT 1",
    "select name from player; drop table player",
    "select name from player; select name from team",
]


@pytest.mark.parametrize("sql", FAULTY)
@pytest.mark.parametrize("form", ["{}", "```sql\n{}", "```sql\n{}\n```"])
def test_nothing_faulty_is_mended_by_leaving_a_part_out(sql: str, form: str) -> None:
    assert TASK.extract(Reply(text=form.format(sql)), ITEM).answer == sql


@pytest.mark.parametrize(
    "block",
    ["```sql\n{};\n\nThis lists names.\n```", "```sql\n{}\n\nThis lists names.", "```sql\n{}\n\nThis lists names.\n```",
     "```sql\nsqlite> {};\nAda\n```", "```sql\nsql\n{}\n```", "```sql\n# names\n{}\n```", "```sql\n{};</answer>"],
)  # fmt: skip
def test_a_block_with_prose_beside_its_query_is_the_query(block: str) -> None:
    assert canonical(TASK.extract(Reply(text=block.format(Q)), ITEM).answer or "") == Q


def test_the_grammar_is_loaded_by_the_first_reply_that_needs_it() -> None:
    program = (
        "import sys\nfrom lic_pipeline.tasks.database.extract_query import find\n"
        "for text in ['Which table?', '```sql\\nSELECT 1;\\n```', 'SELECT 1']:\n"
        "    find(text)\n    print('sqlglot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False", "True"]


def test_the_truncated_reasoning_flag_is_set() -> None:
    assert TASK.extract(Reply(text="<think>so far"), ITEM).flags == ("truncated_reasoning",)


PIECES = st.sampled_from(
    [
        "SELECT ",
        "select",
        "WITH a AS (",
        "FROM player",
        " WHERE ",
        "'",
        '"',
        "`",
        "```",
        "```sql\n",
        "~~~",
        ";",
        "--",
        "/*",
        "*/",
        "(",
        ")",
        "\n",
        "\n\n",
        "x'",
        "[",
        "]",
        "<think>",
        "</think>",
        '{"sql": ',
        "}",
        "If ",
        "alternatively",
        ":",
        ",",
        "1e5",
        "0x",
        "é",
        "\0",
        "\ud800",
        "> ",
        "* ",
        "DROP TABLE t",
        "VALUES (1)",
        "@p",
        "?1",
        ".",
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(max_size=300), st.lists(PIECES, max_size=40).map("".join)))
def test_no_text_breaks_extraction_or_labels(text: str) -> None:
    reply = Reply.model_construct(text=text, reasoning="", tool_calls=())
    extraction = TASK.extract(reply, ITEM)
    assert TASK.label(reply, ITEM) is not None
    assert (extraction.answer is None) == (extraction.rung.value in ("failed", "ambiguous"))
    assert extraction.answer is None or extraction.answer.strip()


@pytest.mark.parametrize(
    "unit",
    [
        "SELECT ",
        "SELECT a FROM b\n",
        "`",
        "```",
        "```sql\n",
        "'",
        '"',
        "(",
        "/*",
        "--\n",
        ".",
        "If ",
        "with ",
        "\n",
        " ",
        "SELECT a, ",
        "{",
        "- ",
        "aaaa ",
        "A aaaa ",
        "SQL: ",
        "VALUES (1),",
        "`SELECT a",
        "select\n",
        "if. ",
        "1. ",
        "SELECT a FROM t x y z\n",
        "SELECT a FROM t WHERE NOT (",
        "SELECT a FROM t, ",
    ],
)
def test_long_replies_are_read_in_linear_time(unit: str) -> None:
    text = unit * (30_000 // len(unit))
    started = time.monotonic()
    TASK.extract(Reply(text=text), ITEM)
    assert time.monotonic() - started < 3
