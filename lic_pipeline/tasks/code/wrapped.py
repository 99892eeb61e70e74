"""Programs that stand in the open text between marks: back-ticks, elements (``<code>``), ``[PYTHON]``, quoted lines.

Which of them is the program is decided in ``extract``.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import islice

from lic_pipeline.tasks.code.bodies import STARTS_CODE
from lic_pipeline.tasks.code.syntax import parse
from lic_pipeline.tasks.fences import unquoted

_SPAN = re.compile(r"(?<!`)(`{1,3})(?!`)([^`]+)\1(?!`)")
_LANGUAGE = re.compile(r"\A\s*(?:python3?|py)\b[ \t]*")
_OPENED = re.compile(rf"(?:<([A-Za-z][\w:.-]*)[^<>\n]*>|\[([A-Z][A-Z_]+)\])[ \t]*\n?(?={STARTS_CODE.pattern})")
_QUOTATION = re.compile(r"(?:^[ \t]{0,3}>[^\n]*(?:\n|\Z)){2,}", re.MULTILINE)
_HOLDS_CODE = re.compile(r"\b(?:def|class|lambda|import|input|stdin)\b")
_MOST = 20


def wrapped(text: str) -> list[str]:
    """What stands between marks and may be a program, in order of its place; of each kind of marks at most twenty."""
    found = [*_spans(text), *_elements(text)]
    found += [(match.start(), unquoted(match.group())) for match in islice(_QUOTATION.finditer(text), _MOST)]
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
