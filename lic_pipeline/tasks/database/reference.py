"""What the published scripts give for a query: DISTINCT stripped, gold constants plugged in, exact and strict order.

Kept apart from the robust policy so that neither bends the other. Differences from the scripts: the number of
plugged variants is capped (the scripts try every combination), and columns are matched without permutations.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, product

from lic_pipeline.records import Verdict
from lic_pipeline.sandbox.sql import Source
from lic_pipeline.tasks.database.run_queries import Gold, GoldError, compare_on, gold_on
from lic_pipeline.tasks.database.sql_tokens import Token, tokenize

MAX_VARIANTS = 400
MAX_SECONDS = 60.0
_SPLIT_OPERATORS = re.compile(r"([<>!]) =")
_CURRENT_YEAR = re.compile(r"YEAR\s*\(\s*CURDATE\s*\(\s*\)\s*\)\s*", re.IGNORECASE)


def judge_reference(sql: str, gold_sql: str, sources: tuple[Source, ...]) -> Verdict:
    """Right when the prediction, or one variant of it with gold constants, agrees on every database."""
    gold_text = _prepared(gold_sql)
    strict = "order by" in gold_text.lower()
    golds: list[tuple[Source, Gold]] = []
    for source in sources:
        try:
            result = gold_on(source, gold_text).result
        except GoldError as error:
            return Verdict(score=None, verdict="not_judged", answer=sql, error=str(error))
        golds.append((source, Gold(result, tuple(range(len(result.rows))) if strict else None)))
    first: Verdict | None = None
    started = time.monotonic()
    for number, candidate in enumerate(islice(variants(_prepared(sql), gold_text), MAX_VARIANTS)):
        verdict = _on_all(candidate, golds)
        if verdict.correct or verdict.score is None:
            return verdict.model_copy(update={"answer": sql, "detail": {**verdict.detail, "variant": number}})
        first = first or verdict.model_copy(update={"answer": sql})
        if verdict.verdict == "timeout" or time.monotonic() - started > MAX_SECONDS:
            break
    assert first is not None
    return first


def variants(sql: str, gold_sql: str) -> Iterator[str]:
    """The query as it is, then with its literals replaced by every combination of the gold's literals."""
    yield sql
    slots = [token for token in tokenize(sql) if _is_value(token)]
    values = list(dict.fromkeys(token.text for token in tokenize(gold_sql) if _is_value(token)))
    if not slots or not values:
        return
    for chosen in product(values, repeat=len(slots)):
        out, position = "", 0
        for slot, value in zip(slots, chosen, strict=True):
            out += sql[position : slot.start] + value
            position = slot.end
        yield out + sql[position:]


def _is_value(token: Token) -> bool:
    return token.kind in ("string", "number") or (token.kind == "ident" and token.text.startswith('"'))


def _prepared(sql: str) -> str:
    """Operators joined, MySQL's current year fixed at 2020, every DISTINCT dropped, as the scripts do."""
    text = _CURRENT_YEAR.sub("2020", _SPLIT_OPERATORS.sub(r"\1=", sql))
    out, position = "", 0
    for token in tokenize(text):
        if token.upper == "DISTINCT":
            out += text[position : token.start]
            position = token.end
    return out + text[position:]


def _on_all(sql: str, golds: list[tuple[Source, Gold]]) -> Verdict:
    verdict = Verdict(score=None, verdict="not_judged", error="no database")
    for source, gold in golds:
        verdict = compare_on(source, sql, gold, tolerance=0.0)
        both_empty = not gold.result.rows and verdict.detail.get("reason") == "column_count"
        if both_empty and compare_on(source, f"SELECT 1 FROM ({sql})", _one_column(gold)).correct:
            verdict = Verdict(score=100, verdict="correct", detail={"database": source.label})
        if not verdict.correct:
            return verdict
    return verdict


def _one_column(gold: Gold) -> Gold:
    """The scripts call any two empty results equal, whatever their columns."""
    return Gold(replace(gold.result, columns=("1",)), None)
