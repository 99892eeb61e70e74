"""LiveCodeBench: contest problems with tests, ``*.jsonl`` -> code instructions ``livecodebench/<question_id>``.

Private tests arrive packed; ``private_tests`` unpacks them without unpickling anything but a string.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from lic_pipeline.benchmarks.fields import any_text, kind_of, need_id, need_text
from lic_pipeline.benchmarks.jsontext import parse_json
from lic_pipeline.benchmarks.private_tests import decode_private_tests
from lic_pipeline.benchmarks.rawfiles import Collector, Reading
from lic_pipeline.errors import RecordError
from lic_pipeline.prompts import render
from lic_pipeline.records import Instruction, Json

GLOBS = ("*.jsonl", "*.jsonl.gz")


def read(folder: Path) -> Reading:
    """All problems of all files below ``folder``."""
    collector = Collector(folder)
    for path in collector.find(*GLOBS):
        for row in collector.rows(path):
            collector.add(row, lambda row: build(row.value, f"livecodebench/{need_id(row.value, 'question_id')}"))
    return collector.reading()


def build(value: Mapping[str, Json], instruction_id: str) -> Instruction:
    """The instruction of one row (also of a released record). Raises RecordError naming the field."""
    content, starter_code = need_text(value, "question_content").strip(), any_text(value, "starter_code")
    tests = _tests(value)
    functional = tests[0]["testtype"] == "functional"
    entry_point = _entry_point(value, starter_code) if functional else None
    return Instruction(
        instruction_id=instruction_id,
        task="code",
        benchmark="livecodebench",
        text=_text(content, starter_code, entry_point),
        context={"starter_code": starter_code},
        reference={
            "format": "functional" if functional else "stdin",
            "entry_point": entry_point,
            "starter_code": starter_code,
            "tests": tests,
        },
        metadata={key: value[key] for key in ("question_title", "platform", "difficulty", "source") if value.get(key)},
    )


def _text(content: str, starter_code: str, entry_point: str | None) -> str:
    if entry_point is None:
        return render("benchmarks/livecodebench_stdin", content=content)
    if starter_code.strip():
        return render("benchmarks/livecodebench_functional", content=content, starter_code=starter_code.rstrip())
    return render("benchmarks/livecodebench_function_name", content=content, function=entry_point)


def _tests(value: Mapping[str, Json]) -> list[Json]:
    tests = _listed(value, "public_test_cases") + _listed(value, "private_test_cases")
    if not tests:
        raise RecordError("no test at all, neither public nor private", field="public_test_cases")
    kinds = {test["testtype"] for test in tests}
    if len(kinds) > 1:
        raise RecordError("functional and stdin tests are mixed", field="public_test_cases")
    return tests


def _listed(value: Mapping[str, Json], field: str) -> list[Json]:
    tests = value.get(field)
    if tests is None or (isinstance(tests, str) and not tests.strip()):
        return []
    if isinstance(tests, str):
        try:
            packed = field == "private_test_cases" and not tests.lstrip().startswith("[")
            tests = decode_private_tests(tests) if packed else parse_json(tests)
        except RecordError as error:
            raise RecordError(error.reason, field=field) from error
    if not isinstance(tests, list):
        raise RecordError(f"must be a list of tests, is {kind_of(tests)}", field=field)
    return [_test(test, f"{field}[{place}]") for place, test in enumerate(tests)]


def _test(test: Json, place: str) -> dict[str, Json]:
    if not isinstance(test, Mapping):
        raise RecordError(f"must be an object, is {kind_of(test)}", field=place)
    for field in ("input", "output", "testtype"):
        if not isinstance(test.get(field), str):
            raise RecordError("must be a string", field=f"{place}.{field}")
    if test["testtype"] not in ("functional", "stdin"):
        raise RecordError(f"{test['testtype']!r} is neither functional nor stdin", field=f"{place}.testtype")
    return {field: test[field] for field in ("input", "output", "testtype")}


def _entry_point(value: Mapping[str, Json], starter_code: str) -> str:
    metadata = value.get("metadata") or {}
    if isinstance(metadata, str):
        try:
            metadata = parse_json(metadata)
        except RecordError as error:
            raise RecordError(error.reason, field="metadata") from error
    if not isinstance(metadata, Mapping):
        raise RecordError(f"must be an object, is {kind_of(metadata)}", field="metadata")
    name = metadata.get("func_name")
    if name is None:
        defined = re.findall(r"^\s*def\s+(\w+)", starter_code, re.MULTILINE)
        name = defined[0] if len(defined) == 1 else None
    if not isinstance(name, str) or not name.isidentifier():
        raise RecordError("names no function, and the starter code does not define exactly one", field="metadata")
    return name
