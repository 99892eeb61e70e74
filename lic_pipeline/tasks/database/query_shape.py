"""The outermost shape of one query: its cores, their clauses, ORDER BY and LIMIT. Finds places, runs nothing.

Only what stands at parenthesis depth 0 counts, so subqueries, window frames and ordered aggregates never confuse it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lic_pipeline.tasks.database.sql_tokens import Token, statements, tokenize

_COMPOUND = frozenset({"UNION", "INTERSECT", "EXCEPT"})
_CLAUSES = ("FROM", "WHERE", "GROUP", "HAVING", "WINDOW")
_DIRECTIONS = frozenset({"ASC", "DESC", "NULLS", "FIRST", "LAST"})


@dataclass(frozen=True)
class Core:
    """One SELECT of a compound. Spans are half-open ranges of the token list; absent clauses are not in ``clauses``."""

    start: int
    end: int
    distinct: bool
    items: tuple[tuple[int, int], ...]
    clauses: dict[str, tuple[int, int]]


@dataclass(frozen=True)
class Shape:
    """Shape of a statement. ``body`` is the span after WITH and before ORDER BY or LIMIT."""

    sql: str
    tokens: tuple[Token, ...]
    body: tuple[int, int]
    cores: tuple[Core, ...]
    order: tuple[int, int] | None
    limit: tuple[int, int] | None

    def text(self, span: tuple[int, int]) -> str:
        """The statement's own text between two token positions."""
        first, last = span
        return self.sql[self.tokens[first].start : self.tokens[last - 1].end] if last > first else ""

    @property
    def prefix(self) -> str:
        """The WITH clause, or ""."""
        return self.text((0, self.body[0]))

    @property
    def order_terms(self) -> tuple[tuple[int, int], ...]:
        """Spans of the terms of the outermost ORDER BY."""
        return _split(self.tokens, self.order[0] + 2, self.order[1]) if self.order else ()


def shape(sql: str) -> Shape | None:
    """Shape of the only statement in ``sql``, None when there is not exactly one query."""
    parts = statements(tokenize(sql))
    if len(parts) != 1:
        return None
    tokens = tuple(parts[0])
    start = next((i for i, t in enumerate(tokens) if t.depth == 0 and t.upper in {"SELECT", "VALUES"}), None)
    if start is None:
        return None
    order = _find(tokens, start, len(tokens), "ORDER")
    limit = _find(tokens, order or start, len(tokens), "LIMIT")
    end = min(x for x in (order, limit, len(tokens)) if x is not None)
    return Shape(
        sql=sql,
        tokens=tokens,
        body=(start, end),
        cores=_cores(tokens, start, end),
        order=(order, limit or len(tokens)) if order is not None else None,
        limit=(limit, len(tokens)) if limit is not None else None,
    )


def bare_term(tokens: Sequence[Token], span: tuple[int, int]) -> tuple[int, int]:
    """Span of an ORDER BY term without COLLATE, direction and NULLS FIRST/LAST."""
    first, last = span
    while last - 1 > first and tokens[last - 1].upper in _DIRECTIONS:
        last -= 1
    if last - 2 > first and tokens[last - 2].upper == "COLLATE":
        last -= 2
    return first, last


def alias_of(tokens: Sequence[Token], item: tuple[int, int]) -> tuple[str, tuple[int, int]] | None:
    """Name and expression span of ``expression [AS] name``, None for an item without alias."""
    first, last = item
    if last - first < 2 or not tokens[last - 1].name:
        return None
    before = tokens[last - 2]
    if before.upper == "AS":
        return (tokens[last - 1].name, (first, last - 2)) if last - 2 > first else None
    follows_value = before.kind in ("ident", "string", "number", "blob") or before.text == ")" or before.upper == "END"
    follows_name = before.kind == "word" and last - first == 2 and before.upper not in {"NOT", "CASE"}
    dotted = before.kind == "word" and last - first >= 4 and tokens[last - 3].text == "."
    if follows_value or follows_name or dotted:
        return tokens[last - 1].name, (first, last - 1)
    return None


def limit_window(shaped: Shape) -> tuple[int, int] | None:
    """(offset, end) in rows of a LIMIT with plain numbers; None without LIMIT, with expressions or when unlimited."""
    if shaped.limit is None:
        return None
    tokens = shaped.tokens[shaped.limit[0] + 1 : shaped.limit[1]]
    texts = [token.text.upper() for token in tokens]
    if not all(token.text.isdigit() for token in tokens[::2]):
        return None
    numbers = [int(token.text) for token in tokens[::2]]
    if len(tokens) == 1:
        return 0, numbers[0]
    if len(tokens) == 3 and texts[1] == "OFFSET":
        return numbers[1], numbers[1] + numbers[0]
    if len(tokens) == 3 and texts[1] == ",":
        return numbers[0], numbers[0] + numbers[1]
    return None


def subqueries(sql: str) -> list[str]:
    """Texts of all parenthesised SELECTs at any depth, outer ones first."""
    tokens = tokenize(sql)
    found: list[str] = []
    for i, token in enumerate(tokens[:-1]):
        if token.text == "(" and token.kind == "op" and tokens[i + 1].upper in {"SELECT", "WITH"}:
            close = next(
                (t for t in tokens[i + 1 :] if t.text == ")" and t.kind == "op" and t.depth == token.depth), None
            )
            if close is not None:
                found.append(sql[tokens[i + 1].start : close.start])
    return found


def _find(tokens: Sequence[Token], start: int, end: int, word: str) -> int | None:
    for i in range(start, end):
        after_dot = i > 0 and tokens[i - 1].text == "."
        if tokens[i].depth == 0 and tokens[i].upper == word and not after_dot:
            return i
    return None


def _split(tokens: Sequence[Token], start: int, end: int) -> tuple[tuple[int, int], ...]:
    spans: list[tuple[int, int]] = []
    first = start
    depth = tokens[start].depth if start < end else 0
    for i in range(start, end):
        if tokens[i].text == "," and tokens[i].kind == "op" and tokens[i].depth == depth:
            spans.append((first, i))
            first = i + 1
    spans.append((first, end))
    return tuple(span for span in spans if span[1] > span[0])


def _cores(tokens: Sequence[Token], start: int, end: int) -> tuple[Core, ...]:
    cores: list[Core] = []
    first = start
    for i in range(start, end):
        if tokens[i].depth == 0 and tokens[i].upper in _COMPOUND:
            cores.append(_core(tokens, first, i))
            first = i + 2 if i + 1 < end and tokens[i + 1].upper == "ALL" else i + 1
    cores.append(_core(tokens, first, end))
    return tuple(cores)


def _core(tokens: Sequence[Token], start: int, end: int) -> Core:
    places = [(place, word) for word in _CLAUSES if (place := _find(tokens, start, end, word)) is not None]
    places.sort()
    clauses = {
        word: (place, places[n + 1][0] if n + 1 < len(places) else end) for n, (place, word) in enumerate(places)
    }
    first = start + 1
    distinct = first < end and tokens[first].upper == "DISTINCT"
    if first < end and tokens[first].upper in {"DISTINCT", "ALL"}:
        first += 1
    last = places[0][0] if places else end
    return Core(start, end, distinct, _split(tokens, first, last) if first < last else (), clauses)
