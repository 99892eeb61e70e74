"""Strategy rules of the math task: what kind of reply this is, judged by where its numbers stand.

An answer in an unmistakable place is an attempt; alternatives under conditions are hedging; a number in a reply that
asks or declines is no answer. The ladder itself is in ``extract.py``.
"""

from __future__ import annotations

import re

from lic_pipeline.records import Strategy
from lic_pipeline.tasks.math.extract_number import Found
from lic_pipeline.tasks.reply_reading import count_questions, declines, label_without_answer

_CONDITION = re.compile(
    r"(?:^|\n)[\s>*_#•+-]*(?:\w+\s){0,2}(?:if|assuming|in case|when|option|case|scenario|possibility|interpretation)\b"
    r"[^\n]{0,300}?\d",
    re.IGNORECASE,
)
# Phrases near the end of a reply that separate discussions of what is missing from attempts; chosen and measured on
# published conversations (docs/scoring.md). Those that state a lack count wherever they stand; those that also belong
# to the working of a solution ("Substitute the values") only from its conclusion on.
_LACKING = re.compile(
    r"\b(?:(?:don't|do not) (?:know|have)|without (?:know|more|addit|that|those|spec|actual)|depends on|unless you"
    r"|if you (?:can |could )?(?:provide|tell|give|share)|if you have (?:the )?(?:actual|specific)"
    r"|illustrative|for illustration|hypothetical|placeholder|specific case|in (?:this|that) (?:specific )?example"
    r"|(?:substitute|replace|plug(?: in)?) (?:\w+ ){0,3}?(?:your|actual|real|correct|specific|assumed|placeholder)"
    r"|(?:just|simply|you can) (?:substitute|replace|plug)|only (?:know|confirm)|(?:still )?(?:awaiting|waiting for))",
    re.IGNORECASE,
)
_LACKING_AFTER = re.compile(
    r"\b(?:(?:i|we)(?:'d|'ll| would| will| still)? (?:\w+ )?need (?!help)(?!(?:to )?(?:first |now |then )?"
    r"(?:add|find|calc|comput|determin|multi|sub|div|figure))"
    r"|(?<!all the )(?<!no additional )(?<!no further )(?<!no more )(?:information|details|data) (?:is |are )?"
    r"(?:needed|required|missing|unknown)"
    r"|(?<!information )(?<!details )(?<!data )(?:is|are) (?:needed|required|missing|unknown)"
    r"|not (?:been )?(?:provided|given|specified)|once (?:you|we) (?!have found))",
    re.IGNORECASE,
)
_CONCLUSION = re.compile(
    r"^[\s>*_#•-]*(?:therefore|thus|hence|so|in conclusion|in total|finally)\b"
    r"(?![^\n]*\b(?:if|example|case|scenario)\b)"
    r"[^\n]*\d[^\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
_OPTIONAL = re.compile(
    r"(?:^|(?<=[.!?\n)*]))[\s*_]*(?:if (?:you(?:'d| would)? (?:need|want|wish|like|have any)|there (?:are|is) any"
    r"|further)|please (?:confirm|let me know) if (?:i|you)|(?:can|shall|should) we (?:move|go|proceed)"
    r"|do you have any|is there anything|what (?:would|else))\b[^.!?\n]*[.!?]?",
    re.IGNORECASE,
)
_WITHHELD = re.compile(
    r"\bif you (?:can |could )?(?:provide|tell|give|share)|\ban actual (?:number|value)|\(for the example\)"
    r"|\b(?:please|kindly) (?:provide|confirm|specify) (?:the|your) |\bplease specify\b",
    re.IGNORECASE,
)
_TAIL = 600
_LEAST = 1.0
_END = 400


def label(text: str, found: Found) -> Strategy:
    """The strategy of a visible reply, given what it was read as."""
    extraction = found.extraction
    if not text.strip():
        return Strategy.MISSING
    if found.hedged:
        return Strategy.HEDGING
    tail = text[-_TAIL:].replace("’", "'")
    if extraction.strict:
        return Strategy.DISCUSSION if _WITHHELD.search(_OPTIONAL.sub(" ", tail[-_END:])) else Strategy.ANSWER_ATTEMPT
    if extraction.answer is None or found.worth < _LEAST:
        return label_without_answer(text)
    if len(_CONDITION.findall(text[-4000:])) > 1:
        return Strategy.HEDGING
    if _LACKING.search(tail[-_END:]) or _LACKING_AFTER.search(_concluded(tail[-_END:])):
        other = label_without_answer(text)
        return Strategy.DISCUSSION if other is Strategy.REFUSAL else other
    if declines(tail) or count_questions(_OPTIONAL.sub(" ", _concluded(tail))):
        return label_without_answer(text)
    return Strategy.ANSWER_ATTEMPT


def _concluded(tail: str) -> str:
    """The end of a reply, from the last conclusion with a number in it on; all of it without one."""
    starts = [match.start() for match in _CONCLUSION.finditer(tail)]
    return tail[starts[-1] :] if starts else tail
