"""Registry entries of the local model: one for each part it plays. No server is started here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

from lic_pipeline.lake.files import write_text
from lic_pipeline.models.local.server import CONTEXT
from lic_pipeline.records import Json, Strategy

ASSISTANT = "local/tiny"
USER = "local/tiny-user"
SYSTEM = "local/tiny-system"
JUDGE = "local/tiny-judge"

NOT_SERVED = "http://127.0.0.1:9/v1"
"""Where nobody listens: for plans and finished runs, which call nothing."""

_HEAD = "# Written by `lic demo-llm` at each start: the port is the system's choice. Change nothing here.\n"


# Decoding is held to these forms, or so small a model would hardly ever keep to one. The system model plays two roles,
# each of which reads its own field; what is written into them is the model's own choice.
_USER_FORM: Json = {"response": {"type": "string", "maxLength": 160}, "shard_id": {"enum": [-1, 2, 3, 4, 5, 6, 7, 8]}}
_SYSTEM_FORM: Json = {
    "strategy": {"enum": sorted(str(label) for label in Strategy if label is not Strategy.MISSING)},
    "answer": {"type": ["string", "null"], "maxLength": 80},
}


def write_entries(path: Path, weights: Path, url: str, findings: int = 0) -> None:
    """The registry file of the demo's home: this model in all roles, served at ``url``. Raises StorageError.

    ``findings``: how many a judge is asked about at once, 0 = it varies.
    """
    judge_form = {"verdicts": _verdicts_form(findings)}
    listed = [
        _entry(ASSISTANT, weights, url, {"max_tokens": 160}),
        _entry(USER, weights, url, {"max_tokens": 96, "response_format": _format(_USER_FORM)}),
        _entry(SYSTEM, weights, url, {"max_tokens": 96, "response_format": _format(_SYSTEM_FORM)}),
        _entry(JUDGE, weights, url, {"max_tokens": 256, "response_format": _format(judge_form)}),
    ]
    write_text(path, _HEAD + yaml.safe_dump({"models": listed}, sort_keys=False))


def _verdicts_form(findings: int) -> Json:
    """One verdict for each finding, in order. A bullet it may name is the first: no summary is sure to have another."""
    numbers: list[Json] = [{"const": number} for number in range(1, findings + 1)]
    if not numbers:
        return {"type": "array", "items": _verdict_form({"type": "integer"}), "minItems": 1, "maxItems": 8}
    return {"type": "array", "prefixItems": [_verdict_form(number) for number in numbers]}


def _verdict_form(number: Json) -> Json:
    held = _object({"finding": number, "coverage": {"enum": ["full", "partial"]}, "bullet": {"const": 1}})
    absent = _object({"finding": number, "coverage": {"const": "none"}, "bullet": {"type": "null"}})
    return {"anyOf": [held, absent]}


def _format(properties: Json) -> Json:
    return {"type": "json_schema", "json_schema": {"name": "role", "schema": _object(properties)}}


def _object(properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _entry(alias: str, weights: Path, url: str, parameters: Mapping[str, Json]) -> dict[str, Json]:
    return {
        "alias": alias,
        "id": f"local/{weights.stem}",
        "base_url": url,
        "parameters": dict(parameters),
        "seed": "per_conversation",
        "context_window": CONTEXT,
        # One slot answers one call at a time; a second one waiting keeps it busy.
        "limits": {"concurrency": 2},
        "patience": {"attempt_s": 180.0, "total_s": 400.0, "attempts": 3},
        "price": {"prompt": 0, "completion": 0},
    }
