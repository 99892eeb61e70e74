"""From a reply to one query and a strategy label: fences, prose, JSON, several queries, replies without any."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lic_pipeline.records import Instruction, Reply
from lic_pipeline.tasks.database import TASK
from lic_pipeline.tasks.database.tokens import canonical

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
    ],
)
def test_long_replies_are_read_in_linear_time(unit: str) -> None:
    text = unit * (30_000 // len(unit))
    started = time.monotonic()
    TASK.extract(Reply(text=text), ITEM)
    assert time.monotonic() - started < 3
