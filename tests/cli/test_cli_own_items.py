"""People's own items: without a reference solution, and without shards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.lic_command import Lic

UNSOLVED = {
    "id": "own/double",
    "task": "code",
    "instruction": "Write a function double(x) that returns twice its argument.",
    "shards": ["write a function double", "it takes one argument", "it returns twice that"],
    "reference": {
        "format": "humaneval",
        "entry_point": "double",
        "prompt": "def double(x):\n",
        "test": "def check(candidate):\n    assert candidate(2) == 4\n",
    },
}


def _import(lic: Lic, tmp_path: Path, *records: dict[str, Any]) -> str:
    path = tmp_path / "own.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return lic("import-shards", str(path)).err


def test_an_item_without_a_solution_is_named_with_what_a_real_model_does(lic: Lic, tmp_path: Path) -> None:
    said = "own/double has no reference solution: a persona has no right reply to give there, a real model is asked"
    assert said in _import(lic, tmp_path, UNSOLVED)
    assert said in lic("plan", "-m", "sim/lost", "-t", "code", "-s", "FULL").err
    options = ("-t", "code", "-s", "FULL", "-n", "1", "--json")
    found = lic("plan", "-m", "sim/lost", *options).document
    assert found["no_reference"] == {"code": ["own/double"]}
    assert found["rows"][0]["missing"]["no_reference"] == 1
    real = lic("plan", "-m", "gpt-4o-mini", "--simulator", "scripted", *options).document
    assert (real["no_reference"], "no_reference" in real["rows"][0]["missing"]) == ({}, False)
