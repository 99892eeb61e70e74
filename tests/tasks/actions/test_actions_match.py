"""BFCL's rules for values, and the assignment of calls to reference calls: one line per rule, and why."""

from __future__ import annotations

import pytest
from support.actions_items import ROUTE, TWO_LAMPS, item

from lic_pipeline.records import Json
from lic_pipeline.tasks.actions import TASK

VALUES = [
    ("lamp.set(room='hall', level=3, warmth=2.5, fade=True)", True, "optional values given"),
    ("lamp.set('hall', 3)", True, "positional, by the order of the schema"),
    ("lamp.set('hall', level=3)", True, "positional and named"),
    ("lamp.set('hall', room='hall', level=3)", False, "a parameter given twice"),
    ("lamp.set('hall', 3, 2.5, True, 1)", False, "too many positional values"),
    ("lamp.set(room='HALL. ', level=3)", True, "case, space and stop do not count"),
    ("lamp.set(room='halls', level=3)", False, "another word"),
    ("lamp.set(room='hall', level=1 + 2)", True, "sum of literals"),
    ("lamp.set(room='hall', level=+3)", True, "plus sign"),
    ("lamp.set(room='hall', level=-3)", False, "minus sign counts"),
    ("lamp.set(room='hall', level=6 / 2)", False, "a quotient is a float"),
    ("lamp.set(room='hall', level=3.0)", False, "no float for an integer"),
    ("lamp.set(room='hall', level='3')", False, "no text for an integer"),
    ("lamp.set(room='hall', level=3, warmth=5 / 2)", True, "quotient for a float"),
    ("lamp.set(room='hall', level=3, fade=1)", False, "a number is no truth value"),
    ("lamp.set(room='hall', level=True)", False, "a truth value is no integer"),
    ("lamp.set(room='hall')", False, "required parameter missing"),
    ("lamp.set(room='hall', level=3, colour='red')", False, "unknown parameter"),
    ("lamp.get(room='hall', level=3)", False, "another function"),
    ("lamp.set(room='hall', level=3, warmth=None)", False, "None is not accepted here"),
    ("lamp.set(**{'room': 'hall', 'level': 3})", True, "unpacked literal dictionary"),
    ("lamp.set(room='hall', level=3, warmth=1/0)", None, "no result of a division by zero"),
]


@pytest.mark.parametrize(("call", "right", "why"), VALUES)
def test_values_follow_the_type_rules(call: str, right: bool | None, why: str) -> None:
    verdict = TASK.score(f"[{call}]", item(TWO_LAMPS[:1]))
    assert verdict.verdict == {True: "correct", False: "wrong", None: "parse_error"}[right], why


NESTED = [
    ("route(stops=['Ulm', 'Bonn'])", True, "list"),
    ("route(stops=('ulm', 'bonn'))", True, "a tuple is a list"),
    ("route(stops=['Bonn', 'Ulm'])", False, "order counts"),
    ("route(stops=['Ulm'])", False, "length counts"),
    ("route(stops=['Ulm', 'Bonn'], start=(1.5, 2))", True, "an integer for a float, inside"),
    ("route(stops=['Ulm', 'Bonn'], limits={'cost': 20})", True, "optional key left out"),
    ("route(stops=['Ulm', 'Bonn'], limits={'mode': 'Rail', 'cost': 20})", True, "order of keys is free"),
    ("route(stops=['Ulm', 'Bonn'], limits={'mode': 'rail'})", False, "key missing"),
    ("route(stops=['Ulm', 'Bonn'], limits={'cost': 20, 'x': 1})", False, "unknown key"),
    ("route(stops=['Ulm', 'Bonn'], limits=20)", False, "no dictionary"),
]


@pytest.mark.parametrize(("call", "right", "why"), NESTED)
def test_nested_values_follow_the_same_rules(call: str, right: bool, why: str) -> None:
    assert TASK.score(f"[{call}]", item(ROUTE)).correct is right, why


def test_assignment_is_the_best_one_where_greedy_fails() -> None:
    calls: list[Json] = [{"lamp.set": {"room": ["a", "b"], "level": [1]}}, {"lamp.set": {"room": ["a"], "level": [1]}}]
    answer = "[lamp.set(room='a', level=1), lamp.set(room='b', level=1)]"
    assert TASK.score(answer, item(calls)).correct
    assert not TASK.score(answer, item(calls), "reference").correct
