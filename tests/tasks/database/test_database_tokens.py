"""Tokenizer and shape: quoting, comments, statement ends, clauses of the outermost query only."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lic_pipeline.tasks.database.query_shape import alias_of, limit_window, shape, subqueries
from lic_pipeline.tasks.database.sql_tokens import canonical, is_one_query, statements, tokenize, verb


@pytest.mark.parametrize(
    ("sql", "kinds"),
    [
        ("SELECT 'it''s; ok'", ["word", "string"]),
        ('"a""b" `c``d` [e f]', ["ident", "ident", "ident"]),
        ("x'00' X'ff' xy", ["blob", "blob", "word"]),
        ("1 1.5 .5 1e9 1.5E-3 0xFF", ["number"] * 6),
        ("a->>'b' || c", ["word", "op", "string", "op", "word"]),
        ("?1 :n @n $n ?", ["param"] * 5),
        ("a -- b ; c\n /* d ; */ e", ["word", "word"]),
        ("/* never closed", []),
        ("'never closed ; x", ["bad"]),
        ("T1.a >= 3", ["word", "op", "word", "op", "number"]),
        ("größe 名前", ["word", "word"]),
    ],
)
def test_kinds(sql: str, kinds: list[str]) -> None:
    assert [token.kind for token in tokenize(sql)] == kinds


@pytest.mark.parametrize(
    ("sql", "verbs", "one_query"),
    [
        ("SELECT 1", ["SELECT"], True),
        ("SELECT 1;;", ["SELECT"], True),
        (";SELECT ';' ; -- x", ["SELECT"], True),
        ("VALUES (1)", ["VALUES"], True),
        ("WITH a AS (SELECT 1) SELECT * FROM a", ["SELECT"], True),
        ("WITH a AS (SELECT 1) DELETE FROM a", ["DELETE"], False),
        ("SELECT 1; SELECT 2", ["SELECT", "SELECT"], False),
        ("DROP TABLE a", ["DROP"], False),
        ('"SELECT" 1', [""], False),
        ("", [], False),
        ("-- SELECT 1", [], False),
    ],
)
def test_statements(sql: str, verbs: list[str], one_query: bool) -> None:
    assert [verb(part) for part in statements(tokenize(sql))] == verbs
    assert is_one_query(sql) is one_query


def test_canonical_form() -> None:
    assert canonical("SELECT  a,b -- c\n FROM\tt /* d */ ; ") == "SELECT a,b FROM t"
    assert canonical("SELECT 'a  -- b'") == "SELECT 'a  -- b'"


@pytest.mark.parametrize(
    ("sql", "order", "limit", "cores"),
    [
        ("SELECT a FROM t", "", "", 1),
        ("SELECT a FROM t ORDER BY a DESC, b LIMIT 3", "ORDER BY a DESC, b", "LIMIT 3", 1),
        ("SELECT a FROM (SELECT a FROM t ORDER BY a LIMIT 1)", "", "", 1),
        ("SELECT row_number() OVER (ORDER BY a) FROM t", "", "", 1),
        ("SELECT group_concat(a ORDER BY b) FROM t", "", "", 1),
        ("SELECT a FROM t WHERE b = 'ORDER BY a'", "", "", 1),
        ('SELECT "ORDER" FROM t -- ORDER BY a', "", "", 1),
        ("SELECT a FROM t UNION ALL SELECT b FROM u EXCEPT SELECT 1 ORDER BY 1", "ORDER BY 1", "", 3),
        ("WITH x AS (SELECT a FROM t ORDER BY a) SELECT a FROM x ORDER BY a", "ORDER BY a", "", 1),
        ("SELECT a FROM t order\nby a", "order\nby a", "", 1),
    ],
)
def test_only_the_outermost_clauses_count(sql: str, order: str, limit: str, cores: int) -> None:
    shaped = shape(sql)
    assert shaped is not None
    assert (shaped.text(shaped.order) if shaped.order else "") == order
    assert (shaped.text(shaped.limit) if shaped.limit else "") == limit
    assert len(shaped.cores) == cores


def test_clauses_of_a_core() -> None:
    shaped = shape(
        "SELECT DISTINCT a, count(*) n FROM t JOIN u ON t.a = u.a WHERE b > 1 GROUP BY a HAVING count(*) > 1"
    )
    assert shaped is not None
    core = shaped.cores[0]
    assert core.distinct
    assert [shaped.text(item) for item in core.items] == ["a", "count(*) n"]
    assert {name: shaped.text(span) for name, span in core.clauses.items()} == {
        "FROM": "FROM t JOIN u ON t.a = u.a",
        "WHERE": "WHERE b > 1",
        "GROUP": "GROUP BY a",
        "HAVING": "HAVING count(*) > 1",
    }


@pytest.mark.parametrize(
    ("item", "alias"),
    [
        ("a", None),
        ("t.a", None),
        ("a b", ("b", "a")),
        ("a AS b", ("b", "a")),
        ("t.a b", ("b", "t.a")),
        ("count(*) n", ("n", "count(*)")),
        ('count(*) AS "my n"', ("my n", "count(*)")),
        ("a + b", None),
        ("*", None),
        ("CASE WHEN a THEN b END c", ("c", "CASE WHEN a THEN b END")),
    ],
)
def test_aliases(item: str, alias: tuple[str, str] | None) -> None:
    shaped = shape(f"SELECT {item} FROM t")
    assert shaped is not None
    found = alias_of(shaped.tokens, shaped.cores[0].items[0])
    assert (found and (found[0], shaped.text(found[1]))) == alias


@pytest.mark.parametrize(
    ("tail", "window"),
    [("", None), ("LIMIT 3", (0, 3)), ("LIMIT 3 OFFSET 2", (2, 5)), ("LIMIT 2, 3", (2, 5)), ("LIMIT 1 + 1", None),
     ("LIMIT -1", None), ("LIMIT (SELECT 1)", None)],
)  # fmt: skip
def test_limit_windows(tail: str, window: tuple[int, int] | None) -> None:
    shaped = shape(f"SELECT a FROM t ORDER BY a {tail}")
    assert shaped is not None
    assert limit_window(shaped) == window


def test_subqueries_are_found_at_every_depth() -> None:
    sql = "SELECT a FROM (SELECT b FROM t WHERE c IN (SELECT d FROM u)) WHERE e = ')'"
    assert subqueries(sql) == ["SELECT b FROM t WHERE c IN (SELECT d FROM u)", "SELECT d FROM u"]


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from(list("abSELCTFROMWH'\"`[]();,.*-/\n xX01=?:\0é")), max_size=80))
def test_tokens_cover_the_text_and_nothing_raises(text: str) -> None:
    tokens = tokenize(text)
    position = 0
    for token in tokens:
        assert token.start >= position
        assert text[token.start : token.end] == token.text
        assert token.depth >= 0
        position = token.end
    shape(text)
    subqueries(text)
    once = canonical(text)
    if not any(token.kind == "bad" for token in tokens):
        assert canonical(once) == once
