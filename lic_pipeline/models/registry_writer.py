"""New entries in the user's own registry file; comments and order of what stands there are kept."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from pathlib import Path

import yaml
from pydantic import ValidationError

from lic_pipeline.errors import ConfigError, problems_told
from lic_pipeline.lake.files import write_text
from lic_pipeline.lake.locks import locked
from lic_pipeline.models.registry import ModelEntry, load_models, registry, user_registry
from lic_pipeline.records import Json

_HEAD = (
    "# Models of this installation (fields: docs/models.md). Keys do not belong here: name their variable.\nmodels:\n"
)


def add_entry(fields: Mapping[str, Json]) -> tuple[ModelEntry, Path]:
    """Validate an entry and append it durably. Raises ConfigError: bad field, alias in use, file not extendable."""
    try:
        entry = ModelEntry.model_validate({"alias": fields.get("id"), **fields})
    except ValidationError as error:
        raise ConfigError(problems_told(error)) from error
    if entry.is_persona:
        raise ConfigError("sim/... names the calibration personas; they live in data/personas.yaml")
    path = user_registry()
    _with_entry(path, fields, entry)  # what is refused leaves no lock behind
    with locked(path, "adding models to"):
        write_text(path, _with_entry(path, fields, entry))
    return entry, path


def _with_entry(path: Path, fields: Mapping[str, Json], entry: ModelEntry) -> str:
    """The file as it would be. Raises ConfigError where it cannot be extended."""
    if entry.alias in registry():
        raise ConfigError(f"alias {entry.alias!r} is already in use; choose another with --alias")
    text = _extended(path, fields)
    _require_readable(path, text, entry)
    return text


def _extended(path: Path, fields: Mapping[str, Json]) -> str:
    item = yaml.safe_dump([dict(fields)], sort_keys=False, allow_unicode=True, default_flow_style=None)
    indented = "".join(f"  {line}\n" for line in item.splitlines())
    if not path.is_file() or not path.read_text(encoding="utf-8").strip():
        return _HEAD + indented
    text = path.read_text(encoding="utf-8")
    return text + ("" if text.endswith("\n") else "\n") + indented


def _require_readable(path: Path, text: str, entry: ModelEntry) -> None:
    """The file as it would be must hold the entry: a list in another style cannot be appended to."""
    probe = path.with_name(f".{path.name}.{uuid.uuid4().hex}.probe")
    try:
        probe.parent.mkdir(parents=True, exist_ok=True)
        probe.write_text(text, encoding="utf-8")
        kept = load_models(probe).get(entry.alias)
    except (OSError, ConfigError) as error:
        raise ConfigError(f"{path} cannot be extended; add the entry by hand ({error})") from error
    finally:
        probe.unlink(missing_ok=True)
    if kept != entry:
        raise ConfigError(f"{path} cannot be extended; its list of models must be its last part")
