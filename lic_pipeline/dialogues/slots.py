"""Reading a booking out of a reply: JSON anywhere in it, or ``Date: ...`` lines, or rows of a table.

Values are normalised elsewhere.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

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
_DEEPEST = 3
_MOST_BRACES = 20


def read_slots(text: str) -> dict[str, Json] | None:
    """The slots of the last complete booking in the text, else of the last incomplete one; None without any."""
    found = [slots for value in _objects(text) if (slots := _slots(value))]
    if not found:
        labelled = {name: value for raw, value in _LABELLED.findall(text) if (name := _slot_name(raw))}
        return labelled or None
    complete = [slots for slots in found if len(slots) == len(SLOTS)]
    return (complete or found)[-1]


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


def _objects(text: str) -> Iterator[Json]:
    """Every top-level ``{...}`` of the text as JSON, repaired when needed."""
    decoder = json.JSONDecoder()
    place = text.find("{")
    while place >= 0:
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            value, end = _repaired(text[place : place + 5000]), text.find("}", place) + 1 or len(text)
        yield value
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
