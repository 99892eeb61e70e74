"""The passages of a reply to a word problem, and which of them state no answer: checks, asides, examples, questions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lic_pipeline.tasks.text import sentence_spans

Span = tuple[int, int]

_BULLET = re.compile(r"[ \t]*(?:[-*+•]|\d{1,2}[.)])\s|([^\n]{0,200}:[\s*_]*\n+)[ \t]*(?:[-*+•]|\d{1,2}[.)])\s")
_ASIDE = re.compile(
    r"^[\s>*_#()•+-]*(?:suppose|unless|for (?:example|instance)|e\.g\.|example|let me know|sanity|proof|please"
    r"|notes?\b(?! that the (?:answer|total))|feel free|would you|do you|could you|can you|remember|assumptions?:|would"
    r"|am i|is th(?:is|at|ere))\b",
    re.IGNORECASE,
)
_IF = re.compile(r"^[\s>*_#()•+-]*if\b", re.IGNORECASE)
_OFFERED = re.compile(r"\b(?:you|you'd|you'll|let me|tell|provide)\b", re.IGNORECASE)
_SUPPOSED = re.compile(r"\b(?:you|you'd|you'll|would|could|let me|tell|provide|were|instead)\b", re.IGNORECASE)
_EXAMPLE = re.compile(
    r"\b(?:for example|for instance|e\.g\.|as an example|hypothetical|let me know if|feel free|let's say)",
    re.IGNORECASE,
)
_CHECK = re.compile(
    r"^[\s>*_#()•+`-]*(?:(?:now|finally|first|quickly),?\s)?"
    r"(?:let's|let us|let me|we can|we could|i can|i'll|you can|to|if (?:you|we)(?: \w+)? (?:to|want|wanted)"
    r"|step \d+\W+|final|optional|quick|as a|a|here's a|just to)?\s?(?:also |now |quickly |to |a )*"
    r"(?:verif(?:y|ication|ying)|(?:double[- ]?|cross[- ]?|sanity[- ]?)?check(?:ing)?|confirm(?:ing|ation)?)\b",
    re.IGNORECASE,
)
_CONFIRMED = re.compile(r"[✓✔✅]|\b(?:matches the|which matches|confirming|confirms|checks out)\b", re.IGNORECASE)
_CHECK_HINTS = ("verif", "check", "confirm", "match", "✓", "✔", "✅")
_DIGIT = re.compile(r"[0-9]")
_CONCLUDES = re.compile(
    r"^\W*(?:therefore|thus|hence|so|final(?! check)|in conclusion|conclusion|answer|the answer|in summary|to conclude"
    r"|overall|result)\b",
    re.IGNORECASE,
)
_IN_PARENTHESES = re.compile(r"^[\s*_]*\(.*\)[\s*_.]*$", re.DOTALL)


def passages_of(text: str, start: int, end: int) -> Iterator[Span]:
    """Sentences between two places; one that ends with a colon is joined with what it announces."""
    opened: int | None = None
    for a, b in sentence_spans(text, start, end):
        begin = a if opened is None else opened
        tail = text[max(a, b - 40) : b].rstrip(" \n*_`")
        if not tail or tail.endswith(":") or (opened is not None and _is_rule(text[a:b])):
            opened = begin
            continue
        opened = None
        yield begin, b
    if opened is not None:
        yield opened, end


def _is_rule(piece: str) -> bool:
    return not piece.strip(" -*_=#\n\t>")


def is_bullet(text: str, span: Span) -> bool:
    """True when a passage is a point of a list, or announces one."""
    return _BULLET.match(text, *span) is not None


def first_point(text: str, span: Span) -> int:
    """Where the first point of a list starts in a passage that announces one; else the start of the passage."""
    match = _BULLET.match(text, *span)
    return match.end(1) if match is not None and match[1] is not None else span[0]


def concludes(sentence: str) -> bool:
    """True for a sentence that says it draws the conclusion ("Therefore, ...")."""
    return _CONCLUDES.match(sentence) is not None


def set_aside(sentence: str) -> bool:
    """True for asides, conditions, examples and questions."""
    return (
        sentence.rstrip(" *_\n").endswith("?")
        or _ASIDE.match(sentence) is not None
        or _EXAMPLE.search(sentence) is not None
        or (_IF.match(sentence) is not None and _is_offer(sentence))
        or (len(sentence) < 400 and _IN_PARENTHESES.match(sentence) is not None)
    )


def _is_offer(conditional: str) -> bool:
    """True for "If you give me ...", "If there were ..."; False for a premise followed by its calculation."""
    if "=" in conditional:
        return _OFFERED.search(conditional) is not None
    return _SUPPOSED.search(conditional) is not None or not has_digit(conditional)


def without_checks(text: str, spans: list[Span]) -> list[Span]:
    """The passages without checks of a result already stated; all of them when nothing else holds a digit."""
    tail = text[spans[0][0] :].lower() if spans else ""
    if not any(hint in tail for hint in _CHECK_HINTS):
        return spans
    kept: list[Span] = []
    checking = stated = False
    for start, end in spans:
        piece = text[start:end]
        if _CHECK.match(piece):
            checking = stated
        elif checking and _CONCLUDES.match(piece):
            checking = False
        if not checking and (_CONCLUDES.match(piece) or not _CONFIRMED.search(piece)):
            kept.append((start, end))
            stated = stated or has_digit(piece)
    return kept if stated else spans


def has_digit(piece: str) -> bool:
    """True when a piece of text holds a digit."""
    return _DIGIT.search(piece) is not None
