"""Signatures: order, escaping, what may differ."""

from __future__ import annotations

import pytest

from lic_pipeline.signatures import SETTING_FIELDS, build, differing, of_cell, parse


def test_order_is_fixed_and_none_is_left_out() -> None:
    assert (
        build({"seed": 1, "zz": 2, "task": "math", "user": None, "setting": "FULL"})
        == "task:math|setting:FULL|seed:1|zz:2"
    )


@pytest.mark.parametrize("value", ["a|b", "a:b", "100%", "%7C", "two\nlines", "ü", ""])
def test_any_value_comes_back(value: str) -> None:
    assert parse(build({"task": value, "odd:name": value})) == {"task": value, "odd:name": value}


@pytest.mark.parametrize("text", ["nothing", "a:1|", "a:1|a:2", ":1"])
def test_what_is_no_signature_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="signature"):
        parse(text)


def test_comparable_but_for_the_fields_under_study() -> None:
    full = build({"setting": "FULL", "policy": "robust", "t": 1})
    sharded = build({"setting": "SHARDED", "policy": "robust", "t": 1, "user": "scripted"})
    assert differing(full, sharded, SETTING_FIELDS) == []
    assert differing(full, sharded) == ["setting", "user"]
    assert differing(full, build({"setting": "SHARDED", "t": 0}), SETTING_FIELDS) == ["policy", "t"]
    assert differing("no signature", "no signature", SETTING_FIELDS) == []
    assert "signature" in differing("no signature", full, SETTING_FIELDS)


def test_cells_add_n_percentile_rule_and_approvals() -> None:
    assert of_cell("task:math", 10, "released=3") == "task:math|n:10|pct:linear|approval:released=3"
    assert of_cell("", 4) == "n:4|pct:linear"
