"""Boxed answers: the last box, a box out of a list of labelled ones, boxes offered as alternatives."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lic_pipeline.records import Rung
from lic_pipeline.tasks.math.choose import Choice, best_labelled, choose
from lic_pipeline.tasks.math.values import Number

_BOX = re.compile(r"\\(?:boxed|fbox|framebox)\s*(?:\{|(?=[\d$-]))")
_OR_BOXES = re.compile(r"[}$\\()\s,]*\bor\b[\s$\\(]*")
_BOX_STOP = re.compile(r"[\s\\]")


@dataclass(frozen=True, slots=True)
class Found:
    """A passage that answers: the choice made there, where it stands and on which rung (of any kind of place)."""

    rung: Rung
    choice: Choice
    start: int


def boxed(text: str, question: str) -> Found | None:
    """The last box that holds a value; of listed boxes the one asked for; boxes joined by "or" are rivals."""
    if "\\" not in text:
        return None
    boxes = list(_BOX.finditer(text))[-8:]
    if not boxes:
        return None
    spans = [_box_span(text, match) for match in boxes]
    choices = [choose(text, *span, question, words=True) for span in spans]
    choice = choices[-1]
    if len(boxes) > 1 and choice.number is not None:
        previous = choices[-2].number
        between = text[spans[-2][1] : boxes[-1].start()]
        if previous and previous.value != choice.number.value and _OR_BOXES.fullmatch(between):
            choice = Choice(rivals=(previous, choice.number))
        else:
            choice = Choice(_listed_box(text, boxes, choices, question) or choice.number)
    return Found(Rung.BOXED, choice, boxes[-1].start())


def _listed_box(text: str, boxes: list[re.Match[str]], choices: list[Choice], question: str) -> Number | None:
    """Of boxes on neighbouring lines, the one whose line fits the question best."""
    labelled: list[tuple[Number, str]] = []
    below = boxes[-1].start()
    for box, choice in zip(reversed(boxes), reversed(choices), strict=True):
        if choice.number is None or below - box.start() > 160:
            break
        line = text.rfind("\n", 0, box.start()) + 1
        labelled.append((choice.number, text[max(line, box.start() - 200) : box.start()]))
        below = box.start()
    return best_labelled(labelled[::-1], question) if len(labelled) > 1 else None


def _box_span(text: str, match: re.Match[str]) -> tuple[int, int]:
    limit = min(len(text), match.end() + 400)
    if not match.group().endswith("{"):
        stop = _BOX_STOP.search(text, match.end(), limit)
        return match.end(), stop.start() if stop else limit
    depth = 1
    for place in range(match.end(), limit):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return match.end(), place
    return match.end(), limit
