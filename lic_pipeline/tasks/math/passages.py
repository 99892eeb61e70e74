"""The passages of a reply to a word problem, and the kind of each: a conclusion, a check, an aside, a point.

What a passage is worth as the place of the answer stands in ``weights.py``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lic_pipeline.tasks.reply_reading import holds_any, sentence_spans


def words(text: str) -> frozenset[str]:
    """The words of a text as a set: how the classes of words that features look for are written down."""
    return frozenset(text.split())


_MARKS = " \t\n>*_#()•+-`\"'$\\[{✅🎉"
_POINT = re.compile(r"[ \t]*(?:[-*+•]|\d{1,2}[.)])\s")
_CONCLUDING = words("therefore thus hence so final conclusion answer overall result altogether")
_CONCLUDING_PHRASES = (
    "in conclusion", "the answer", "in summary", "to conclude", "in total", "we have confirmed", "we have found",
    "we have verified", "final_answer",
)  # fmt: skip
_NOTING = words("note notes example e.g tip suppose assumption assumptions")
_ASIDE = _NOTING | words("unless sanity proof please would remember could")
_SUPPOSED = (" would have ", "wouldn't have ", " would still ", " would be only ", " would only ")
_ASIDE_PHRASES = (
    "for example", "for instance", "let me know", "feel free", "do you", "can you", "am i", "is this", "is that",
    "is there", "if you", "if there",
)  # fmt: skip
_EXAMPLES = ("for example", "for instance", "e.g.", "hypothetical", "let me know if", "feel free", "let's say")
_CHECK = re.compile(
    r"(?:(?:now|finally|first|quickly),?\s)?"
    r"(?:let's|let us|let me|we can|we could|i can|i'll|you can|to|if (?:you|we)(?: \w+)? (?:to|want|wanted)"
    r"|step \d+\W+|final|optional|quick|as a|a|here's a|just to)?\s?(?:also |now |quickly |to |a )*"
    r"(?:verif(?:y|ication|ying)|(?:double[- ]?|cross[- ]?|sanity[- ]?)?check(?:ing)?|confirm(?:ing|ation)?)\b"
)
_CHECKING = ("verif", "check", "confirm")
_STEPS = frozenset({"step", "part"})
_STOPS = ",:;.!*_\"'\n\t"
_CONFIRMING = ("✓", "✔", "✅", "matches the", "which matches", "confirming", "confirms", "checks out")
_DIGIT = re.compile(r"[0-9]")


@dataclass(frozen=True, slots=True)
class Passage:
    """One sentence, line or point of a reply, and its kinds (features of every value in it)."""

    start: int
    end: int
    kinds: tuple[str, ...]
    in_words: bool = False

    @property
    def beside(self) -> bool:
        """True where a passage checks or qualifies a result instead of stating it."""
        return "check" in self.kinds or "aside" in self.kinds


def passages(text: str, begin: int, end: int) -> list[Passage]:
    """The passages between two places that hold a digit, in order, and the conclusions that may hold a word for one.

    Where no passage holds a digit, all of them.
    """
    wordy = begin == 0 and end == len(text) and _DIGIT.search(text) is None
    found: list[Passage] = []
    stated = begin > 0
    checking = announced = noting = False
    for start, stop in sentence_spans(text, begin, end):
        piece = text[start:stop].lower()
        lead = piece.lstrip(_MARKS)[:80]
        first = lead.partition(" ")[0].strip(_STOPS)
        concluding = _concludes(lead, first)
        # A note goes on to the end of its line.
        noting = first in _NOTING or (noting and "\n" not in text[max(0, start - 2) : start])
        if concluding:
            checking = False
        elif holds_any(lead, _CHECKING) and _CHECK.match(lead) is not None:
            checking = stated
        digits = _DIGIT.search(piece) is not None
        if digits or concluding or wordy:
            kinds = _kinds(piece, lead, first, concluding=concluding)
            if noting:
                kinds.append("aside")
            if checking:
                kinds.append("check")
            if announced:
                kinds.append("announced")
            found.append(Passage(start, stop, tuple(dict.fromkeys(kinds)), in_words=not digits))
            stated, announced = stated or digits, announced and not digits
        announced = announced or piece.rstrip(" *_\n").endswith(":")
    return found


def _kinds(piece: str, lead: str, first: str, *, concluding: bool) -> list[str]:
    """The kinds of a passage (in lower case) that depend on nothing but itself."""
    kinds: list[str] = []
    if concluding:
        kinds.append("concludes")
    elif holds_any(piece, _CONFIRMING):
        kinds.append("check")
    if _aside(piece, lead, first):
        kinds.append("aside")
    if _POINT.match(piece) is not None:
        kinds.append("point")
    if first in _STEPS:
        kinds.append("step")
    return kinds


def _concludes(lead: str, first: str) -> bool:
    """True for a passage that says it draws the conclusion ("Therefore, ...")."""
    return (first in _CONCLUDING or lead.startswith(_CONCLUDING_PHRASES)) and not lead.startswith("final check")


def is_aside(sentence: str) -> bool:
    """True for questions, conditions, examples, notes and offers: they state no answer."""
    piece = sentence.lower()
    lead = piece.lstrip(_MARKS)[:80]
    return _aside(piece, lead, lead.partition(" ")[0].strip(_STOPS))


def _aside(piece: str, lead: str, first: str) -> bool:
    stripped = piece.strip(" *_\n")
    return (
        stripped.endswith("?")
        or first in _ASIDE
        or (lead.startswith(_ASIDE_PHRASES) and not ("=" in piece and first == "if" and "you" not in piece))
        or holds_any(piece, _EXAMPLES)
        or holds_any(piece, _SUPPOSED)
        or (stripped.startswith("(") and stripped.rstrip(".").endswith(")"))
    )
