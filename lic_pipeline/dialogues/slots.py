"""Reading a booking out of a reply: JSON anywhere in it, ``Date: ...`` lines, rows of a table, or a sentence.

Values stay as written; their normal forms (``slot_values``) only decide whether two of them are the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lic_pipeline.dialogues.slot_phrases import phrases
from lic_pipeline.dialogues.slot_values import DateParts, normal_date, normal_people, normal_time
from lic_pipeline.records import Json

SLOTS = ("date", "time", "people")
_NAMES: dict[str, str] = {
    **dict.fromkeys(("date", "day", "bookingdate", "reservationdate"), "date"),
    **dict.fromkeys(("time", "hour", "bookingtime", "reservationtime", "starttime"), "time"),
    **dict.fromkeys(
        (
            "people", "numberofpeople", "numpeople", "peoplecount", "partysize", "party", "guests", "numberofguests",
            "numguests", "persons", "size", "peoplenumber", "headcount", "diners",
        ),
        "people",
    ),
}  # fmt: skip
_LABELLED = re.compile(
    r"^[ \t>*•+_|-]*([A-Za-z][A-Za-z _]{1,30}?)[ \t*_]*[:=|][ \t*_|]*([^|\n]+?)[ \t*_,;|]*$", re.MULTILINE
)
_CORRECTION = re.compile(
    r"\b(?:no|actually|correct(?:ed|ion)?|instead|wait|sorry|rather|updated?|revised?|final(?:ly|ised|ized)?|mistake"
    r"|should have been)\b",
    re.IGNORECASE,
)
_DEEPEST = 3
_MOST_BRACES = 20


@dataclass(frozen=True, slots=True)
class Several:
    """Different values given for one slot, none of them taken back."""

    values: tuple[Json, ...]


def read_slots(text: str) -> dict[str, Json | Several] | None:
    """The slots of the last complete booking in the text, else of the last incomplete one; None without any."""
    found = [(slots, start) for value, start in _objects(text) if (slots := _slots(value))]
    if found:
        complete = [one for one in found if len(one[0]) == len(SLOTS)]
        return _settled(text, complete or found)
    labelled: dict[str, Json | Several] = {
        name: value for raw, value in _LABELLED.findall(text) if (name := _slot_name(raw))
    }
    told = {slot: _single(slot, values) for slot, values in phrases(text).items() if values}
    readable = {slot: value for slot, value in labelled.items() if normal_form(slot, value) is not None}
    return {**labelled, **told, **readable} or None


def normal_form(slot: str, value: Json) -> DateParts | int | None:
    """The normal form of a slot's value, None when it has none."""
    if slot == "date":
        return normal_date(value)
    return normal_time(value) if slot == "time" else normal_people(value)


def _settled(text: str, bookings: list[tuple[dict[str, Json], int]]) -> dict[str, Json | Several]:
    """The last booking; what an earlier one says otherwise stands beside it, unless a correction lies between."""
    slots, last = bookings[-1]
    settled: dict[str, Json | Several] = dict(slots)
    for earlier, start in bookings[:-1]:
        if _CORRECTION.search(text, start, last):
            continue
        for slot in slots.keys() & earlier.keys():
            values = [earlier[slot], slots[slot]]
            if None not in (normal_form(slot, value) for value in values):
                settled[slot] = _single(slot, values)
    return settled


def _single(slot: str, values: Sequence[Json]) -> Json | Several:
    """The one value that all of these mean, the fullest spelling of it; Several when they differ."""
    normal = [normal_form(slot, value) for value in values]
    if slot == "date":
        days = {one[1:] if isinstance(one, tuple) else None for one in normal}
        years = {one[0] for one in normal if isinstance(one, tuple)} - {None}
        same = len(days) == 1 and len(years) <= 1
        full = next((place for place, one in enumerate(normal) if isinstance(one, tuple) and one[0]), -1)
        return values[full] if same or len(set(values)) == 1 else Several(tuple(values))
    same = len(set(normal)) == 1 and (None not in normal or len({str(value) for value in values}) == 1)
    return values[-1] if same else Several(tuple(values))


def _slot_name(raw: str) -> str | None:
    return _NAMES.get(re.sub(r"[\W_]+", "", raw).casefold())


def _slots(value: Json, depth: int = 0) -> dict[str, Json]:
    if not isinstance(value, Mapping):
        return {}
    own = {name: inner for key, inner in value.items() if (name := _slot_name(str(key)))}
    if own or depth >= _DEEPEST:
        return {name: inner for name, inner in own.items() if inner is not None}
    for inner in value.values():
        if nested := _slots(inner, depth + 1):
            return nested
    return {}


def _objects(text: str) -> Iterator[tuple[Json, int]]:
    """Every top-level ``{...}`` of the text as JSON, repaired when needed, and where it starts."""
    decoder = json.JSONDecoder()
    place = text.find("{")
    while place >= 0:
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            value, end = _repaired(text[place : place + 5000]), text.find("}", place) + 1 or len(text)
        yield value, place
        place = text.find("{", end)


def _repaired(text: str) -> Json:
    from json_repair import loads

    candidate = text[: text.find("}") + 1 or len(text)]
    if candidate.count("{") > _MOST_BRACES:
        return None
    try:
        return loads(candidate)
    except (ValueError, RecursionError):
        return None
