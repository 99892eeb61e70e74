"""Finds queries that stand bare in prose: where one starts, that it is SQL and no English, and where it ends."""

from __future__ import annotations

import re

from lic_pipeline.tasks.database.shape import shape
from lic_pipeline.tasks.database.tokens import Token, statements, tokenize, verb

_START = re.compile(
    r"\b(?:SELECT|WITH|VALUES)\b"
    r"|(?i:^[ \t>*_-]*(?:(?:sql|sqlite|query|answer|sql query|final answer|final query)[ \t]*:[ \t*_]*)?"
    r"(select|with|values)\b)",
    re.MULTILINE,
)
_EXPECTS_MORE = frozenset(
    {"FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "OFFSET", "JOIN", "LEFT", "RIGHT", "FULL", "INNER", "OUTER"}
    | {"CROSS", "NATURAL", "UNION", "INTERSECT", "EXCEPT", "AND", "OR", "ON", "USING", "SELECT", "AS", "BY", "WINDOW"}
    | {"VALUES", "IN", "IS", "NOT", "LIKE", "GLOB", "BETWEEN", "CASE", "WHEN", "THEN", "ELSE", "EXISTS", "COLLATE"}
    | {"ALL", "DISTINCT", "WITH", "RECURSIVE", "ESCAPE", "FILTER", "OVER", "PARTITION"}
)
_CONTINUES = _EXPECTS_MORE | {"END", "ASC", "DESC", "NULLS"}
_PROSE_LINE = re.compile(r"[ \t]*(?:[-*•#>]|\d+[.)])?[ \t]*[A-Z][a-z']+(?:[ ,][^\n]*?)?(?:\s[a-z']+){2}")
_NEXT_PART = re.compile(r"[ \t#*]*[A-Z][a-z]{2,15}\**:")
_ARTICLES = frozenset({"the", "a", "an", "each", "your", "our", "this", "that", "these", "those", "all", "any", "its"})
_WRITING = frozenset({"INSERT", "UPDATE", "DELETE", "REPLACE"})
_WINDOW = 8_000
_WORK = 200_000


def looks_like_query(text: str) -> bool:
    """True when the text is one query in shape: a select list that is no prose, FROM followed by a name, or no FROM."""
    shaped = shape(text)
    if shaped is None or any(token.kind == "bad" for token in shaped.tokens):
        return False
    if shaped.tokens[shaped.body[0]].upper == "VALUES":
        return len(shaped.tokens) > shaped.body[0] + 1 and shaped.tokens[shaped.body[0] + 1].text == "("
    if shaped.body[0] > 0 and not any(token.upper == "AS" for token in shaped.tokens[: shaped.body[0]]):
        return False
    core = shaped.cores[0]
    if not core.items or any(_prose(shaped.tokens[first:last]) for first, last in core.items):
        return False
    if "FROM" not in core.clauses:
        token, *rest = shaped.tokens[core.items[0][0] : core.end]
        is_call = token.kind == "word" and bool(rest) and rest[0].text == "("
        literal = token.kind in ("number", "string", "blob") or token.text in ("(", "-")
        return literal or is_call or token.upper in {"NULL", "CASE", "EXISTS", "NOT"}
    place = core.clauses["FROM"][0] + 1
    if place >= len(shaped.tokens):
        return False
    return shaped.tokens[place].text == "(" or (
        bool(shaped.tokens[place].name) and shaped.tokens[place].name not in _ARTICLES
    )


def _prose(item: tuple[Token, ...]) -> bool:
    """Three plain words in a row are English, not an expression with an alias."""
    run = 0
    for token in item:
        run = run + 1 if token.kind == "word" and token.upper not in _CONTINUES else 0
        if run >= 3:
            return True
    return item[0].kind == "word" and item[0].name in _ARTICLES - {"all"} and len(item) > 1


def bare_queries(text: str) -> list[tuple[str, int, int]]:
    """(query, start, end) of each bare query in order. Several statements in one go stay together."""
    found: list[tuple[str, int, int]] = []
    position = 0
    work = _WORK
    for match in _START.finditer(text):
        start = match.start(1) if match.group(1) else match.start()
        if work <= 0:
            break
        if start < position or not _starts(text, start, line_start=bool(match.group(1))):
            continue
        window = text[start : start + _WINDOW]
        work -= len(window)
        end = start + _length(window)
        query = text[start:end].strip()
        first = next(iter(statements(tokenize(query))), None)
        if first is not None and (looks_like_query(query[: first[-1].end]) or verb(first) in _WRITING):
            found.append((query, start, end))
            position = end
    return found


def _starts(text: str, start: int, *, line_start: bool) -> bool:
    """Inside a line only an upper-case keyword counts: "please select one" is English, and so may be "Select ..."."""
    if text[start : start + 4].istitle():
        return line_start and any(sign in text[start : start + 200].split("\n", 1)[0] for sign in ";,(*=")
    return line_start or text[start : start + 4].isupper()


def _length(text: str) -> int:
    """How far the statement at the start of ``text`` reaches."""
    fence = text.find("```")
    text = text if fence < 0 else text[:fence]
    tokens = tokenize(text)
    for i, token in enumerate(tokens):
        if token.text == ";" and token.kind == "op":
            if _another_statement(tokens, i + 1):
                continue
            return token.end
        if i and "\n" in text[tokens[i - 1].end : token.start] and _ends_before(text, tokens, i):
            return tokens[i - 1].end
        if token.kind in ("bad",) or (token.text == "`" and i):
            return tokens[i - 1].end if i else 0
    return tokens[-1].end if tokens else 0


def _another_statement(tokens: list[Token], i: int) -> bool:
    following = next(iter(statements(tokens[i:])), [])
    verbs = {"SELECT", "WITH", "INSERT", "UPDATE", "DELETE", "DROP", "CREATE", "ATTACH", "PRAGMA", "ALTER", "REPLACE"}
    return len(following) > 1 and following[0].text in verbs and verb(following) in verbs


def _ends_before(text: str, tokens: list[Token], i: int) -> bool:
    """True when the line that token ``i`` opens no longer belongs to the statement."""
    token, before = tokens[i], tokens[i - 1]
    if token.depth > 0 or token.upper in _CONTINUES or token.text in (",", "(", ")", "=", "<", ">", "||", "+", "/"):
        return False
    wants_more = before.upper in _EXPECTS_MORE or (before.kind == "op" and before.text not in (")", "*"))
    blank = text[before.end : token.start].count("\n") > 1
    end = text.find("\n", token.start)
    line = text[text.rfind("\n", 0, token.start) + 1 : end if end >= 0 else len(text)]
    if wants_more and not blank:
        return False
    return (
        blank
        or token.kind == "bad"
        or token.text in ("*", "-", ".")
        or bool(_PROSE_LINE.match(line) or _NEXT_PART.match(line))
    )
