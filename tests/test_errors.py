"""One sentence for a record that does not fit, whoever is told of it: people, models, and files of our own making."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import BaseModel, Field, ValidationError, model_validator

from lic_pipeline.config import Home
from lic_pipeline.errors import ConfigError, LicError, first_problem, problems_told
from lic_pipeline.models.personas import load_personas
from lic_pipeline.simulation.plan.experiment import get_experiment
from lic_pipeline.simulation.plan.stored_experiments import find_experiment


class Inner(BaseModel):
    number: int


class Outer(BaseModel):
    inner: Inner | None = None
    listed: list[int] = Field(default=[])

    @model_validator(mode="after")
    def _short(self) -> Outer:
        if len(self.listed) > 1:
            raise ValueError("at most one is listed")
        return self


def refused(value: object) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(value)
    return caught.value


INTEGER = "Input should be a valid integer, unable to parse string as an integer"


@pytest.mark.parametrize(
    ("value", "whole", "first", "told"),
    [
        ({"inner": {}}, "", "inner.number: Field required", "inner.number: Field required"),
        ({"listed": ["a"]}, "the object", f"listed.0: {INTEGER}", f"listed.0: {INTEGER}"),
        ({"inner": {}, "listed": ["a", "b"]}, "", "inner.number: Field required",
         "inner.number: Field required (and 2 more)"),
        ({"listed": [1, 2]}, "", "at most one is listed", "at most one is listed"),
        ({"listed": [1, 2]}, "the object", "the object: at most one is listed", "at most one is listed"),
    ],
)  # fmt: skip
def test_a_problem_is_one_sentence_that_names_its_place(value: object, whole: str, first: str, told: str) -> None:
    error = refused(value)
    assert first_problem(error, whole) == first
    assert problems_told(error) == told


def personas(folder: Path, text: str) -> None:
    (folder / "personas.yaml").write_text(text)
    load_personas(folder / "personas.yaml")


def kept_experiment(folder: Path, text: str) -> None:
    path = folder / "lake" / "experiments" / "adhoc-1.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    find_experiment(Home(folder), "adhoc-1")


def varied(folder: Path, text: str) -> None:
    get_experiment("main").varied(temperature=float(text), runs=0)


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (personas, "personas:\n  odd: {colour: red}\n", r"persona odd: description: Field required \(and \d+ more\)$"),
        (personas, "personas:\n  odd:\n", "persona odd is no mapping of fields"),
        (kept_experiment, '{"name": "adhoc-1", "runs": 0}', r"is no experiment \(runs: Input should be greater"),
        (kept_experiment, "{", r"is no experiment \(no JSON document\)"),
        (varied, "7", r"experiment main: runs: Input should be .* \(and 1 more\)$"),
    ],
)
def test_readers_say_it_in_one_line(tmp_path: Path, read: Callable[[Path, str], None], text: str, message: str) -> None:
    with pytest.raises(LicError, match=message) as caught:
        read(tmp_path, text)
    assert "\n" not in str(caught.value)
    assert "pydantic" not in str(caught.value)


def test_a_setting_of_none_is_refused_in_our_own_words() -> None:
    with pytest.raises(ConfigError, match=r"^experiment main: settings: name at least one setting$"):
        get_experiment("main").varied(settings=())
