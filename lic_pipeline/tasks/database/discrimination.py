"""Does an item tell a right query from a lazy one? Runs lazy variants of the gold and sees whether they would score.

Reasons, in order: ``gold_fails``, ``empty``, ``limit_tie``, ``filter_inert`` (the gold scores without its
WHERE, HAVING or both), ``whole_table`` (all of one table does), ``single_table`` (its columns from one table do).
"""

from __future__ import annotations

from collections.abc import Iterator

from lic_pipeline.sandbox.sql import Source, run_cached
from lic_pipeline.tasks.database.query_shape import Core, Shape, shape, subqueries
from lic_pipeline.tasks.database.run_queries import GoldError, compare_on, gold_on, has_limit_tie
from lic_pipeline.tasks.database.sql_tokens import Token

REASONS = ("no_database", "gold_fails", "empty", "limit_tie", "filter_inert", "whole_table", "single_table")


def reason_against(gold_sql: str, sources: tuple[Source, ...]) -> str | None:
    """The first reason why the item does not discriminate, None when it does."""
    shaped = shape(gold_sql)
    if shaped is None:
        return "gold_fails"
    try:
        golds = [(source, gold_on(source, gold_sql)) for source in sources]
    except GoldError:
        return "gold_fails"
    if all(not gold.result.rows for _, gold in golds):
        return "empty"
    nested = [sql for sql in subqueries(gold_sql) if "limit" in sql.lower()]
    if any(has_limit_tie(source, sql) for source in sources for sql in (gold_sql, *nested)):
        return "limit_tie"

    def scores(sql: str) -> bool:
        return all(compare_on(source, sql, gold).correct for source, gold in golds)

    for reason, variant in _variants(shaped, sources):
        if scores(variant):
            return reason
    return None


def _variants(shaped: Shape, sources: tuple[Source, ...]) -> Iterator[tuple[str, str]]:
    for dropped in (("WHERE",), ("HAVING",), ("WHERE", "HAVING")):
        if all(any(word in core.clauses for core in shaped.cores) for word in dropped):
            yield "filter_inert", _without(shaped, dropped)
    for table in tables_of(sources[0]):
        yield "whole_table", f"SELECT * FROM {table}"
    if len(shaped.cores) == 1 and shaped.cores[0].items:
        for variant in _single_tables(shaped, shaped.cores[0]):
            yield "single_table", variant


def tables_of(source: Source) -> list[str]:
    """Quoted names of the tables and views of a database, in order of creation."""
    result = run_cached(
        source,
        "SELECT name FROM sqlite_master WHERE type IN ('table','view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    )
    return ['"' + str(row[0]).replace('"', '""') + '"' for row in result.rows]


def _without(shaped: Shape, words: tuple[str, ...]) -> str:
    """The query without these clauses in every one of its cores."""
    gone = {i for core in shaped.cores for word in words for i in range(*core.clauses.get(word, (0, 0)))}
    out, position = "", 0
    for i, token in enumerate(shaped.tokens):
        if i not in gone:
            out += (" " if token.start > position else "") + token.text
        position = token.end
    return out


def _single_tables(shaped: Shape, core: Core) -> Iterator[str]:
    """The gold's select list from each one of its tables, unfiltered; nothing for a gold that is just that."""
    if "FROM" not in core.clauses:
        return
    first, last = core.clauses["FROM"]
    parts = _table_parts(shaped.tokens, first + 1, last)
    if len(parts) < 2 and not {"WHERE", "HAVING", "GROUP"} & set(core.clauses) and not shaped.limit:
        return
    head = shaped.text((core.start, core.items[-1][1]))
    order = shaped.text(shaped.order) if shaped.order else ""
    for part in parts:
        yield f"{shaped.prefix} {head} FROM {shaped.text(part)} {order}"


def _table_parts(tokens: tuple[Token, ...], first: int, last: int) -> list[tuple[int, int]]:
    """Spans of the tables (with alias) of a FROM clause, join words and conditions left out."""
    joins = {"JOIN", "LEFT", "RIGHT", "FULL", "INNER", "OUTER", "CROSS", "NATURAL"}
    parts: list[tuple[int, int]] = []
    start: int | None = first
    for i in range(first, last + 1):
        token = tokens[i] if i < last else None
        comma = token is not None and token.depth == 0 and token.text == ","
        word = token.upper if token is not None and token.depth == 0 else ""
        if token is None or comma or word in joins or word in {"ON", "USING"}:
            if start is not None and i > start:
                parts.append((start, i))
            start = None
        if comma or word == "JOIN":
            start = i + 1
    return parts
