"""When an output equals an expected one (LiveCodeBench). HumanEval's own tests compare for themselves."""

from __future__ import annotations

import json
import math
from typing import Any

from lic_pipeline.errors import RecordError

TOLERANCE = 1e-9
_MAX_DEPTH = 400


def arguments_of(text: str) -> tuple[Any, ...]:
    """The arguments of a functional test: one JSON value a line. Raises RecordError."""
    try:
        return tuple(json.loads(line) for line in text.split("\n") if line.strip())
    except (ValueError, RecursionError) as error:
        raise RecordError(f"an argument is not JSON: {error}", field="tests") from None


def expected_value(text: str) -> Any:
    """The expected result of a functional test. Raises RecordError."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"an expected output is not JSON: {error}", field="tests") from None


def same_value(found: Any, expected: Any, depth: int = 0) -> bool:
    """``==``, but lists and tuples are alike at any depth, and floats may differ by 1e-9 (relative or absolute)."""
    if depth > _MAX_DEPTH:
        return False
    if isinstance(expected, list | tuple):
        if not isinstance(found, list | tuple) or len(found) != len(expected):
            return False
        return all(same_value(a, b, depth + 1) for a, b in zip(found, expected, strict=True))
    if isinstance(expected, dict):
        if not isinstance(found, dict) or len(found) != len(expected):
            return False
        return all(key in found and same_value(found[key], expected[key], depth + 1) for key in expected)
    if isinstance(expected, float) or isinstance(found, float):
        return _close(found, expected)
    return bool(found == expected)


def _close(found: Any, expected: Any) -> bool:
    if not isinstance(found, int | float) or not isinstance(expected, int | float):
        return False
    try:
        return found == expected or math.isclose(found, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    except OverflowError:
        return False


def same_output(found: str, expected: str) -> bool:
    """Line by line without surrounding space; words are equal, or both numbers within 1e-9 where one has a point."""
    found_lines, expected_lines = _lines(found), _lines(expected)
    if len(found_lines) != len(expected_lines):
        return False
    return all(a == b or _same_words(a.split(), b.split()) for a, b in zip(found_lines, expected_lines, strict=True))


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


def _same_words(found: list[str], expected: list[str]) -> bool:
    return len(found) == len(expected) and all(_same_word(a, b) for a, b in zip(found, expected, strict=True))


def _same_word(found: str, expected: str) -> bool:
    if found == expected:
        return True
    if not any(mark in word for word in (found, expected) for mark in ".eE") or len(found) > 400:
        return False
    try:
        return _close(float(found), float(expected))
    except ValueError:
        return False
