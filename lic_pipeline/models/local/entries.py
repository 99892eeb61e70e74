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


def write_entries(path: Path, weights: Path, url: str) -> None:
    """The registry file of the demo's home: this model in three roles, served at ``url``. Raises StorageError."""
    listed = [
        _entry(ASSISTANT, weights, url, {"max_tokens": 160}),
        _entry(USER, weights, url, {"max_tokens": 96, "response_format": _format(_USER_FORM)}),
        _entry(SYSTEM, weights, url, {"max_tokens": 96, "response_format": _format(_SYSTEM_FORM)}),
    ]
    write_text(path, _HEAD + yaml.safe_dump({"models": listed}, sort_keys=False))


def _format(properties: Json) -> Json:
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"type": "json_schema", "json_schema": {"name": "role", "schema": schema}}


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
