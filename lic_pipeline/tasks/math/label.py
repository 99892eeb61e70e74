"""Strategy rules of the math task: what kind of reply this is, judged by where its numbers stand.

An answer in an unmistakable place is an attempt; alternatives under conditions are hedging; a number in a reply that
asks or declines is no answer. The ladder itself is in ``math_extract.py``.
"""

from __future__ import annotations

import re

from lic_pipeline.records import Extraction, Rung, Strategy
from lic_pipeline.tasks.text import count_questions, declines, label_without_answer

_CONDITION = re.compile(
    r"(?:^|\n)[\s>*_#•+-]*(?:\w+\s){0,2}(?:if|assuming|in case|when|option|case|scenario|possibility|interpretation)\b"
    r"[^\n]{0,300}?\d",
    re.IGNORECASE,
)
# Measured on published conversations: these phrases near the end of a reply without a strict rung separate attempts
# from discussions of what is missing (agreement with the recorded labels: precision 71% -> 85% at recall 89%).
_LACKING = re.compile(
    r"\b(?:(?:i|we)(?:'d|'ll| would| will| still)? (?:\w+ )?need (?!help)(?!to (?:add|find|calc|multi|sub|div))"
    r"|(?:is|are|information|details|data) (?:needed|required|missing|unknown)"
    r"|without (?:know|more|addit|that|those|spec|actual)|depends on|not (?:been )?(?:provided|given|specified)"
    r"|don't (?:know|have)|once (?:you|we)|if you (?:can |could )?(?:provide|tell|give|share)"
    r"|if you have (?:the )?(?:actual|specific)|illustrat\w+|hypothetical|placeholder|substitute|replace|plug"
    r"|only (?:know|confirm))",
    re.IGNORECASE,
)
_TAIL = 600
_END = 400


def label(text: str, extraction: Extraction) -> Strategy:
    """The strategy of a visible reply, given its robust extraction."""
    if not text.strip():
        return Strategy.MISSING
    if extraction.rung is Rung.AMBIGUOUS:
        return Strategy.HEDGING
    if extraction.strict:
        return Strategy.ANSWER_ATTEMPT
    if extraction.answer is None:
        return label_without_answer(text)
    if len(_CONDITION.findall(text[-4000:])) > 1:
        return Strategy.HEDGING
    if _LACKING.search(text[-_END:].replace("’", "'")):
        other = label_without_answer(text)
        return Strategy.DISCUSSION if other is Strategy.REFUSAL else other
    if declines(text[-_TAIL:]) or count_questions(text[-_TAIL:]):
        return label_without_answer(text)
    return Strategy.ANSWER_ATTEMPT
