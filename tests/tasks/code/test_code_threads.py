"""Parsing from many threads at once, which CPython 3.11 does not survive by itself."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor

import pytest

from lic_pipeline.tasks.python_tree import parse_expression, parse_python

SOURCE = "\n".join(f"def f{n}(x):\n    return [x + {n}, (x, {{x: [{n}, (x, x)]}})]" for n in range(60))


def test_threads_do_not_disturb_each_other() -> None:
    before = gc.get_threshold()
    gc.set_threshold(50)
    try:
        with ThreadPoolExecutor(6) as executor:
            trees = list(executor.map(parse_python, [SOURCE] * 60))
    finally:
        gc.set_threshold(*before)
    assert {len(tree.body) for tree in trees} == {60}


def test_an_expression_is_parsed_as_one() -> None:
    assert type(parse_expression("f(1)").body).__name__ == "Call"
    with pytest.raises(SyntaxError):
        parse_expression("x = 1")
