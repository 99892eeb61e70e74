"""The ladder of rungs of the math task: where in a reply the answer stands.

All values that may answer are candidates with features (``features.py``); the one worth most (``weights.py``) answers.
The rung says where it stands: in a box, behind a marker, or in the conclusion. A box or a marker is a strict rung only
where one value there stands out clearly; else the value counts as one chosen from the conclusion.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from lic_pipeline.records import Extraction, Rung
from lic_pipeline.tasks.math.candidates import candidates
from lic_pipeline.tasks.math.features import Candidate
from lic_pipeline.tasks.math.numbers.number_grammar import Number, normalise, without_bold
from lic_pipeline.tasks.math.passages import is_aside
from lic_pipeline.tasks.math.places import MARKER, boxes
from lic_pipeline.tasks.math.rivals import offered_beside
from lic_pipeline.tasks.math.weights import CLEAR, SURE, UNSURE
from lic_pipeline.tasks.reading_cache import Kept
from lic_pipeline.tasks.reply_reading import declines, holds_any, sentence_spans

_INVENTED = re.compile(
    r"\n[ \t#>*]*(?:(?:new |next |another |follow-up )?(?:question|problem)(?:\s*\d+)?|Q\d*|human|user|student"
    r"|instruction)\**\s*:",
    re.IGNORECASE,
)
_INVENTED_HINTS = ("question", "problem", "human", "user", "student", "instruction", "\nq", "q:", "*q")
_DIGITS_ONLY = re.compile(r"(?:-|\$)?(?:0|[1-9][0-9]{0,2}(?:,[0-9]{3}){1,5}|[1-9][0-9]{0,17})(?:\.[0-9]{1,9})?")
_LONG_WORD = re.compile(r"[A-Za-z]{2,}")
_OTHER_UNITS = frozenset({"unit_other", "unit_other_kind"})
_BARE = 40
_READ = 2000
_FAR = 50.0
_RUNGS = {"boxed": Rung.BOXED, "hashed": Rung.MARKER, "marked_strong": Rung.MARKER, "marked": Rung.MARKER}


def whole_value(answer: str, question: str = "") -> tuple[Fraction | None, bool]:
    """The value of a text that is nothing but an answer, None when it has none; and whether it has several."""
    if _DIGITS_ONLY.fullmatch(answer):
        # Most references and extractions look like this, and the grammar comes to the same.
        digits = answer.replace(",", "").lstrip("$")
        return Fraction(digits) if "." in digits else Fraction(int(digits)), False
    extraction, number = find(answer, question, whole=True)
    return None if number is None else number.value, extraction.rung is Rung.AMBIGUOUS


class Found(NamedTuple):
    """What a text was read as: the extraction, the chosen value, and what it is worth (``weights.py``).

    ``hedged``: several values are offered side by side, so that none was chosen.
    """

    extraction: Extraction
    number: Number | None = None
    worth: float = 0.0
    hedged: bool = False


def find(text: str, question: str = "", *, whole: bool = False) -> tuple[Extraction, Number | None]:
    """The extraction of a visible reply, and the chosen value. ``question`` is the problem, "" where it is not known.

    ``whole`` = the text is nothing but an answer.
    """
    return (read(text, question, whole=True) if whole else read(text, question))[:2]


@Kept
def read(text: str, question: str = "", *, whole: bool = False) -> Found:
    """What a visible reply is read as; arguments as for ``find``."""
    plain, bold = without_bold(normalise(f"Answer: {text}" if whole else text))
    plain = _first_solution(plain)
    found = _answering(plain, candidates(plain, bold, question))
    if not found:
        return Found(Extraction(answer=None, rung=Rung.FAILED))
    best = max(found, key=lambda candidate: candidate.score)
    if _repeats_a_given(best):
        return Found(Extraction(answer=None, rung=Rung.FAILED))
    offered = _offered(plain, found, best)
    rivals = offered or [c.number for c in found if best.score - c.score < UNSURE]
    if any(rival.value != best.number.value for rival in rivals):
        names = tuple(dict.fromkeys(number.text for number in rivals))
        return Found(Extraction(answer=None, rung=Rung.AMBIGUOUS, candidates=names), hedged=bool(offered))
    number = best.number
    rung = _rung(plain, found, best)
    return Found(Extraction(answer=number.text, rung=rung, candidates=(number.text,)), number, best.score)


def _repeats_a_given(best: Candidate) -> bool:
    """True where even the best value only repeats the question, in a unit that was not asked for."""
    return not best.place and "given" in best.features and not _OTHER_UNITS.isdisjoint(best.features)


def _first_solution(text: str) -> str:
    """The text up to a second, invented question that follows an answer already given."""
    if not holds_any(text.lower(), _INVENTED_HINTS):
        return text
    for match in _INVENTED.finditer(text):
        head = text[: match.start()]
        if "####" in head or "\\boxed" in head or MARKER.search(head):
            return head
    return text


def _answering(text: str, found: list[Candidate]) -> list[Candidate]:
    """The candidates that are left when what was declined, and a box without a value, are taken as said."""
    box = next(reversed(boxes(text)), None) if "box" in text else None
    if box is not None and not any(box.begin <= c.number.start <= box.end for c in found):
        # A box that holds a formula or a word says that there is no number, unless one is stated after it.
        found = [c for c in found if c.number.start > box.end]
    begin = max(0, len(text) - _READ)
    if not declines(text[begin:]):
        return found
    last = max((end for start, end in sentence_spans(text, begin) if _says_no(text[start:end])), default=0)
    return [c for c in found if c.passage.end > last and not (last and c.passage.beside)]


def _says_no(sentence: str) -> bool:
    return not is_aside(sentence) and declines(sentence)


def _offered(text: str, found: Sequence[Candidate], best: Candidate) -> list[Number]:
    """The values between which a reply leaves the choice open in so many words; empty where it does not."""
    offered = offered_beside(text, [c.number for c in found if c.passage is best.passage], best.number)
    if offered:
        return list(offered)
    conditional = [c.number for c in found if c.place == "marked_if"]
    return conditional if best.place == "marked_if" else []


def _rung(text: str, found: Sequence[Candidate], best: Candidate) -> Rung:
    """Where the chosen value stands; an unmistakable place only where it is far ahead of every other value."""
    margin = best.score - max((c.score for c in found if c.number.value != best.number.value), default=-_FAR)
    stripped = text.strip()
    if len(stripped) <= _BARE and margin >= _FAR and len(_LONG_WORD.findall(stripped)) <= 3 and "?" not in stripped:
        return Rung.WHOLE if not best.place else _RUNGS.get(best.place, Rung.CONCLUSION)
    if best.place in _RUNGS and margin >= CLEAR:
        return _RUNGS[best.place]
    return Rung.CONCLUSION if margin >= SURE else Rung.LAST_NUMBER
