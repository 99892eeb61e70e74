"""A small tokenizer of SQLite's SQL: enough to find clauses, literals and statement ends, never an error.

Knows quoting, comments and parentheses; knows nothing of grammar (that is ``shape``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

Kind = Literal["word", "string", "ident", "blob", "number", "param", "op", "bad"]


class Token(NamedTuple):
    """One token with its place in the text. ``depth`` counts open parentheses; a pair itself has the outer depth."""

    kind: Kind
    text: str
    start: int
    end: int
    depth: int

    @property
    def upper(self) -> str:
        """The keyword a plain word may be, "" for every other kind (quoted names are never keywords)."""
        return self.text.upper() if self.kind == "word" else ""

    @property
    def name(self) -> str:
        """The identifier meant by a word or a quoted name, lower case; "" for every other kind."""
        if self.kind == "word":
            return self.text.lower()
        if self.kind == "ident":
            quote = self.text[-1]
            return self.text[1:-1].replace(quote * 2, quote).lower()
        return ""


_LEXER = re.compile(
    r"""
    (?P<space>\s+|--[^\n]*|/\*.*?(?:\*/|\Z))
  | (?P<blob>[xX]'[^']*')
  | (?P<string>'(?:[^']|'')*')
  | (?P<ident>"(?:[^"]|"")*"|`(?:[^`]|``)*`|\[[^\]]*\])
  | (?P<number>0[xX][0-9a-fA-F]+|(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
  | (?P<param>\?[0-9]*|[:@\$][A-Za-z0-9_]+)
  | (?P<word>[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*)
  | (?P<op>->>|->|\|\||<=|>=|<>|!=|==|<<|>>|[-+*/%<>=&|~(),.;])
  | (?P<bad>['"`\[].*|.)
    """,
    re.VERBOSE | re.DOTALL,
)


def tokenize(sql: str) -> list[Token]:
    """All tokens of a text, comments and white space left out. A quote never closed is one ``bad`` token to the end."""
    tokens: list[Token] = []
    depth = 0
    for match in _LEXER.finditer(sql):
        kind = match.lastgroup
        if kind == "space" or kind is None:
            continue
        text = match.group()
        if text == ")" and kind == "op":
            depth = max(0, depth - 1)
        tokens.append(Token(kind, text, match.start(), match.end(), depth))  # type: ignore[arg-type]
        if text == "(" and kind == "op":
            depth += 1
    return tokens


def statements(tokens: Sequence[Token]) -> list[list[Token]]:
    """Tokens split at every ``;`` (as SQLite does, parentheses or not), empty statements left out."""
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.kind == "op" and token.text == ";":
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def verb(statement: Sequence[Token]) -> str:
    """The word that says what a statement does; for WITH the one after the table expressions. "" when there is none."""
    if not statement:
        return ""
    first = statement[0].upper
    if first != "WITH":
        return first
    for token in statement[1:]:
        if token.depth == 0 and token.upper in {"SELECT", "VALUES", "INSERT", "REPLACE", "UPDATE", "DELETE"}:
            return token.upper
    return ""


def canonical(sql: str) -> str:
    """The text without comments and final ``;``, white space between tokens reduced to one blank."""
    tokens = tokenize(sql)
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    out: list[str] = []
    end = None
    for token in tokens:
        if end is not None and token.start > end:
            out.append(" ")
        out.append(token.text)
        end = token.end
    return "".join(out)


def is_one_query(sql: str) -> bool:
    """True for exactly one statement that is a query (SELECT or VALUES, with or without WITH)."""
    parts = statements(tokenize(sql))
    return len(parts) == 1 and verb(parts[0]) in {"SELECT", "VALUES"}
