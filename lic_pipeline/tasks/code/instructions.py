"""Instructions of the code task: whether one can be used, and the one that a line of ``lic score`` describes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lic_pipeline.benchmarks.private_tests import decode_private_tests
from lic_pipeline.errors import RecordError
from lic_pipeline.records import Instruction, Json
from lic_pipeline.tasks.code.compare_output import arguments_of, expected_value
from lic_pipeline.tasks.code.program_syntax import defined_names, parse

FORMATS = ("humaneval", "functional", "stdin")


def check_instruction(instruction: Instruction) -> None:
    """Raise RecordError naming the field that is missing or garbled."""
    reference = instruction.reference
    form = reference.get("format")
    if form not in FORMATS:
        raise RecordError(f"must be one of {', '.join(FORMATS)}, is {form!r}", field="format")
    if form != "stdin":
        name = reference.get("entry_point")
        if not isinstance(name, str) or not name.isidentifier():
            raise RecordError(f"must be a function name, is {name!r}", field="entry_point")
    if form == "humaneval":
        _check_humaneval(reference)
    else:
        _check_tests(reference.get("tests"), functional=form == "functional")


def _check_humaneval(reference: Mapping[str, Json]) -> None:
    for key in ("prompt", "test"):
        if not isinstance(reference.get(key), str) or not reference[key].strip():
            raise RecordError("is missing", field=key)
    tree = parse(reference["test"])
    if tree is None:
        raise RecordError("is not Python", field="test")
    if "check" not in defined_names(tree.body):
        raise RecordError("does not define check(candidate)", field="test")


def _check_tests(tests: Any, *, functional: bool) -> None:
    if not isinstance(tests, list) or not tests:
        raise RecordError("must be a list of at least one test", field="tests")
    for test in tests:
        if not isinstance(test, Mapping) or not all(isinstance(test.get(key), str) for key in ("input", "output")):
            raise RecordError("each test needs the texts input and output", field="tests")
        if functional:
            arguments_of(test["input"])
            expected_value(test["output"])


def item_of_line(line: Mapping[str, Json]) -> Instruction:
    """The instruction of one ``lic score`` line. Raises RecordError naming the field."""
    reference = _humaneval(line) if "test" in line else _contest(line)
    prompt = reference.get("prompt", "")
    instruction = Instruction(
        instruction_id=str(line.get("id", "")), task="code", benchmark="", text=prompt, reference=reference
    )
    check_instruction(instruction)
    return instruction


def _humaneval(line: Mapping[str, Json]) -> dict[str, Json]:
    for key in ("entry_point", "prompt", "test"):
        if not isinstance(line.get(key), str):
            raise RecordError("is missing" if line.get(key) is None else "must be a string", field=key)
    keys = ("entry_point", "prompt", "test")
    return {"format": "humaneval", **{key: line[key] for key in keys}, "canonical_solution": ""}


def _contest(line: Mapping[str, Json]) -> dict[str, Json]:
    if line.get("public_test_cases") is None and line.get("private_test_cases") is None:
        raise RecordError("is missing (and so is public_test_cases)", field="test")
    tests = [test for key in ("public_test_cases", "private_test_cases") for test in _cases(line.get(key), key)]
    name = line.get("entry_point") or _metadata(line.get("metadata")).get("func_name") or None
    starter_code = line.get("starter_code") or ""
    if not isinstance(starter_code, str):
        raise RecordError("must be a string", field="starter_code")
    form = "stdin" if name is None else "functional"
    return {"format": form, "entry_point": name, "starter_code": starter_code, "tests": tests}


def _cases(value: Json, field: str) -> list[dict[str, Any]]:
    if value is None:
        return []
    try:
        return decode_private_tests(json.dumps(value) if isinstance(value, list) else value)
    except RecordError as error:
        raise RecordError(error.reason, field=field) from None


def _metadata(value: Json) -> Mapping[str, Json]:
    if value is None or value == "":
        return {}
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise RecordError("is not JSON", field="metadata") from None
    if not isinstance(value, Mapping):
        raise RecordError("must be an object", field="metadata")
    return value
