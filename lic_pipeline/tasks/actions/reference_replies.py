"""Ready calls made from reference calls: right ones, and wrong ones that no rule forgives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lic_pipeline.records import Json
from lic_pipeline.tasks.actions.match_calls import Reference
from lic_pipeline.tasks.actions.python_calls import Call

_WRONG_TEXT = "qqwxz"


def gold_calls(references: Sequence[Reference]) -> list[Call]:
    """One call per reference, each parameter with its first accepted value; optional-only parameters are left out."""
    return [
        Call(name, {key: _first(values) for key, values in accepted.items() if _has_value(values)})
        for reference in references
        for name, accepted in reference.items()
    ]


def wrong_calls(right: Sequence[Call]) -> tuple[list[Call], list[Call]]:
    """Two wrong lists: one with a call too many, one with a parameter that no function has."""
    first = right[0]
    spoiled = Call(first.name, {**first.named, _WRONG_TEXT: _WRONG_TEXT})
    return [*right, Call(first.name, {_WRONG_TEXT: 1})], [spoiled, *right[1:]]


def _has_value(values: Sequence[Json]) -> bool:
    return any(value != "" for value in values)


def _first(values: Sequence[Json]) -> Json:
    return _concrete(next(value for value in values if value != ""))


def _concrete(value: Json) -> Json:
    """An accepted value as a value: dictionaries list accepted values for every key, plain ones stay."""
    if isinstance(value, Mapping):
        return {
            key: _first(inner) if isinstance(inner, list) else inner
            for key, inner in value.items()
            if not isinstance(inner, list) or _has_value(inner)
        }
    if isinstance(value, list):
        return [_concrete(item) for item in value]
    return value
