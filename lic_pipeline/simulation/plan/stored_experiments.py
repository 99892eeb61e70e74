"""Ad-hoc experiments of this home, kept under their own names so that every stage and the UI can find them."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from lic_pipeline.config import Home
from lic_pipeline.errors import LicError, StorageError, UnknownNameError, problems_told
from lic_pipeline.lake.files import safe_part, write_json
from lic_pipeline.simulation.plan.experiment import VARIES, Experiment, named_experiments


def keep_experiment(home: Home, experiment: Experiment) -> None:
    """Store an ad-hoc experiment; a named one needs no place here. One that is kept stays as it was first made."""
    if experiment.name in named_experiments():
        return
    try:
        kept = find_experiment(home, experiment.name)
    except LicError:
        kept = None
    if kept is None or kept.model_copy(update={"description": experiment.description}) != experiment:
        write_json(_path(home, experiment.name), experiment.model_dump(mode="json"))


def find_experiment(home: Home, name: str) -> Experiment:
    """A named or kept experiment. Raises UnknownNameError listing both kinds."""
    named = named_experiments()
    if name in named:
        return named[name]
    path = _path(home, name)
    if not path.is_file():
        raise UnknownNameError("experiment", name, [*named, *(kept.stem for kept in path.parent.glob("*.json"))])
    try:
        return Experiment.model_validate(json.loads(path.read_text(encoding="utf-8")))
    except ValueError as error:
        why = problems_told(error) if isinstance(error, ValidationError) else "no JSON document"
        raise StorageError(f"{path} is no experiment ({why}); remove it and run the command again") from error


def base_of(home: Home, experiment: Experiment) -> Experiment:
    """The named experiment an ad-hoc one varies, over however many steps. Raises LicError where one of them is gone."""
    seen = {experiment.name}
    while experiment.name not in named_experiments():
        experiment = find_experiment(home, experiment.description.removeprefix(VARIES))
        if experiment.name in seen:
            raise StorageError(f"experiment {experiment.name} varies itself")
        seen.add(experiment.name)
    return experiment


def _path(home: Home, name: str) -> Path:
    return home.lake / "experiments" / f"{safe_part(name)}.json"
