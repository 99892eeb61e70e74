"""What the refinement tasks share: the whole reply is the answer, and every reply but an empty one or a refusal tries.

Reasoning tags and the rules of the binary tasks stand in ``text.py``.
"""

from __future__ import annotations

import re

from lic_pipeline.records import Extraction, Reply, Rung, Strategy
from lic_pipeline.tasks.reply_reading import reasoning_flags, visible_text

_OPENS_DECLINING = re.compile(
    r"\W*(?:(?:i'm|i am|we're|we are) (?:(?:very|so|really|truly) )?(?:sorry|afraid|unable|not able)\b"
    r"|(?:sorry|(?:my )?apologies|unfortunately|as an ai)\b"
    r"|i (?:can(?:not|'t)|won't|will not|must decline|have to decline|decline)\b)",
    re.IGNORECASE,
)
_WILL_NOT = re.compile(
    r"\b(?:can(?:not|'t)|won't|will not|unable to|not able to|not comfortable|decline|refuse)(?: \w+){0,3}? "
    r"(?:help|assist|do|provide|answer|write|create|comply|fulfil|fulfill|continue|complete|generate|produce|respond"
    r"|describe|describing|summari[sz]e|give|discuss|to|writing|summari[sz]ing)\b",
    re.IGNORECASE,
)
_REFUSAL_WORDS = 80


def whole_reply(reply: Reply) -> Extraction:
    """The visible reply as the answer; an empty one fails."""
    text = visible_text(reply.text)[0].strip()
    rung = Rung.WHOLE if text else Rung.FAILED
    return Extraction(answer=text or None, rung=rung, flags=reasoning_flags(reply))


def label_prose(reply: Reply) -> Strategy:
    """``missing`` for an empty reply, ``refusal`` for a short one that opens by declining, else an attempt.

    A text may well say that somebody "cannot" do something, so declining counts only at the start of a short reply.
    """
    text = visible_text(reply.text)[0].strip().replace("’", "'")
    if not text:
        return Strategy.MISSING
    short = len(text.split()) <= _REFUSAL_WORDS
    declined = _OPENS_DECLINING.match(text) is not None and _WILL_NOT.search(text) is not None
    return Strategy.REFUSAL if short and declined else Strategy.ANSWER_ATTEMPT
