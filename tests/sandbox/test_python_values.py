"""Values through the Python sandbox: plain data goes in and comes back unchanged, anything else equals nothing."""

# ruff: noqa: E501 - a table reads best with one case a line

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.programs import call

from lic_pipeline.sandbox.python import plain
from lic_pipeline.sandbox.python.api import Opaque, Pool

VALUES = [
    None, True, 0, -5, 2**53, -(10**40), 1.5, -0.0, math.inf, -math.inf, "", "a\x00b", "\ud800", "ß€😀", b"\x00\xff",
    bytearray(b"x"), 3 + 4j, [], [1, [2, (3, [4])]], (), (1,), {1, 2}, frozenset({"a"}), {"a": 1, 2: (3,), None: []},
    range(3, 9, 2), Fraction(1, 3), Decimal("1.10"),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_plain_values_go_in_and_come_back_unchanged(value: Any, pool: Pool) -> None:
    outcome = call(pool, "def f(x): return x", value)
    assert outcome.ending == "ok"
    assert outcome.value == value
    assert type(outcome.value) is type(value)
    assert repr(outcome.value) == repr(value)


def test_nan_survives(pool: Pool) -> None:
    assert math.isnan(call(pool, "def f(): return float('nan')").value)


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner),
        max_leaves=20,
    )
)
def test_encoding_is_reversible(value: Any) -> None:
    sent = plain.dumps(plain.encode(value, lambda thing: (0, type(thing).__name__)))
    assert plain.decode(plain.loads(sent), lambda number, kind: Opaque(kind)) == value


@settings(max_examples=100, deadline=None)
@given(st.recursive(st.none() | st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=4)))
def test_decoding_any_json_gives_a_value_or_plain_error(data: Any) -> None:
    try:
        plain.decode(data, lambda number, kind: Opaque(kind))
    except plain.PlainError:
        assert isinstance(data, list)


SUBCLASSES = {
    "namedtuple": ("from collections import namedtuple\nP = namedtuple('P', 'a b')\ndef f(): return P(1, 2)", (1, 2)),
    "Counter": ("from collections import Counter\ndef f(): return Counter('aab')", {"a": 2, "b": 1}),
    "defaultdict": ("from collections import defaultdict\ndef f():\n d = defaultdict(int)\n d[1] += 2\n return d", {1: 2}),
    "IntEnum": ("import enum\nclass E(enum.IntEnum):\n A = 4\ndef f(): return E.A", 4),
    "numpy scalar": ("import numpy as np\ndef f(): return np.float64(1.5)", 1.5),
}  # fmt: skip


@pytest.mark.parametrize("name", SUBCLASSES)
def test_subclasses_come_back_as_their_plain_base(name: str, pool: Pool) -> None:
    source, expected = SUBCLASSES[name]
    outcome = call(pool, source)
    assert outcome.value == expected
    assert type(outcome.value) is type(expected)


@pytest.mark.parametrize("expression", ["object()", "lambda: 1", "(n for n in [1])", "map(str, [1])", "print", "type"])
def test_other_objects_equal_nothing(expression: str, pool: Pool) -> None:
    assert isinstance(call(pool, f"def f(): return {expression}").value, Opaque)
