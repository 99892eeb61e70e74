"""Do these calls match the reference calls? BFCL's rules for names, parameters and values, and the assignment.

A reference call is ``{function: {parameter: [accepted values]}}``; ``""`` among the accepted values means that the
parameter may be left out. Types: an integer may stand for a float, a truth value is no integer, a tuple is a list,
strings are compared in lower case without spaces and the marks ``,./-_*^``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lic_pipeline.records import Json
from lic_pipeline.tasks.actions.python_calls import Call

Reference = Mapping[str, Mapping[str, Sequence[Json]]]
Functions = Mapping[str, Mapping[str, Json]]

# Namespaces that providers and chat templates put declared functions under.
_NAMESPACE = re.compile(r"(?:functions|default_api)[.:_]")
_IGNORED = re.compile(r"[ ,./\-_*^]")


def plain_name(name: str) -> str:
    """A function name with dots as underscores, as providers that forbid dots spell it."""
    return name.replace(".", "_")


def declared_name(name: str, known: Functions) -> str | None:
    """A called name as the function is declared, without a provider's namespace where only so it is; else None."""
    if plain_name(name) in known:
        return name
    namespace = _NAMESPACE.match(name)
    inner = name[namespace.end() :] if namespace is not None else ""
    return inner if plain_name(inner) in known else None


def parameters_of(name: str, known: Functions) -> Mapping[str, Json]:
    """The declared parameters of a function by name, none for one that is not declared."""
    properties = known.get(plain_name(declared_name(name, known) or name), {}).get("properties")
    return properties if isinstance(properties, Mapping) else {}


def schemas(functions: Sequence[Mapping[str, Json]]) -> dict[str, Mapping[str, Json]]:
    """The parameter schemas by plain function name."""
    return {plain_name(str(function["name"])): function.get("parameters") or {} for function in functions}


def mismatch(call: Call, reference: Reference, known: Functions, *, positional: bool = True) -> str | None:
    """Why a call does not match a reference call, None when it does. ``positional=False`` drops unnamed values."""
    ((name, accepted),) = reference.items()
    if plain_name(call.name) != plain_name(name):
        return f"function {call.name} in place of {name}"
    schema = known.get(plain_name(name), {})
    properties: Mapping[str, Json] = schema.get("properties") or {}
    given = dict(call.named)
    if positional and call.positional:
        order = list(properties) or list(accepted)
        if len(call.positional) > len(order) or set(order[: len(call.positional)]) & set(given):
            return "positional arguments do not fit the parameters"
        given.update(zip(order, call.positional, strict=False))
    for parameter in schema.get("required") or []:
        if parameter not in given:
            return f"required parameter {parameter} is missing"
    return _wrong_value(given, accepted, properties)


def _wrong_value(
    given: Mapping[str, Json], accepted: Mapping[str, Sequence[Json]], properties: Mapping[str, Json]
) -> str | None:
    for parameter, value in given.items():
        if parameter not in accepted or (properties and parameter not in properties):
            return f"unknown parameter {parameter}"
        if not any(_equal(value, one, properties.get(parameter) or {}) for one in accepted[parameter]):
            return f"value of {parameter}"
    for parameter, values in accepted.items():
        if parameter not in given and "" not in values:
            return f"parameter {parameter} is missing"
    return None


def _equal(value: Json, accepted: Json, schema: Mapping[str, Json]) -> bool:
    """One value against one accepted value, by the type rules; ``schema`` is the parameter's description."""
    if isinstance(accepted, dict):
        return isinstance(value, dict) and _equal_dict(value, accepted, schema.get("properties") or {})
    if isinstance(accepted, list):
        item = schema.get("items")
        inner = item if isinstance(item, dict) else {}
        return (
            isinstance(value, list)
            and len(value) == len(accepted)
            and all(_equal(a, b, inner) for a, b in zip(value, accepted, strict=True))
        )
    if isinstance(accepted, str):
        return isinstance(value, str) and standard_string(value) == standard_string(accepted)
    if isinstance(accepted, bool) or accepted is None or isinstance(value, bool):
        return bool(value is accepted)
    return isinstance(value, int | float) and _equal_number(value, accepted, schema.get("type"))


def _equal_number(value: Json, accepted: Json, expected: Json) -> bool:
    if isinstance(value, float) and expected == "integer" and not isinstance(accepted, float):
        return False
    return bool(value == accepted)


def _equal_dict(value: Mapping[str, Json], accepted: Mapping[str, Json], properties: Mapping[str, Json]) -> bool:
    """Dictionaries hold a list of accepted values for every key."""
    for key, inner in value.items():
        if key not in accepted:
            return False
        options = accepted[key] if isinstance(accepted[key], list) else [accepted[key]]
        if not any(_equal(inner, one, properties.get(key) or {}) for one in options):
            return False
    return all(key in value or (isinstance(options, list) and "" in options) for key, options in accepted.items())


def standard_string(text: str) -> str:
    """A string as BFCL compares it: lower case, one kind of quote, without spaces and ``,./-_*^``."""
    return _IGNORED.sub("", text).lower().replace("'", '"')


def assign(calls: Sequence[Call], references: Sequence[Reference], known: Functions) -> list[int | None]:
    """For every reference call the index of its own matching call, by a maximum bipartite matching (Kuhn)."""
    fits = [[i for i, call in enumerate(calls) if mismatch(call, reference, known) is None] for reference in references]
    owner: dict[int, int] = {}

    def place(reference: int, tried: set[int]) -> bool:
        for call in fits[reference]:
            if call in tried:
                continue
            tried.add(call)
            if call not in owner or place(owner[call], tried):
                owner[call] = reference
                return True
        return False

    for reference in range(len(references)):
        place(reference, set())
    found = {reference: call for call, reference in owner.items()}
    return [found.get(reference) for reference in range(len(references))]


def assign_greedily(calls: Sequence[Call], references: Sequence[Reference], known: Functions) -> list[int | None]:
    """The published assignment: each reference call takes the first free call that matches; unnamed values dropped."""
    taken: set[int] = set()
    result: list[int | None] = []
    for reference in references:
        hit = next(
            (
                i
                for i, call in enumerate(calls)
                if i not in taken and mismatch(call, reference, known, positional=False) is None
            ),
            None,
        )
        if hit is not None:
            taken.add(hit)
        result.append(hit)
    return result
