"""Are a function list and its reference calls usable? Clear errors for users' own files; nothing is scored here."""

from __future__ import annotations

from lic_pipeline.errors import RecordError
from lic_pipeline.records import Json


def check_functions(functions: Json, field: str) -> None:
    """Raise RecordError unless ``functions`` is a non-empty list of named functions with parameter schemas."""
    if not isinstance(functions, list) or not functions:
        raise RecordError("must be a non-empty list of functions", field=field)
    for place, function in enumerate(functions):
        if not isinstance(function, dict) or not isinstance(function.get("name"), str) or not function["name"]:
            raise RecordError("has no name", field=f"{field}[{place}]")
        parameters = function.get("parameters")
        if parameters is not None and not isinstance(parameters, dict):
            raise RecordError("must be an object", field=f"{field}[{place}].parameters")
        properties = (parameters or {}).get("properties")
        if properties is not None and not (
            isinstance(properties, dict) and all(isinstance(inner, dict) for inner in properties.values())
        ):
            raise RecordError(
                "must describe each parameter by an object", field=f"{field}[{place}].parameters.properties"
            )
        required = (parameters or {}).get("required")
        if required is not None and not isinstance(required, list):
            raise RecordError("must be a list of names", field=f"{field}[{place}].parameters.required")


def check_calls(calls: Json, field: str) -> None:
    """Raise RecordError unless ``calls`` is a non-empty list of ``{function: {parameter: [accepted values]}}``."""
    if not isinstance(calls, list) or not calls:
        raise RecordError("must be a non-empty list of calls", field=field)
    for place, call in enumerate(calls):
        if not isinstance(call, dict) or len(call) != 1:
            raise RecordError("must be an object with exactly one function", field=f"{field}[{place}]")
        ((name, accepted),) = call.items()
        if not isinstance(accepted, dict):
            raise RecordError("must map parameters to accepted values", field=f"{field}[{place}].{name}")
        for parameter, values in accepted.items():
            if not isinstance(values, list) or not values:
                raise RecordError("must be a non-empty list", field=f"{field}[{place}].{name}.{parameter}")
