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


def _sum(name: str, first: int, second: int, *, shards: bool) -> dict[str, Any]:
    cut = ["How many pens are there?", f"{first} are red", f"{second} are blue"]
    text = f"A box holds {first} red pens and {second} blue ones. How many pens are there?"
    record = {"id": name, "task": "math", "instruction": text, "reference": {"answer": str(first + second)}}
    return {**record, "shards": cut} if shards else record


BOXES = [_sum(f"box/{number}", number + 2, 7, shards=number < 3) for number in range(5)]


def test_items_without_shards_are_held_in_full_and_compared_with_nothing(lic: Lic, tmp_path: Path) -> None:
    _import(lic, tmp_path, *BOXES)
    options = ("-m", "sim/steady", "-t", "math", "-n", "2", "-s", "FULL", "-s", "SHARDED", "-s", "RECAP", "--json")
    ran = lic("run", *options, code=1)
    assert "missing: 8 of 78 conversations: no_shards; FULL needs none" in ran.err
    assert "not used beyond FULL: math: 2 items: no_shards" in ran.err
    planned = lic("plan", *options).document["rows"]
    assert [(row["setting"], row["conversations"], row["done"], row["missing"]) for row in planned] == [
        ("FULL", 26, 26, {}), ("SHARDED", 26, 22, {"no_shards": 4}), ("RECAP", 26, 22, {"no_shards": 4}),
    ]  # fmt: skip
    (standing,) = lic("status", "--json").document["experiments"]
    assert [standing[name] for name in ("wanted", "done", "scored", "missing")] == [78, 70, 70, {"no_shards": 8}]
    cells = {row["setting"]: row for row in ran.document["reliability_by_task"]}
    sizes = {name: (cell["n_instructions"], cell["n_missing"], cell["reason"]) for name, cell in cells.items()}
    assert sizes == {"FULL": (13, 0, None), "SHARDED": (11, 0, None), "RECAP": (11, 0, None)}
    for row in ran.document["degradation_by_task"]:
        assert (row["n_common"], row["full_n_instructions"], row["reason"], row["differs"]) == (11, 13, None, None)
    assert {(row["setting"], row["reason"], row["n"]) for row in ran.document["missing"]} == {
        ("SHARDED", "no_shards", 4), ("RECAP", "no_shards", 4),
    }  # fmt: skip


def test_full_alone_is_all_done_without_any_shards(lic: Lic, tmp_path: Path) -> None:
    _import(lic, tmp_path, *BOXES[3:])
    ran = lic("run", "-m", "sim/steady", "-t", "math", "-n", "1", "-s", "FULL", "--json")
    (cell,) = ran.document["reliability_by_task"]
    assert (cell["n_instructions"], cell["n_missing"], "unsharded=2" in cell["signature"]) == (10, 0, True)
    again = lic("run", "-m", "sim/steady", "-t", "math", "-n", "1", "-s", "FULL")
    assert "0 calls made" in again.err
