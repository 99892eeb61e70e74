"""Finds queries that stand bare in prose: where one starts, that it is SQL and no English, and where it ends.

A query is the longest piece the grammar takes, up to where prose shows: the grammar alone takes words as aliases.
"""

from __future__ import annotations

import re

from lic_pipeline.tasks.database.grammar import completes, first_fault, keywords, may_be_alias
from lic_pipeline.tasks.database.query_shape import shape
from lic_pipeline.tasks.database.sql_tokens import Token, statements, tokenize, verb

_START = re.compile(
    r"\b(?:SELECT|WITH|VALUES)\b"
    r"|(?i:^[ \t>*_-]*(?:(?:sql|sqlite|query|answer|sql query|final answer|final query)[ \t]*:[ \t*_]*)?"
    r"(select|with|values)\b)",
    re.MULTILINE,
)
# Where one of these stands outside parentheses, prose has begun.
_ENGLISH_LIST = "the an this that these those which it its your our each for to so because"
_ENGLISH = frozenset(_ENGLISH_LIST.split())
_WRITING = frozenset({"INSERT", "UPDATE", "DELETE", "REPLACE"})
SQL_VERBS = _WRITING | frozenset(
    {"SELECT", "WITH", "VALUES", "CREATE", "DROP", "ALTER", "PRAGMA", "ATTACH", "DETACH", "EXPLAIN", "BEGIN", "COMMIT"}
    | {"VACUUM", "ANALYZE", "REINDEX", "TRUNCATE"}
)
_OBJECTS = frozenset({"TABLE", "FROM", "INTO", "VIEW", "INDEX", "DATABASE"})
_SENTENCE_END = re.compile(r"\Z|\s+(?:[^a-z\s]|\Z)")
_SENTENCE_LINE = re.compile(r"(?![^\n]*\b[A-Z]{2})(?:[^\W\d_]|[ \t'’,-])*[.!?:][ \t*_]*$", re.MULTILINE)
_MARKED_LINE = re.compile(r"[-*]|\+-|\|(?!\|)")
_MARK = re.compile(r"=>|->\s*[^\W\d_]|</?[^\W\d]\w*>|\*\*|\"{3}|'{3}")
_NO_LETTER = re.compile(r"[^\w$]")
_WINDOW = 8_000
_WORK = 200_000
_TRIES = 6


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
        bool(shaped.tokens[place].name) and shaped.tokens[place].name not in _ENGLISH | {"and", "or", "where"}
    )


def _prose(item: tuple[Token, ...]) -> bool:
    """Three plain words in a row are English, not an expression with an alias."""
    run = 0
    for token in item:
        run = run + 1 if token.kind == "word" and token.upper not in keywords() else 0
        if run >= 3:
            return True
    return item[0].kind == "word" and item[0].name in _ENGLISH and len(item) > 1


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
        window = text[start : start + _WINDOW].partition("```")[0]
        work -= _WINDOW
        tokens = tokenize(window)
        if mark := next(filter(None, map(_foreign_mark, tokens)), 0):
            window = window[:mark]
            tokens = tokenize(window)
        query = window[: _end(window, tokens)].strip().rstrip(".")
        first = next(iter(statements(tokenize(query))), None)
        if first is not None and (looks_like_query(query[: first[-1].end]) or verb(first) in _WRITING):
            position = start + len(query)
            found.append((query, start, position))
    return found


def _foreign_mark(token: Token) -> int:
    """Where a dash, quote mark or emoji stands that SQLite takes for a letter of a name; 0 for none."""
    mark = _NO_LETTER.search(token.text) if token.kind == "word" else None
    return token.start + mark.start() if mark else 0


def _starts(text: str, start: int, *, line_start: bool) -> bool:
    """Inside a line only an upper-case keyword counts: "please select one" is English, and so may be "Select ..."."""
    if text[start : start + 4].istitle():
        line, _, following = text[start : start + 200].partition("\n")
        return line_start and (any(sign in line for sign in ";,(*=") or following.lstrip()[:5].lower() == "from ")
    return line_start or text[start : start + 4].isupper()


def _end(text: str, tokens: list[Token]) -> int:
    """How far the query at the start of ``text`` reaches; with the statements that follow it directly."""
    stop = next((i for i, token in enumerate(tokens) if token.kind == "bad" or token.text in (";", "`")), len(tokens))
    prose = next((i for i in range(2, stop) if _opens_prose(text, tokens, i)), stop)
    last = _readable(text, tokens, prose, whole=prose == stop)
    if last < stop or stop == len(tokens) or tokens[stop].text != ";":
        return tokens[last - 1].end if last else 0
    while _another_statement(text, tokens, stop + 1):
        stop = next((i for i in range(stop + 1, len(tokens)) if tokens[i].text == ";"), len(tokens) - 1)
    return tokens[stop].end


def _readable(text: str, tokens: list[Token], prose: int, *, whole: bool) -> int:
    """How many tokens before the prose are a query; all of them where what would be left out is SQL, too."""
    last = prose
    for _ in range(_TRIES):
        while more := _words_taken_as_alias(text, tokens, last):
            last -= more
        fault = first_fault(text, tokens[:last])
        if fault is None:
            return last
        last = min(fault, last - 1)
        while tokens[last].depth:  # a fault in parentheses is one of the whole pair
            last -= 1
        same_line = tokens[last].kind == "word" and "\n" not in text[tokens[last - 1].end : tokens[last].start]
        cut_short = whole and last == prose - 1 and (same_line or not completes(tokens[last]))
        if last < 2 or cut_short or not _may_be_prose(text, tokens, last):
            break
    return prose


def _may_be_prose(text: str, tokens: list[Token], i: int) -> bool:
    """False where token ``i`` shows that a faulty statement goes on: nobody's SQL is mended by leaving out a part."""
    token = tokens[i]
    new_line = "\n" in text[tokens[i - 1].end : token.start]
    if token.text == "(":
        return tokens[i - 1].end < token.start and completes(tokens[i - 1])
    if token.kind == "op":
        return token.text in (",", ".", "-")
    if token.kind == "number" or token.upper in {"SELECT", "WITH"}:
        return new_line
    return not (token.upper in keywords() and token.text.isupper() and tokens[0].text.isupper())


def _words_taken_as_alias(text: str, tokens: list[Token], last: int) -> int:
    """How many of these tokens' last words the grammar takes as an alias though the line goes on with words."""
    if last < 4 or last >= len(tokens) or not may_be_alias(tokens[last - 1]):
        return 0
    before, word, following = tokens[last - 2 : last + 1]
    label_or_contraction = following.start == word.end and following.text[0] in "':"
    same_line = following.kind == "word" and "\n" not in text[word.end : following.start]
    if not label_or_contraction and not same_line:
        return 0
    return 2 if before.upper == "AS" else int(completes(before) or before.text == "-")


def _opens_prose(text: str, tokens: list[Token], i: int) -> bool:
    """True when token ``i`` cannot go on the statement although the grammar may take it."""
    token, before = tokens[i], tokens[i - 1]
    if token.depth > 0 or before.text == ".":
        return False
    gap = text[before.end : token.start]
    if token.text == ".":
        return not gap and _SENTENCE_END.match(text, token.end) is not None
    if token.text == "(":
        return bool(gap) and tokens[i - 2].upper in {"FROM", "JOIN"} and bool(before.name)
    if token.upper and token.name in _ENGLISH and before.upper != "AS" and text[token.end : token.end + 1] != ".":
        return True
    if not completes(before):
        return False
    if token.kind == "param" or _MARK.match(text, token.start):
        return True
    sentence = before.kind == "number" and before.text[-1] == "." and _SENTENCE_END.match(text, before.end)
    return bool(sentence) or _opens_paragraph(text, tokens[0], token, gap)


def _opens_paragraph(text: str, first: Token, token: Token, gap: str) -> bool:
    """True when the words or the line that begin with this token, after a name or a value, are no part of the query."""
    lines = gap.count("\n")
    if lines and token.name and token.upper not in keywords():
        return True
    if lines and (_MARKED_LINE.match(text, token.start) or (lines > 1 and token.text == ">")):
        return True
    titled = token.upper in keywords() and token.text.istitle() and not first.text.istitle()
    return titled and (lines > 1 or _SENTENCE_LINE.match(text, token.start) is not None)


def _another_statement(text: str, tokens: list[Token], i: int) -> bool:
    """True when a statement follows, not a sentence: a verb of SQL in capitals, a query in shape, "drop table"."""
    following = next(iter(statements(tokens[i:])), [])
    if len(following) < 2 or following[0].upper not in SQL_VERBS or verb(following) not in SQL_VERBS:
        return False
    small = following[1].upper in _OBJECTS or looks_like_query(text[following[0].start : following[-1].end])
    return following[0].text.isupper() or small
