"""SQLite's grammar, kept by sqlglot: whether a text is one query, where it stops being one, what a keyword is.

The library is loaded with the first reply that needs it. Nothing here writes SQL: what runs is the model's own text.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import TYPE_CHECKING

from lic_pipeline.tasks.database.sql_tokens import Token

if TYPE_CHECKING:
    from sqlglot.dialects.dialect import Dialect

# Deeper nesting would be read or not by how deep the caller's own stack is.
_DEEPEST = 20
# The library keeps these as parts of phrases, or nowhere.
_MORE = "BY GROUP ORDER NULLS LAST MATERIALIZED INDEXED GROUPS PRECEDING FOLLOWING UNBOUNDED CURRENT EXCLUDE"
_MORE_KEYWORDS = frozenset(_MORE.split())
_FILTERS = frozenset({"WHERE", "HAVING"})
_AFTER_FILTERS = frozenset({"GROUP", "ORDER", "WINDOW", "LIMIT", "UNION", "INTERSECT", "EXCEPT", "SELECT"})
_LAST_WORDS = frozenset({"ASC", "DESC", "END", "NULL", "FIRST", "LAST", "TRUE", "FALSE", "ISNULL", "NOTNULL"})


@cache
def _dialect() -> Dialect:
    from sqlglot.dialects.sqlite import SQLite

    # A word it does not know is reported there; for us that is only one more text that is no query.
    logging.getLogger("sqlglot").setLevel(logging.ERROR)
    return SQLite()


@cache
def keywords() -> frozenset[str]:
    """The words with a meaning in SQL, upper case; some may be names too."""
    return _MORE_KEYWORDS.union(_dialect().tokenizer_class.KEYWORDS)


def completes(token: Token) -> bool:
    """True for a token an expression or a clause can end with: a literal, a name, a closing parenthesis, ``DESC``."""
    if token.kind == "word":
        return token.upper in _LAST_WORDS or token.upper not in keywords()
    return token.text == ")" or token.kind not in ("op", "bad")


def may_be_alias(token: Token) -> bool:
    """True for a bare word that the grammar takes as a name where it expects none."""
    return token.kind == "word" and token.upper not in _LAST_WORDS


def first_fault(sql: str, tokens: list[Token]) -> int | None:
    """None when the tokens that open ``sql`` are one query, else how many of them can be read before the fault."""
    from sqlglot import errors, exp

    if max((token.depth for token in tokens), default=0) > _DEEPEST:
        return 0
    if (forgiven := _forgiven(tokens)) is not None:
        return forgiven
    text = sql[: tokens[-1].end]
    try:
        parsed = _dialect().parse(text)
    except errors.ParseError as error:
        fault = error.errors[0] if error.errors else {}
        lines = text.split("\n")[: int(fault.get("line") or 1) - 1]
        place = sum(len(line) + 1 for line in lines) + int(fault.get("col") or 0)
        return sum(token.end < place for token in tokens)
    except (errors.SqlglotError, RecursionError, ValueError):
        return 0
    return None if len(parsed) == 1 and isinstance(parsed[0], exp.Query | exp.Values) else 0


def _forgiven(tokens: list[Token]) -> int | None:
    """Where a comma stands at the end or a further table after WHERE, which only the library takes."""
    filtered = False
    for i, token in enumerate(tokens):
        if token.depth == 0:
            if filtered and (token.upper == "JOIN" or (token.text == "," and token.kind == "op")):
                return i
            filtered = token.upper in _FILTERS or (filtered and token.upper not in _AFTER_FILTERS)
    return len(tokens) - 1 if tokens[-1].text == "," else None
