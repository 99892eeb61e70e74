"""The report says how each experiment was made, so that its numbers can be had again."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from lic_pipeline.config import Home
from lic_pipeline.metrics.json_document import compute
from lic_pipeline.metrics.score_lines import read_rows
from lic_pipeline.records import Setting
from lic_pipeline.report.experiments import made_by
from lic_pipeline.report.write import report_text
from lic_pipeline.simulation.plan.experiment import Experiment, get_experiment
from lic_pipeline.simulation.plan.stored_experiments import find_experiment, keep_experiment

MAIN = get_experiment("main")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def _kept(home: Home, experiment: Experiment) -> str:
    keep_experiment(home, experiment)
    return made_by(home, experiment.name).replace("\\", "")


@pytest.mark.parametrize(
    ("changes", "options"),
    [
        ({"runs": 2, "limit": 3}, "--runs 2 --limit 3"),
        ({"settings": (Setting.SHARDED, Setting.FULL)}, "--setting FULL --setting SHARDED"),
        ({"seed": 7, "temperature": 0.5}, "--seed 7 --temperature 0.5"),
        ({"simulator": "llm", "user_model": "a|b"}, "--simulator llm --user-model a|b"),
        ({"system_model": "c"}, "--system-model c"),
        ({"judge_model": "j"}, "--judge-model j"),
        ({"judge_model": "j", "judge_every_turn": True}, "--judge-model j --judge-every-turn"),
        ({"system_prompt": "Be brief.\n" * 9}, "--system-prompt (a text of 90 characters, hash "),
    ],
)
def test_an_ad_hoc_experiment_names_its_options(home: Home, changes: dict[str, object], options: str) -> None:
    assert f"Made by lic run --experiment main {options}" in _kept(home, MAIN.varied(**changes))


def test_the_options_make_the_same_experiment_again(home: Home) -> None:
    made = MAIN.varied(runs=2, limit=3, seed=9)
    words = shlex.split(_kept(home, made).removeprefix("Made by ").split(" (")[0])[4:]
    assert MAIN.varied(**{words[i].strip("-"): int(words[i + 1]) for i in range(0, len(words), 2)}) == made


def test_what_varies_an_ad_hoc_experiment_is_told_from_its_named_base(home: Home) -> None:
    first = get_experiment("demo").varied(runs=2)
    keep_experiment(home, first)
    assert "Made by lic run --experiment demo --runs 2 --limit 1" in _kept(home, first.varied(limit=1))


def test_an_experiment_made_in_two_ways_is_told_the_first_way(home: Home) -> None:
    twice = MAIN.varied(runs=2).varied(limit=1)
    first = _kept(home, MAIN.varied(runs=2, limit=1))
    assert twice.name in [path.stem for path in home.lake.glob("experiments/*.json")]
    assert _kept(home, twice) == first
    assert find_experiment(home, twice.name).description == "varies main"


def test_names_nothing_is_known_of_are_told_nothing(home: Home) -> None:
    assert made_by(home, "logs") == ""
    assert made_by(home, "main").startswith("Entry of experiments.yaml: FULL, CONCAT and SHARDED")
    orphan = MAIN.varied(runs=2).model_copy(update={"description": "varies adhoc-00000000"})
    assert _kept(home, orphan) == ""
    own = orphan.model_copy(update={"name": "adhoc-1", "description": "varies adhoc-1"})
    assert _kept(home, own) == ""


def test_the_line_stands_under_the_experiment(home: Home) -> None:
    made = MAIN.varied(runs=2)
    keep_experiment(home, made)
    row = {"model": "m", "task": "math", "setting": "FULL", "instruction_id": 1, "run": 0, "score": 100}
    with compute(read_rows([json.dumps(row).encode()])) as connection:
        for table in ("reliability_by_task", "reliability_by_model"):
            connection.execute(f"UPDATE {table} SET experiment = '{made.name}'")
        lines = report_text(connection, home).splitlines()
        assert "Made by" not in report_text(connection)
    place = lines.index(f"## Experiment {made.name}")
    assert lines[place + 2].startswith("Made by lic run --experiment main --runs 2 (and the models")
