"""Equality of two results: columns by content, look-alikes without permutations, numbers, ties."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lic_pipeline.tasks.database.compare_results import same_table

CELLS = st.one_of(
    st.none(), st.integers(-3, 3), st.sampled_from([0.5, 1.0, 2.5]), st.sampled_from(["", "a", "1"]), st.just(b"a")
)


@pytest.mark.parametrize(
    ("gold", "other", "same"),
    [
        ([(3,)], [(3.0,)], True),
        ([(0.1 + 0.2,)], [(0.3,)], True),
        ([(1.0,)], [(1.0 + 1e-8,)], False),
        ([(0.0,)], [(1e-300,)], False),
        ([(10**15,)], [(10**15 + 1,)], False),
        ([(10**15 + 0.25,)], [(10**15 + 0.5,)], True),
        ([(float("inf"),)], [(float("inf"),)], True),
        ([(float("inf"),)], [(1e308,)], False),
        ([(None,)], [("",)], False),
        ([("a",)], [(b"a",)], False),
        ([("1",)], [(1,)], False),
        ([(1, 2), (2, 1)], [(1, 1), (2, 2)], False),
        ([(1, 2), (2, 3)], [(2, 1), (3, 2)], True),
        ([(1, 2), (1, 2)], [(1, 2), (2, 1)], False),
        ([], [], True),
        ([(1,)], [], False),
        ([(1,), (1,), (2,)], [(1,), (2,), (2,)], False),
    ],
)
def test_small_tables(gold: list[tuple[object, ...]], other: list[tuple[object, ...]], same: bool) -> None:
    assert same_table(gold, other) is same  # type: ignore[arg-type]
    assert same_table(other, gold) is same  # type: ignore[arg-type]


def test_tied_rows_are_free_and_others_are_not() -> None:
    gold = [("a",), ("b",), ("c",)]
    assert same_table(gold, [("b",), ("a",), ("c",)], [0, 0, 1])
    assert not same_table(gold, [("b",), ("a",), ("c",)], [0, 1, 2])
    assert not same_table(gold, [("c",), ("a",), ("b",)], [0, 0, 1])


@pytest.mark.parametrize("columns", [14, 20, 40])
def test_many_look_alike_columns_are_matched_quickly(columns: int) -> None:
    """Every column holds the same values: a search by permutations would need 14! = 87 billion steps."""
    rng = random.Random(columns)
    base = [[(r + c) % columns for c in range(columns)] for r in range(columns)]
    for row in base:
        rng.shuffle(row)
    columns_of = list(zip(*base, strict=True))
    order = rng.sample(range(columns), columns)
    shuffled = [list(row) for row in zip(*(columns_of[i] for i in order), strict=True)]
    rng.shuffle(shuffled)
    started = time.monotonic()
    assert same_table(base, shuffled)
    shuffled[0][0], shuffled[0][1] = shuffled[0][1], shuffled[0][0]
    changed = sorted(map(tuple, shuffled)) != sorted(map(tuple, base))
    assert changed
    assert not same_table(base, shuffled)
    assert time.monotonic() - started < 3


@pytest.mark.parametrize("size", [14, 30])
def test_fully_symmetric_tables_need_no_search_by_permutations(size: int) -> None:
    """A permutation matrix: all columns and all rows look alike until one is fixed."""
    gold = [[int(r == c) for c in range(size)] for r in range(size)]
    other = [[int((r * 3 + 1) % size == c) for c in range(size)] for r in range(size)]
    full = len({tuple(row) for row in other}) == size
    started = time.monotonic()
    assert same_table(gold, other) is full
    ring = [[int(c in (r, (r + 1) % size)) for c in range(size)] for r in range(size)]
    half = size // 2
    two_rings = [[int(c in (r, r // half * half + (r + 1) % half)) for c in range(size)] for r in range(size)]
    assert same_table(ring, ring[::-1])
    assert not same_table(ring, two_rings), "one ring is not two rings, though every row and column looks alike"
    assert time.monotonic() - started < 5


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_shuffling_rows_and_columns_never_matters(data: st.DataObject) -> None:
    width = data.draw(st.integers(1, 5))
    rows = data.draw(st.lists(st.tuples(*[CELLS] * width), min_size=1, max_size=6))
    columns = data.draw(st.permutations(range(width)))
    shuffled = data.draw(st.permutations([tuple(row[c] for c in columns) for row in rows]))
    assert same_table(rows, shuffled)


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_agrees_with_the_definition_by_permutations(data: st.DataObject) -> None:
    from collections import Counter
    from itertools import permutations

    width = data.draw(st.integers(1, 4))
    cells = st.integers(0, 2)
    size = data.draw(st.integers(1, 4))
    table = st.lists(st.tuples(*[cells] * width), min_size=size, max_size=size)
    gold, other = data.draw(table), data.draw(table)
    groups = data.draw(st.one_of(st.none(), st.lists(st.integers(0, 2), min_size=size, max_size=size).map(sorted)))
    tags = groups or [0] * size
    truth = any(
        Counter(zip(tags, gold, strict=True))
        == Counter(zip(tags, [tuple(row[c] for c in p) for row in other], strict=True))
        for p in permutations(range(width))
    )
    assert same_table(gold, other, groups) is truth
