"""The LiveCodeBench-format samples: their tests are right. Reference solutions live here only."""

from __future__ import annotations

import base64
import io
import json
import pickle
import re
import zlib
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any
from unittest import mock

import pytest
from sample_rows import (
    LIVECODEBENCH,
)


def count_quiet_stretches(noise: list[int], limit: int, span: int) -> int:
    starts = range(len(noise) - span + 1)
    return sum(1 for start in starts if max(noise[start : start + span]) < limit)


def rearrange(shelves: list[list[int]], k: int) -> list[list[int]]:
    changed = []
    for number, shelf in enumerate(shelves):
        cut = -k % len(shelf)
        changed.append(shelf[::-1] if number % 2 else shelf[cut:] + shelf[:cut])
    return changed


def average_wait(arrivals: list[int], service: int) -> float:
    free_at, waited = arrivals[0], 0
    for arrival in arrivals:
        waited += max(0, free_at - arrival)
        free_at = max(free_at, arrival) + service
    return waited / len(arrivals)


def ticket_queue() -> None:
    queue: list[str] = []
    for _ in range(int(input())):
        sign, _, name = input().partition(" ")
        if sign == "+":
            queue.append(name)
        elif sign == "!":
            queue.remove(name)
        else:
            print(queue.pop(0) if queue else ".")


def shady_grass() -> None:
    height, _ = map(int, input().split())
    plan = {(line, place): cell for line in range(height) for place, cell in enumerate(input())}
    steps = ((0, 1), (1, 0), (0, -1), (-1, 0))
    grass = [place for place, cell in plan.items() if cell == "g"]
    print(sum(1 for y, x in grass if sum(plan.get((y + dy, x + dx)) == "T" for dy, dx in steps) >= 2))


def coin_jar() -> None:
    coins, daily, every, out, goal = map(int, input().split())
    for evening in range(1, 1001):
        coins += daily
        coins -= min(coins, out) if evening % every == 0 else 0
        if coins >= goal:
            print(evening)
            return
    print(-1)


SOLUTIONS: dict[str, Callable[..., Any]] = {
    "lic_s1": count_quiet_stretches,
    "lic_s2": rearrange,
    "lic_s3": average_wait,
    "lic_s4": ticket_queue,
    "lic_s5": shady_grass,
    "lic_s6": coin_jar,
}


def private_tests(row: dict[str, Any]) -> list[dict[str, str]]:
    """Private tests, plain or packed; the pickle is our own."""
    text = row["private_test_cases"]
    if not text.startswith("["):
        text = pickle.loads(zlib.decompress(base64.b64decode(text)))
    return list(json.loads(text))


def run(solution: Callable[..., Any], test: dict[str, str]) -> Any:
    """What a solution makes of one test, in the form its output is given in."""
    if test["testtype"] == "functional":
        return solution(*map(json.loads, test["input"].split("\n")))
    printed, lines = io.StringIO(), iter(test["input"].splitlines())
    with redirect_stdout(printed), mock.patch("builtins.input", side_effect=lines):
        solution()
    return printed.getvalue()


@pytest.mark.parametrize("row", LIVECODEBENCH, ids=lambda row: row["question_id"])
def test_reference_solutions_pass_all_tests(row: dict[str, Any]) -> None:
    public, private = json.loads(row["public_test_cases"]), private_tests(row)
    kind = "functional" if json.loads(row["metadata"]).get("func_name") else "stdin"
    assert public
    assert len(private) >= 5
    for test in [*public, *private]:
        assert test["testtype"] == kind
        expected = json.loads(test["output"]) if kind == "functional" else test["output"]
        assert run(SOLUTIONS[row["question_id"]], test) == expected
    assert len({test["output"] for test in private}) >= 3, "a constant must not pass"


def test_livecodebench_covers_both_kinds_and_both_packings() -> None:
    kinds = [(bool(row["starter_code"]), row["private_test_cases"].startswith("[")) for row in LIVECODEBENCH]
    assert set(kinds) == {(True, True), (True, False), (False, True), (False, False)}
    for row in LIVECODEBENCH:
        assert bool(row["starter_code"]) == ("func_name" in json.loads(row["metadata"]))


@pytest.mark.parametrize(
    "row", [row for row in LIVECODEBENCH if not row["starter_code"]], ids=lambda r: r["question_id"]
)
def test_stdin_samples_in_the_text_are_the_public_tests(row: dict[str, Any]) -> None:
    shown = re.search(r"Sample Input\n\n(.*)\nSample Output\n\n(.*)", row["question_content"], re.DOTALL)
    assert shown
    (public,) = json.loads(row["public_test_cases"])
    assert (shown[1].strip(), shown[2].strip()) == (public["input"].strip(), public["output"].strip())


@pytest.mark.parametrize(
    "row", [row for row in LIVECODEBENCH if row["starter_code"]], ids=lambda row: row["question_id"]
)
def test_functional_examples_in_the_text_are_the_public_tests(row: dict[str, Any]) -> None:
    shown = re.search(r"Input: (.*)\nOutput: (.*)", row["question_content"])
    assert shown
    (public,) = json.loads(row["public_test_cases"])
    values = [json.loads(value) for value in re.split(r"(?:, )?\w+ = ", shown[1])[1:]]
    assert values == [json.loads(line) for line in public["input"].split("\n")]
    assert json.loads(shown[2]) == json.loads(public["output"])
