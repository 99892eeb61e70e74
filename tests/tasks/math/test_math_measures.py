"""Amounts with units: one amount said twice, amounts spread over several units, and fractions in words."""

# ruff: noqa: E501 - a table reads best with one case a line

from __future__ import annotations

from fractions import Fraction

import pytest

from lic_pipeline.records import Instruction, Reply, Rung
from lic_pipeline.tasks.math import TASK
from lic_pipeline.tasks.math.numbers.convertible_units import asked_measure

MINUTES, HOURS, IN_MINUTES = "How many minutes does it take?", "How many total hours does it take?", "How long does it take, in minutes?"  # fmt: skip
SHARE, CUPS, LONG = "What part of the cake is left?", "How many cups of flour are left?", "How long does it take?"


def problem(question: str, answer: str = "1") -> Instruction:
    return Instruction(instruction_id="t/0", task="math", benchmark="test", text=question, reference={"answer": answer})


# question, answer given, value
ONE_AMOUNT = [
    (MINUTES, "75 minutes, or 1 hour and 15 minutes", "75"),
    (MINUTES, "1 hour and 15 minutes (75 minutes)", "75"),
    (MINUTES, "1 hour and 15 minutes, or 75 minutes in total", "75"),
    (MINUTES, "1 hour 15 minutes = 75 minutes", "75"),
    (MINUTES, "75 minutes, which is 1 hour and 15 minutes", "75"),
    (MINUTES, "75 min (1 hr 15 min)", "75"),
    (MINUTES, "an hour and 15 minutes", "75"),
    (MINUTES, "an hour and 15 minutes (75 minutes)", "75"),
    (MINUTES, "1 hour and 15 minutes", "75"),
    (MINUTES, "\\boxed{1 \\text{ hour and } 15 \\text{ minutes}}", "75"),
    (IN_MINUTES, "1 hour and 15 minutes", "75"),
    (IN_MINUTES, "2 hours (120 minutes)", "120"),
    (MINUTES, "2 hours (120 minutes)", "120"),
    (MINUTES, "2 hours, or 120 minutes", "120"),
    (MINUTES, "120 minutes = 2 hours", "120"),
    (MINUTES, "2 hours = 120 minutes", "120"),
    (MINUTES, "2 hours and 30 minutes (or 2.5 hours)", "150"),
    (MINUTES, "2 hours and 30 minutes, or 150 minutes, or 2.5 hours", "150"),
    (HOURS, "75 minutes, or 1 hour and 15 minutes", "1.25"),
    (HOURS, "75 minutes (1 hour and 15 minutes)", "1.25"),
    (HOURS, "1 hour and 15 minutes (75 minutes)", "1.25"),
    (HOURS, "1 hour and 15 minutes", "1.25"),
    (HOURS, "75 minutes (1.25 hours)", "1.25"),
    (HOURS, "75 minutes is 1.25 hours", "1.25"),
    (HOURS, "2.5 hours, or 2 hours and 30 minutes", "2.5"),
    (HOURS, "2 hours and 30 minutes (or 150 minutes)", "2.5"),
    (HOURS, "1 hour and 20 minutes", "4/3"),
    ("How many days does it last?", "2 weeks and 3 days", "17"),
    ("How many inches tall is she?", "5 feet 3 inches", "63"),
    ("How many cents does it cost?", "$12.50, or 1250 cents", "1250"),
]
AS_BEFORE = [
    (LONG, "75 minutes, or 1 hour and 15 minutes", "75"),
    (LONG, "2 hours (120 minutes)", "2"),
    ("How many apples are there?", "2 hours (120 minutes)", "2"),
    (HOURS, "75 minutes", "75"),
    (HOURS, "7200 seconds, or 120 minutes", "7200"),
    (HOURS, "5 days, 8 hours a day", "8"),
    (MINUTES, "2 hours = 2 * 60 = 120 minutes", "120"),
    (HOURS, "150 minutes / 60 = 2.5 hours", "2.5"),
    (MINUTES, "30 minutes", "30"),
]


@pytest.mark.parametrize(("question", "given", "value"), [*ONE_AMOUNT, *AS_BEFORE])
def test_one_amount_is_one_value_in_the_unit_asked_for(question: str, given: str, value: str) -> None:
    extraction = TASK.extract(Reply(text=f"Final answer: {given}"), problem(question))
    for answer in (extraction.answer or "", given):
        verdict = TASK.score(answer, problem(question, value))
        assert (verdict.verdict, verdict.answer) == ("correct", value)
    assert TASK.score(extraction.answer or "", problem(question, "999")).score == 0.0


@pytest.mark.parametrize(
    ("question", "sentence", "value"),
    [
        (MINUTES, "She and her 3 friends hike 1 hour and 15 minutes (75 minutes).", "75"),
        (MINUTES, "She and her 3 friends hike 2 hours (120 minutes).", "120"),
        (MINUTES, "So the 2 of them need 1 hour and 15 minutes.", "75"),
        (MINUTES, "Since 1 hour = 60 minutes, it takes 2 * 60 = 120 minutes.", "120"),
        (HOURS, "Since 1 hour = 60 minutes, it takes 150 / 60 = 2.5 hours.", "2.5"),
    ],
)
def test_an_amount_in_a_sentence(question: str, sentence: str, value: str) -> None:
    extraction = TASK.extract(Reply(text=sentence), problem(question))
    assert extraction.rung is Rung.CONCLUSION
    assert TASK.score(extraction.answer or "", problem(question, value)).correct


UNEQUAL = [
    (MINUTES, "75 minutes, or 1 hour and 20 minutes"),
    (MINUTES, "75 minutes or 80 minutes"),
    (HOURS, "1 hour or 75 minutes"),
    ("How many apples are there?", "75 apples, or 1 hour and 15 minutes"),
]


@pytest.mark.parametrize(("question", "given"), UNEQUAL)
def test_different_amounts_stay_rivals(question: str, given: str) -> None:
    assert TASK.extract(Reply(text=f"Final answer: {given}"), problem(question)).rung is Rung.AMBIGUOUS


@pytest.mark.parametrize("given", ["1 hour and 20 minutes (75 minutes)", "1 hour and 15 minutes, 20 minutes more"])
def test_unequal_amounts_are_not_added_up(given: str) -> None:
    extraction = TASK.extract(Reply(text=f"Final answer: {given}"), problem(MINUTES))
    assert extraction.answer not in {"80", "75"}


PARTS = [
    (SHARE, "a quarter", "0.25"),
    (SHARE, "a half", "0.5"),
    (SHARE, "a third", "1/3"),
    (SHARE, "**A third**", "1/3"),
    (SHARE, "\\boxed{\\text{a quarter}}", "0.25"),
    (SHARE, "A quarter.", "0.25"),
    (SHARE, "half", "0.5"),
    (SHARE, "a third of the cake", "1/3"),
    (SHARE, "a quarter of the whole cake", "0.25"),
    (SHARE, "a half of it", "0.5"),
    (SHARE, "a fifth of the days", "0.2"),
    (SHARE, "a third of the minutes", "1/3"),
    (SHARE, "two thirds of the cake", "2/3"),
    (SHARE, "from a quarter to three quarters", "0.75"),
    (SHARE, "half a dozen", "6"),
    (SHARE, "a half dozen", "6"),
    (HOURS, "half an hour", "0.5"),
    (HOURS, "**half** an hour", "0.5"),
    (MINUTES, "half an hour", "30"),
    (MINUTES, "a quarter of an hour", "15"),
    (MINUTES, "three quarters of an hour", "45"),
    (CUPS, "a third of a cup", "1/3"),
    (CUPS, "half a cup", "0.5"),
]
NO_PARTS = [
    "a quarter of an hour",
    "a quarter of the hour",
    "a quarter hour",
    "one quarter of an hour",
    "three quarters of an hour",
    "half an hour",
    "half the day",
    "a half hour",
    "half of a minute",
    "a third of a cup",
    "a quarter mile",
    "half a mile",
    "the third day",
    "the third",
    "a third day",
    "a third person",
    "a fourth time",
    "in the third quarter",
    "a quarter past",
    "a quarter past three",
    "a quarter to three",
    "a quarter to",
    "half past",
    "half past two",
]


@pytest.mark.parametrize(("question", "given", "value"), PARTS)
def test_a_part_in_words_is_its_fraction(question: str, given: str, value: str) -> None:
    extraction = TASK.extract(Reply(text=f"Final answer: {given}"), problem(question))
    assert extraction.strict
    for answer in (extraction.answer or "", given):
        assert TASK.score(answer, problem(question, value)).answer == value


@pytest.mark.parametrize("given", NO_PARTS)
@pytest.mark.parametrize("question", [SHARE, LONG, "How many apples are left?"])
@pytest.mark.parametrize("reply", ["Final answer: {}", "The answer is {}.", "#### {}", "So it is {}."])
def test_a_part_of_a_unit_an_ordinal_and_a_time_of_day_are_no_fractions(reply: str, question: str, given: str) -> None:
    extraction = TASK.extract(Reply(text=reply.format(given)), problem(question))
    assert (extraction.rung, extraction.answer) == (Rung.FAILED, None)


@pytest.mark.parametrize(
    ("question", "unit"),
    [
        (MINUTES, ("time", 60)),
        (HOURS, ("time", 3600)),
        (IN_MINUTES, ("time", 60)),
        ("Ann runs 3 hours. How many more minutes does she run than Bob, who runs 2 hours?", ("time", 60)),
        ("What is the total number of hours?", ("time", 3600)),
        ("Find the time in seconds.", ("time", 1)),
        ("How tall is she in feet?", ("imperial", 12)),
        ("How many inches is that?", ("imperial", 1)),
        ("How many apples does he eat in minutes?", None),
        ("How many minutes are left? How many apples?", None),
        (LONG, None),
        ("", None),
    ],
)
def test_the_unit_asked_for(question: str, unit: tuple[str, int] | None) -> None:
    assert asked_measure(question) == (None if unit is None else (unit[0], Fraction(unit[1])))
