"""Fields of raw rows with the checks every reader needs; each raises RecordError naming the field.

What a row must hold is said by the readers; here is only how one value is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from lic_pipeline.errors import RecordError
from lic_pipeline.records import Json

_Kind = TypeVar("_Kind")
_NAMES: dict[type, str] = {
    str: "a string",
    list: "a list",
    dict: "an object",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


def need_text(row: Mapping[str, Json], field: str, *, label: str = "") -> str:
    """A string with more than white space in it, as it stands. Raises RecordError."""
    value = _typed(row, field, str, label)
    if not value.strip():
        raise RecordError("is empty", field=label or field)
    return value


def any_text(row: Mapping[str, Json], field: str, *, label: str = "") -> str:
    """A string, or "" when absent or null. Raises RecordError for another type."""
    return "" if row.get(field) is None else _typed(row, field, str, label)


def need_list(row: Mapping[str, Json], field: str, *, label: str = "") -> list[Json]:
    """A list with at least one element. Raises RecordError."""
    value = _typed(row, field, list, label)
    if not value:
        raise RecordError("is empty", field=label or field)
    return value


def need_objects(row: Mapping[str, Json], field: str, *, label: str = "") -> list[dict[str, Json]]:
    """A list of at least one object. Raises RecordError naming the first element that is none."""
    values = need_list(row, field, label=label)
    for place, value in enumerate(values):
        if not isinstance(value, dict):
            raise RecordError(f"element {place} must be an object, is {kind_of(value)}", field=label or field)
    return values


def need_object(row: Mapping[str, Json], field: str, *, label: str = "") -> dict[str, Json]:
    """An object. Raises RecordError."""
    return _typed(row, field, dict, label)


def need_id(row: Mapping[str, Json], field: str) -> str:
    """A non-empty string or a whole number, as text without outer white space. Raises RecordError."""
    value = row.get(field)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    text = need_text(row, field).strip()
    if any(ord(letter) < 32 for letter in text):
        raise RecordError("holds a control character", field=field)
    return text


def kind_of(value: Json) -> str:
    """The JSON type of a value in words."""
    return _NAMES.get(type(value), type(value).__name__)


def _typed(row: Mapping[str, Json], field: str, kind: type[_Kind], label: str) -> _Kind:
    if field not in row:
        raise RecordError("is missing", field=label or field)
    value = row[field]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise RecordError(f"must be {_NAMES[kind]}, is {kind_of(value)}", field=label or field)
    return value
