"""Lifts one SQL query out of a reply: fenced, inline, as JSON or bare in prose; and labels the reply by what was found.

Reading only: whether the query is allowed or right is decided elsewhere. Nothing here raises on any text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice

from lic_pipeline.records import Extraction, Rung, Strategy
from lic_pipeline.tasks.database.bare_queries import SQL_VERBS, bare_queries, looks_like_query
from lic_pipeline.tasks.database.sql_tokens import canonical, is_one_query, statements, tokenize
from lic_pipeline.tasks.database.unwrap_reply import plain
from lic_pipeline.tasks.fenced_blocks import Fence, inner_blocks, without_fences
from lic_pipeline.tasks.reading_cache import Kept
from lic_pipeline.tasks.reply_reading import count_questions, declines, label_without_answer

_NO_QUERY = SQL_VERBS - {"SELECT", "WITH", "VALUES"}
_SQL_TAGS = frozenset({"sql", "sqlite", "sqlite3", "postgresql", "postgres", "mysql", "tsql", "plsql", "psql"})
_TIGHT_FENCE = re.compile(
    r"(?<!`)```(?!`)[ \t]*(?:(?:sqlite3?|sql)\b)?((?:[^`]|`(?!``)){1,20000})```(?!`)", re.IGNORECASE
)
_INLINE = re.compile(r"(?<!`)`([^`\n]{6,4000})`(?!`)")
_FINAL = re.compile(
    r"\b(?:final|complete|full|corrected|updated|revised|combined|entire"
    r"|putting (?:it|this|that|everything) (?:all )?together)\b",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"\b(?:alternativ\w*|another (?:way|option|version|approach)|equivalent\w*|optionally|instead,? you|for example"
    r"|if you (?:also|want|need|prefer|would|like)|to (?:test|verify|check)|you could also|you can also)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(
    r"(?:^|[\n.:;,])[\s>*_#•+\d.)-]{0,12}(?:or,? |and |but )?(?:if|assuming|in case|should you|when you mean|option|"
    r"interpretation|variant|possibility|depending)\b",
    re.IGNORECASE,
)
_JSON_KEYS = ("sql", "query", "sql_query", "final_query", "answer", "final_answer")


@Kept
def find(text: str) -> Extraction:
    """The query of a visible reply: block, whole, marker, then loose; ``ambiguous`` for queries under conditions."""
    text = plain(text)
    blocks = _blocks(text)
    if blocks:
        return _choose(text, blocks)
    stripped = text.strip()
    fenced = inner_blocks(text)
    if len(fenced) == 1:
        stripped = fenced[0].body.strip()
    from_json = _json_query(stripped)
    if from_json:
        return Extraction(answer=from_json, rung=Rung.WHOLE)
    first = next(iter(statements(tokenize(stripped[:2000]))), [])
    if first and first[0].text in SQL_VERBS - {"SELECT", "WITH", "VALUES"} and len(first) > 1:
        return Extraction(answer=stripped, rung=Rung.WHOLE)
    spans = [(m[1].strip(), m.start(1), m.end(1)) for m in islice(_INLINE.finditer(text), 200)]
    marked = [span for span in spans if looks_like_query(span[0])]
    bare = bare_queries(text)
    if any(start < stop < end for _, start, end in bare for _, _, stop in marked):
        bare = marked  # a query read on past its closing back-tick
    if bare:
        return _bare(text, bare)
    inline = _distinct([span for span, _, _ in marked])
    if inline:
        return Extraction(answer=inline[-1], rung=Rung.LOOSE, candidates=tuple(inline), flags=("inline_code",))
    return Extraction(answer=None, rung=Rung.FAILED)


def label(text: str, extraction: Extraction) -> Strategy:
    """Strategy of a visible reply, given its robust extraction."""
    if not text.strip():
        return Strategy.MISSING
    if extraction.rung is Rung.AMBIGUOUS:
        return Strategy.HEDGING
    if extraction.answer is None:
        return label_without_answer(text)
    prose = without_fences(text)
    if not extraction.strict and extraction.rung is Rung.LOOSE and (declines(prose) or count_questions(prose)):
        return label_without_answer(prose)
    return Strategy.ANSWER_ATTEMPT


def unwrap(answer: str) -> str:
    """The SQL of an answer that may still carry a fence; the text itself where there is none."""
    if "```" not in answer and "~~~" not in answer:
        return answer.strip()
    blocks = _blocks(answer)
    return blocks[-1][0] if blocks else answer.strip()


def _blocks(text: str) -> list[tuple[str, int, int]]:
    """(sql, start, end) of fenced blocks that hold SQL; single queries win over other statements."""
    kept: list[tuple[str, int, int]] = []
    queries: list[tuple[str, int, int]] = []
    for body, tagged, block in _bodies(text):
        if not _holds_sql(body, tagged):
            continue
        single = is_one_query(body)
        if not (single and block.closed) or "\n\n" in body:
            body = _tidied(body)
            single = is_one_query(body)
        kept.append((body, block.start, block.end))
        queries += kept[-1:] if single else []
    if not kept:
        kept = [(m[1].strip(), m.start(), m.end()) for m in _TIGHT_FENCE.finditer(text) if _holds_sql(m[1], False)]
        queries = [block for block in kept if is_one_query(block[0])]
    return queries or kept


def _bodies(text: str) -> Iterator[tuple[str, bool, Fence]]:
    """The text of each fenced block, whether its tag says SQL, and the block."""
    for block in inner_blocks(text):
        body = block.body
        if block.language in {"select", "with"}:
            body = text[block.start : block.end].strip("`~ \n\t>")
        yield _unquoted(body), block.language in _SQL_TAGS, block


def _tidied(body: str) -> str:
    """The only query of a block without the prompt, heading or prose beside it; the block as it is, else."""
    tokens = tokenize(body)
    verbs = {part[0].upper for part in statements(tokens)} | {token.text for token in tokens}
    if verbs & _NO_QUERY:
        return body
    bare = bare_queries(body)
    return bare[0][0] if len(bare) == 1 else body


def _unquoted(body: str) -> str:
    lines = body.strip().splitlines()
    if lines and all(line.lstrip().startswith(">") for line in lines):
        lines = [line.lstrip()[1:] for line in lines]
    return "\n".join(lines).strip()


def _holds_sql(body: str, tagged: bool) -> bool:
    parts = statements(tokenize(body))
    return bool(parts) and (tagged or parts[0][0].upper in SQL_VERBS)


def _distinct(queries: list[str]) -> list[str]:
    kept: dict[str, str] = {}
    for query in queries:
        kept[canonical(query)] = query
    return list(kept.values())


def _choose(text: str, blocks: list[tuple[str, int, int]]) -> Extraction:
    distinct = _distinct([body for body, _, _ in blocks])
    if len(distinct) == 1:
        return Extraction(answer=distinct[0], rung=Rung.BLOCK)
    if len(_CONDITION.findall(without_fences(text))) > 1:
        return Extraction(answer=None, rung=Rung.AMBIGUOUS, candidates=tuple(distinct))
    leads = _leads(text, blocks)
    final = [body for (body, _, _), lead in zip(blocks, leads, strict=True) if _FINAL.search(lead)]
    if final:
        return Extraction(answer=final[-1], rung=Rung.MARKER, candidates=tuple(distinct))
    main = [body for (body, _, _), lead in zip(blocks, leads, strict=True) if not _ASIDE.search(lead)]
    return Extraction(
        answer=(main or [body for body, _, _ in blocks])[-1],
        rung=Rung.LOOSE,
        candidates=tuple(distinct),
        flags=("several_blocks",),
    )


def _leads(text: str, blocks: list[tuple[str, int, int]]) -> list[str]:
    """The last paragraph of prose before each block."""
    leads: list[str] = []
    position = 0
    for _, start, end in blocks:
        paragraphs = [part for part in re.split(r"\n\s*\n", text[position:start]) if part.strip()]
        leads.append(paragraphs[-1] if paragraphs else "")
        position = end
    return leads


def _json_query(text: str) -> str | None:
    if not text.startswith("{") or not text.endswith("}"):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    value = {str(key).lower(): inner for key, inner in value.items()}
    found = [value[key] for key in _JSON_KEYS if isinstance(value.get(key), str) and is_one_query(value[key])]
    return found[0].strip() if found else None


def _bare(text: str, bare: list[tuple[str, int, int]]) -> Extraction:
    distinct = _distinct([query for query, _, _ in bare])
    if len(distinct) > 1:
        if len(_CONDITION.findall(text)) > 1:
            return Extraction(answer=None, rung=Rung.AMBIGUOUS, candidates=tuple(distinct))
        return Extraction(answer=distinct[-1], rung=Rung.LOOSE, candidates=tuple(distinct), flags=("several_queries",))
    query, start, end = bare[-1]
    before, after = text[:start].rstrip(" *_>`\"'\n\t"), text[end:].strip("`*_ \n\t\"'")
    before, after = (
        "" if not tokenize(part) or part.lower() in ("sql", "sqlite") else part for part in (before, after)
    )
    if not before and not after:
        return Extraction(answer=query, rung=Rung.WHOLE)
    if before.endswith(":") or not before:
        return Extraction(answer=query, rung=Rung.MARKER)
    return Extraction(answer=query, rung=Rung.LOOSE, candidates=(query,))
