"""Runs gold and predicted queries on an instruction's databases and says whether they agree.

Knows limits, order and ties. The meaning of equality is in ``compare``, the reference policy in
``reference``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from lic_pipeline.records import Json, Verdict
from lic_pipeline.sandbox.sql import (
    Limits,
    QueryResult,
    Row,
    Source,
    SourceError,
    file_source,
    run_cached,
    run_query,
    script_source,
)
from lic_pipeline.tasks.database.compare_results import RELATIVE_TOLERANCE, UndecidedError, same_table
from lic_pipeline.tasks.database.query_shape import Shape, alias_of, bare_term, limit_window, shape

GOLD_LIMITS = Limits(seconds=30.0)
LIMITS = Limits(seconds=5.0)

_VERDICTS = {"denied": "forbidden", "timeout": "timeout"}


class GoldError(Exception):
    """The reference query cannot be used on a database; the message says why."""


@dataclass(frozen=True)
class Gold:
    """Result of the reference query on one database. ``groups``: tie group per row, None when order is free."""

    result: QueryResult
    groups: tuple[int, ...] | None


def sources_of(reference: Mapping[str, Json]) -> tuple[Source, ...]:
    """The databases of an instruction. Raises SourceError when there is none or one cannot be used."""
    databases = reference.get("databases")
    if databases:
        return tuple(file_source(Path(str(path))) for path in databases)
    script = reference.get("schema")
    if isinstance(script, str) and script.strip():
        return (script_source(script),)
    raise SourceError("no database: reference holds neither 'databases' nor 'schema'")


def gold_on(source: Source, sql: str) -> Gold:
    """Run the reference query. Raises GoldError."""
    result = _gold_result(source, sql)
    shaped = shape(sql)
    if shaped is None or shaped.order is None:
        return Gold(result, None)
    return Gold(result, tie_groups(source, shaped, result))


def _gold_result(source: Source, sql: str) -> QueryResult:
    result = run_cached(source, sql, GOLD_LIMITS)
    if result.status in ("unavailable", "crashed"):
        raise GoldError(f"{source.label}: {result.message}")
    if not result.ok:
        raise GoldError(f"reference_sql fails on {source.label}: {result.message}")
    if result.more:
        raise GoldError(f"reference_sql gives more than {GOLD_LIMITS.max_rows} rows on {source.label}")
    return result


def tie_groups(source: Source, shaped: Shape, result: QueryResult) -> tuple[int, ...]:
    """Group number per row of an ordered result: equal for rows tied under ORDER BY (each its own if unknown)."""
    alone = tuple(range(len(result.rows)))
    if len(result.rows) < 2:
        return alone
    ranked = ranked_rows(source, shaped, result.columns)
    if ranked is None:
        return alone
    by_row: dict[Row, list[int]] = defaultdict(list)
    for rank, row in sorted(ranked, key=lambda pair: pair[0], reverse=True):
        by_row[row].append(rank)
    groups: list[int] = []
    for row in result.rows:
        ranks = by_row.get(row, [])
        while ranks and groups and ranks[-1] < groups[-1]:
            ranks.pop()
        if not ranks:
            return alone
        groups.append(ranks.pop())
    return tuple(groups)


def ranked_rows(source: Source, shaped: Shape, columns: tuple[str, ...]) -> list[tuple[int, Row]] | None:
    """All rows of the query without its LIMIT, each with SQLite's own rank under ORDER BY; None if not to be had."""
    sql = _ranking_query(shaped, columns)
    if sql is None:
        return None
    result = run_cached(source, sql, GOLD_LIMITS)
    if not result.ok or result.more or len(result.columns) != len(columns) + 1:
        return None
    return [(rank, row[:-1]) for row in result.rows if isinstance(rank := row[-1], int)]


def _ranking_query(shaped: Shape, columns: tuple[str, ...]) -> str | None:
    if shaped.order is None:
        return None
    if len(shaped.cores) > 1 or shaped.tokens[shaped.body[0]].upper != "SELECT":
        return _compound_ranking(shaped, columns)
    core = shaped.cores[0]
    if not core.items:
        return None
    terms = ", ".join(_inline_aliases(shaped, term) for term in shaped.order_terms)
    head = shaped.text((core.start, core.items[-1][1]))
    tail = shaped.text((core.items[-1][1], core.end))
    return f"{shaped.prefix} {head}, DENSE_RANK() OVER (ORDER BY {terms}) {tail}"


def _inline_aliases(shaped: Shape, term: tuple[int, int]) -> str:
    """An ORDER BY term with ordinals and aliases of the select list replaced by their expressions."""
    items = shaped.cores[0].items
    tokens = shaped.tokens
    first, last = bare_term(tokens, term)
    rest = shaped.text((last, term[1]))
    if last - first == 1 and tokens[first].text.isdigit() and 0 < int(tokens[first].text) <= len(items):
        item = items[int(tokens[first].text) - 1]
        named = alias_of(tokens, item)
        return f"({shaped.text(named[1] if named else item)}) {rest}"
    aliases = dict(found for item in items if (found := alias_of(tokens, item)) is not None)
    out = ""
    place = tokens[first].start
    for i in range(first, last):
        dotted = (i > first and tokens[i - 1].text == ".") or (i + 1 < last and tokens[i + 1].text in (".", "("))
        span = None if dotted else aliases.get(tokens[i].name)
        out += shaped.sql[place : tokens[i].start] + (f"({shaped.text(span)})" if span else tokens[i].text)
        place = tokens[i].end
    return f"{out} {rest}"


def _compound_ranking(shaped: Shape, columns: tuple[str, ...]) -> str | None:
    names = [name.lower() for name in columns]
    terms: list[str] = []
    for term in shaped.order_terms:
        first, last = bare_term(shaped.tokens, term)
        token = shaped.tokens[last - 1]
        if last - first == 1 and token.text.isdigit() and 0 < int(token.text) <= len(names):
            place = int(token.text)
        elif token.name in names:
            place = names.index(token.name) + 1
        else:
            return None
        terms.append(f"lic_c{place} {shaped.text((last, term[1]))}")
    listed = ", ".join(f"lic_c{i}" for i in range(1, len(names) + 1))
    body = shaped.text(shaped.body)
    inner = f"WITH lic_q({listed}) AS ({shaped.prefix} {body})"
    return f"{inner} SELECT {listed}, DENSE_RANK() OVER (ORDER BY {', '.join(terms)}) FROM lic_q"


def judge(sql: str, gold_sql: str, sources: tuple[Source, ...]) -> Verdict:
    """Verdict on one query (already known to be one): right only when it agrees with the gold on every database."""
    for source in sources:
        try:
            gold = gold_on(source, gold_sql)
        except GoldError as error:
            return Verdict(score=None, verdict="not_judged", answer=sql, error=str(error))
        verdict = compare_on(source, sql, gold)
        if not verdict.correct:
            return verdict
    return Verdict(score=100, verdict="correct", answer=sql, detail={"databases": len(sources)})


def compare_on(source: Source, sql: str, gold: Gold, *, tolerance: float = RELATIVE_TOLERANCE) -> Verdict:
    """Verdict of one query on one database. At most one row more than the gold has is ever fetched."""
    result = run_query(source, sql, replace(LIMITS, max_rows=len(gold.result.rows)))
    if result.status == "unavailable":
        return Verdict(score=None, verdict="not_judged", answer=sql, error=f"{source.label}: {result.message}")
    detail: dict[str, Json] = {"database": source.label}
    if not result.ok:
        verdict = _VERDICTS.get(result.status, "sql_error")
        message = result.message.encode("utf-8", "replace").decode()
        return Verdict(
            score=0, verdict=verdict, answer=sql, detail={**detail, "kind": result.status, "message": message}
        )
    reason = _difference(gold, result, tolerance)
    if reason is None:
        return Verdict(score=100, verdict="correct", answer=sql, detail=detail)
    return Verdict(score=0, verdict="wrong", answer=sql, detail={**detail, "reason": reason})


def _difference(gold: Gold, result: QueryResult, tolerance: float) -> str | None:
    """Short code of the first difference found, None for the same table."""
    if len(result.columns) != len(gold.result.columns):
        return "column_count"
    if result.more or len(result.rows) != len(gold.result.rows):
        return "row_count"
    try:
        if same_table(gold.result.rows, result.rows, gold.groups, tolerance=tolerance):
            return None
        if gold.groups is not None and same_table(gold.result.rows, result.rows, tolerance=tolerance):
            return "row_order"
    except UndecidedError:
        return "undecided"
    return "values"


def has_limit_tie(source: Source, sql: str) -> bool:
    """True when LIMIT cuts through rows that its ORDER BY (or the lack of one) does not tell apart."""
    shaped = shape(sql)
    window = limit_window(shaped) if shaped else None
    if shaped is None or window is None:
        return False
    plain = f"{shaped.prefix} {shaped.text(shaped.body)}"
    whole = run_cached(source, plain, GOLD_LIMITS)
    if not whole.ok:
        return False
    ranked = ranked_rows(source, shaped, whole.columns) if shaped.order else [(1, row) for row in whole.rows]
    if ranked is None:
        return False
    ranked.sort(key=lambda pair: pair[0])
    for place in window:
        if 0 < place < len(ranked) and ranked[place - 1][0] == ranked[place][0]:
            tied = {row for rank, row in ranked if rank == ranked[place][0]}
            if len(tied) > 1:
                return True
    return False
