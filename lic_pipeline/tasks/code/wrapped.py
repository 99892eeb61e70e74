"""Programs that stand in the open text between marks: back-ticks, elements (``<code>``), ``[PYTHON]``, quoted lines.

Which of them is the program is decided in ``extract``.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import islice

from lic_pipeline.tasks.code.program_candidates import STARTS_CODE
from lic_pipeline.tasks.code.program_syntax import parse
from lic_pipeline.tasks.fenced_blocks import unquoted

_SPAN = re.compile(r"(?<!`)(`{1,3})(?!`)([^`]+)\1(?!`)")
_LANGUAGE = re.compile(r"\A\s*(?:python3?|py)\b[ \t]*")
_STARTS = rf"(?:{STARTS_CODE.pattern}|#|[A-Za-z_]\w*[ \t]*=[^=])"
_OPENED = re.compile(rf"(?:<([A-Za-z][\w:.-]*)[^<>\n]*>|\[([A-Z][A-Z_]+)\])\s{{0,4}}(?={_STARTS})")
_QUOTATION = re.compile(r"(?:^[ \t]{0,3}>[^\n]*(?:\n|\Z)){2,}", re.MULTILINE)
_HOLDS_CODE = re.compile(r"\b(?:def|class|lambda|import|input|stdin)\b")
_MOST = 20


def enclosed(text: str) -> list[str]:
    """What elements, bracketed marks and back-ticks over several lines enclose and may be a program, by place."""
    spans = (span for span in _spans(text) if "\n" in span[1])
    return _code(*_elements(text), *spans)


def marked(text: str) -> list[str]:
    """What stands between back-ticks on one line, or in quoted lines, and may be a program, by place."""
    quotations = ((match.start(), unquoted(match.group())) for match in islice(_QUOTATION.finditer(text), _MOST))
    return _code(*quotations, *(span for span in _spans(text) if "\n" not in span[1]))


def _code(*found: tuple[int, str]) -> list[str]:
    return [body for _, body in sorted(found) if _HOLDS_CODE.search(body)]


def _spans(text: str) -> Iterator[tuple[int, str]]:
    spans = (match for match in _SPAN.finditer(text) if _HOLDS_CODE.search(match[2]))
    for match in islice(spans, _MOST):
        yield match.start(), _LANGUAGE.sub("", match[2]) if len(match[1]) > 1 else match[2]


def _elements(text: str) -> Iterator[tuple[int, str]]:
    for match in islice(_OPENED.finditer(text), _MOST):
        end = text.find(f"</{match[1]}>" if match[1] else f"[/{match[2]}]", match.end())
        body = text[match.end() : end if end >= 0 else len(text)]
        # In a page a program is escaped; one that is Python as it stands was not.
        yield match.start(), html.unescape(body) if "&" in body and parse(body) is None else body
