"""The candidates of one reply: the values of its last passages, of its opening and of its unmistakable places."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from lic_pipeline.tasks.math.features import (
    Candidate,
    Reading,
    label_fit,
    own_features,
    passage_features,
    results_of,
    signs_of,
)
from lic_pipeline.tasks.math.numbers.number_grammar import Number, numbers
from lic_pipeline.tasks.math.numbers.number_words import number_words
from lic_pipeline.tasks.math.numbers.same_quantity import without_restatements
from lic_pipeline.tasks.math.passages import Passage, passages
from lic_pipeline.tasks.math.places import STRICT, Place, boxes, hashed, marked
from lic_pipeline.tasks.math.question import asked
from lic_pipeline.tasks.math.rivals import restated
from lic_pipeline.tasks.math.weights import ENOUGH, WEIGHTS

_NO_LABELS = frozenset({"given", "given_calculated", "determiner"})
_LAST = 4
_STATEMENTS = 3
_LONGEST_LIST = 12
_NEAR, _ALONE = 12, 5  # characters between a marker and its value, and beside a value that stands alone
_STEP, _MOST = 200, 6000  # characters read at first, and at the most
_SHORT = 80
_FIGURE = re.compile(r"\d[\d,.]*")
_BLANK = " \n\t#*_>\\([{}💐🎉✅"


def candidates(text: str, bold: list[tuple[int, int]], question: str) -> list[Candidate]:
    """The values of a normalised reply that may answer a question, in order, with their features and worth.

    Passages are read from the last one backwards, until a value is worth ``ENOUGH`` or enough statements were read.
    """
    reading = Reading(text, bold, results_of(text), asked(question))
    places = [*boxes(text), *hashed(text), *marked(text)]
    result = _Backwards(reading, places, question).read()
    _mark_labels(reading, result)
    _mark_order(result, places)
    for candidate in result:
        candidate.score = worth(candidate)
    return result


def worth(candidate: Candidate) -> float:
    """The sum of the weights of a candidate's features."""
    return sum([WEIGHTS.get(feature, 0.0) for feature in candidate.features])


class _Backwards:
    """Reads the passages of a reply from its end: as far as its places and a few statements reach."""

    def __init__(self, reading: Reading, places: list[Place], question: str) -> None:
        self._reading = reading
        self._places = places
        self._question = question
        self._result: list[Candidate] = []
        self._passages = self._statements = self._listing = 0

    def read(self) -> list[Candidate]:
        """The candidates in order of their places."""
        text = self._reading.text
        farthest, end = max(0, len(text) - _MOST), len(text)
        begin = min([end - _STEP, *(place.start for place in self._places)])
        while True:
            begin = max(farthest, _paragraph(text, begin))
            settled = self._settled_by(passages(text, begin, end), first=end == len(text))
            if settled or begin == farthest or self._statements >= _STATEMENTS:
                break
            end, begin = begin, begin - 2 * _STEP
        self._read_first_line()
        return self._result

    def _read_first_line(self) -> None:
        """Take in the first line where it may state the answer before all else: one figure and no calculation."""
        text = self._reading.text
        end = text.find("\n")
        known = self._result[0].passage.start if self._result else len(text)
        if 0 < end <= min(_SHORT, known) and "=" not in text[:end] and len(_FIGURE.findall(text, 0, end)) == 1:
            self._settled_by(passages(text, 0, end), first=False)

    def _settled_by(self, found: list[Passage], *, first: bool) -> bool:
        """Take in the candidates of these passages, last one first; True once a value settles it."""
        at = {place: covered for place in self._places if first and (covered := _covered(found, place))}
        first_place = min((covered[0] for covered in at.values()), default=len(found))
        for index in range(len(found) - 1, -1, -1):
            passage = found[index]
            stating = not passage.beside
            here = [place for place, covered in at.items() if index in covered]
            self._listing = self._listing + 1 if "point" in passage.kinds and stating else 0
            listed = 1 < self._listing <= _LONGEST_LIST
            near = self._passages < _LAST or (stating and self._statements < _STATEMENTS)
            new: list[Candidate] = []
            if here or listed or near or self._heads(passage):
                new = list(_of_passage(self._reading, passage, list(self._where(passage)), here, self._question))
                self._result[:0] = new
            self._passages += 1
            self._statements += stating
            settling = index <= first_place and "point" not in passage.kinds  # a list answers as a whole
            if settling and any(worth(candidate) >= ENOUGH for candidate in new):
                return True
        return False

    def _where(self, passage: Passage) -> Iterator[str]:
        """How far from the end a passage stands, among all and among those that are no checks or asides; its kinds."""
        for kind in passage.kinds:
            yield "concluded_before" if kind == "concludes" and self._statements else kind
        yield f"from_end{min(self._passages, 3)}"
        yield "beside" if passage.beside else f"stating{min(self._statements, 4)}"
        if self._heads(passage):
            yield "headline"
        yield from passage_features(self._reading, passage)

    def _heads(self, passage: Passage) -> bool:
        """True for a short first line that calculates nothing: it may state the answer before all else."""
        text = self._reading.text
        if passage.end > 2 * _SHORT or "point" in passage.kinds or "=" in text[passage.start : passage.end]:
            return False
        return not text[: passage.start].strip(_BLANK)


def _paragraph(text: str, place: int) -> int:
    """The last start of a paragraph before a place that nothing announces."""
    while (place := text.rfind("\n\n", 0, max(0, place))) > 0:
        if not text[max(0, place - 8) : place].rstrip(" *_").endswith(":"):
            return place
    return 0


def _of_passage(
    reading: Reading, passage: Passage, where: list[str], here: list[Place], question: str
) -> Iterator[Candidate]:
    begin = max([passage.start, *(place.begin for place in here if place.begin < passage.end)])
    values = values_of(reading.text, passage, question, begin if passage.in_words else passage.start)
    signs = signs_of(reading.text, passage)
    last = len(values) - 1
    for order, number in enumerate(values):
        features = [*where, *own_features(reading, number, passage, signs)]
        if last == 0:
            features.append("only")
        elif order in {0, last}:
            features.append("last" if order else "first")
        candidate = Candidate(number, passage, features)
        if passage.end - passage.start <= number.end - number.start + _ALONE:
            features.append("alone")
        for place in here:
            if place.begin <= number.start and number.end <= place.end + 1:
                _mark_place(candidate, place, first=order == 0 or values[order - 1].start < place.begin)
        yield candidate


def values_of(text: str, passage: Passage, question: str, begin: int) -> list[Number]:
    """The values of a passage from a place in it on; those in words where it has no digit."""
    if passage.in_words:
        return number_words(text, begin, passage.end, question)
    found = without_restatements(text, list(numbers(text, begin, passage.end)), question)
    again = {(left if right.percent else right).start for left, right in pairwise(found) if restated(text, left, right)}
    return [number for number in found if number.start not in again]


def _mark_place(candidate: Candidate, place: Place, *, first: bool) -> None:
    if candidate.place not in STRICT:
        candidate.place = place.kind
    candidate.features.append(place.kind)
    if place.kind in STRICT:
        return
    if first and candidate.number.start - place.begin <= _NEAR:
        candidate.features.append("marked_next")
    if "point" in candidate.passage.kinds:
        candidate.features.append("marked_point")


def _mark_order(found: list[Candidate], places: list[Place]) -> None:
    """Say of values in unmistakable places whether another such place comes later (a self-correction).

    Places in the points of one list correct nothing.
    """
    if not places:
        return
    last = max(places, key=lambda place: place.start)
    held = [candidate for candidate in found if last.begin <= candidate.number.start <= last.end]
    listed = next(
        (group for group in _lists(found) if held and held[0] in group and "point" in group[0].passage.kinds), []
    )
    for candidate in found:
        if candidate.place and candidate not in held and candidate not in listed:
            candidate.features.append("place_before_last")


def _mark_labels(reading: Reading, found: list[Candidate]) -> None:
    """Say which value of a list, or of a passage with several, has the label that fits the question best."""
    for members in _lists(found):
        points = "point" in members[0].passage.kinds
        group = [candidate for candidate in members if not (points and "operand" in candidate.features)] or members
        fits: list[int] = []
        previous = 0
        for candidate in group:
            fits.append(label_fit(reading, candidate.passage, candidate.number, previous))
            previous = candidate.number.end
        best = max(fits)
        chosen = [candidate for candidate, fit in zip(group, fits, strict=True) if fit == best]
        if best <= 0 or any(candidate.number.value != chosen[0].number.value for candidate in chosen):
            continue
        last = any("stating0" in candidate.features for candidate in group)
        listed = (points and last) or (len(group) > 2 and all("stated" in candidate.features for candidate in group))
        for candidate in chosen:
            # The question's words stand beside its givens, and beside what is named again, as well.
            if _NO_LABELS.isdisjoint(candidate.features):
                candidate.features.append("label_in_list" if listed else "label_asked")


def _lists(found: list[Candidate]) -> Iterator[list[Candidate]]:
    """The candidates of neighbouring points, or of one passage, where there are several."""
    group: list[Candidate] = []
    for candidate in found:
        last = group[-1].passage if group else None
        here = candidate.passage
        if last is not None and last is not here and not ("point" in last.kinds and "point" in here.kinds):
            if len(group) > 1:
                yield group
            group = []
        group.append(candidate)
    if len(group) > 1:
        yield group


def _covered(found: Sequence[Passage], place: Place) -> range:
    """The passages an announcement is about: the first within its reach, or all of them after a heading."""
    within = [index for index, p in enumerate(found) if p.end > place.begin and p.start < place.end]
    if not within:
        return range(0)
    return range(within[0], within[-1] + 1 if place.section else within[0] + 1)
