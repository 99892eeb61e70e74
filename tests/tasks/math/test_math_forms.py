"""How numbers are written and where answers stand: one line per form, with the value it means and why."""

from __future__ import annotations

from fractions import Fraction

import pytest

from lic_pipeline.records import Instruction, Reply, Rung
from lic_pipeline.tasks.math import TASK
from lic_pipeline.tasks.math.extract_number import find, whole_value
from lic_pipeline.tasks.math.numbers.number_grammar import canonical

VALUES = [
    ("Final answer: 18", "18", "plain"),
    ("Final answer: 18.", "18", "full stop is no decimal point"),
    ("Final answer: 18.00", "18", "trailing zeros"),
    ("Final answer: $29.00", "29", "price"),
    ("Final answer: $1,450,000", "1450000", "commas and currency"),
    ("Final answer: 1,00,000 rupees", "100000", "Indian grouping"),
    ("Final answer: €2.500,50", "2500.5", "continental grouping, unmistakable by its decimal comma"),
    ("Final answer: 3{,}360", "3360", "LaTeX comma in braces"),
    ("Final answer: $3\\,360$", "3360", "LaTeX thin space"),
    ("Final answer: $3,\\!360$", "3360", "LaTeX negative space"),
    ("Final answer: 17\u00a0000", "17000", "no-break space"),
    ("Final answer: 17\u202f000", "17000", "narrow no-break space"),
    ("Final answer: 17\u2009000", "17000", "thin space"),
    ("Final answer: 17\u2007000", "17000", "figure space"),
    ("Final answer: 17 000 dollars", "17000", "plain space before exactly three digits"),
    ("Final answer: 1'250", "1250", "Swiss apostrophe"),
    ("Final answer: \\$2,100", "2100", "escaped dollar"),
    ("Final answer: US$40", "40", "currency code glued to the number"),
    ("Final answer: 40%", "40", "percent sign"),
    ("Final answer: 40 \\%", "40", "LaTeX percent"),
    ("Final answer: 40 percent of them", "40", "percent in words"),
    ("Final answer: -7", "-7", "hyphen as minus"),
    ("Final answer: \u22127", "-7", "Unicode minus"),
    ("Final answer: $-3.50", "-3.5", "minus behind the currency"),
    ("Final answer: -$3.50", "-3.5", "minus before the currency"),
    ("Final answer: negative 4 degrees", "-4", "minus in words"),
    ("Final answer: one third", "1/3", "fraction in words"),
    ("Final answer: two-thirds of the pie", "2/3", "fraction in words with a hyphen"),
    ("Final answer: three quarters", "0.75", "fraction in words, quarters"),
    ("Final answer: one half", "0.5", "fraction in words, half"),
    ("Final answer: a quarter", "0.25", "a part without a count"),
    ("Final answer: a third of the cake", "1/3", "a part and what it is of"),
    ("Final answer: half", "0.5", "half, without article"),
    ("Final answer: half a dozen", "6", "half of a count"),
    ("Final answer: a dozen eggs", "12", "a dozen"),
    ("Final answer: two dozen", "24", "dozens"),
    ("Final answer: 75 minutes, or 1 hour and 15 minutes", "75", "one quantity in two units"),
    ("Final answer: 1 hour and 15 minutes (75 minutes)", "75", "the single value of a quantity spelt out"),
    ("Final answer: 75 minutes, which is 1 hour and 15 minutes", "75", "spelt out after it"),
    ("Final answer: 3 feet and 4 inches = 40 inches", "40", "spelt out before it"),
    ("Final answer: $12.50, or 1250 cents", "12.5", "dollars first"),
    ("Final answer: 3 weeks, i.e. 21 days", "3", "the first of two units"),
    ("Final answer: one and three quarters", "1.75", "mixed number in words"),
    ("Final answer: 8 and 1/2 hours", "8.5", "mixed number with and"),
    ("Final answer: 86/3", "86/3", "fraction"),
    ("Final answer: \\frac{3}{4}", "0.75", "LaTeX fraction"),
    ("Final answer: \\dfrac12", "0.5", "LaTeX fraction without braces"),
    ("Final answer: 28\\frac{2}{3}", "86/3", "LaTeX mixed number"),
    ("Final answer: 2 1/2 cups", "2.5", "mixed number"),
    ("Final answer: 2½ cups", "2.5", "vulgar fraction behind a digit"),
    ("Final answer: ¾", "0.75", "vulgar fraction"),
    ("Final answer: 1.2e3", "1200", "scientific notation"),
    ("Final answer: 1.2 × 10^3", "1200", "scientific notation with a power of ten"),
    ("Final answer: 1.5 \\times 10^{2}", "150", "scientific notation in LaTeX"),
    ("Final answer: 2 million", "2000000", "magnitude word"),
    ("Final answer: 17k", "17000", "k for thousand"),
    ("Final answer: 1.5 × 10³", "1500", "power of ten in superscript"),
    ("Final answer: 12,5 litres", "12.5", "decimal comma"),
    ("Final answer: 3 dollars and 50 cents", "3.5", "dollars and cents"),
    ("Final answer: 30 apples, 3 times as many as before", "30", "a comparison is no answer"),
    ("Final answer: .5", "0.5", "no leading zero"),
    ("Final answer: \uff14\uff12", "42", "full-width digits"),
    ("Final answer: the 5th", "5", "ordinal"),
    ("Final answer: 3:00 PM", "3", "full hour"),
    ("Final answer: forty-two", "42", "number word"),
    ("Final answer: One hundred and twenty-two crabs", "122", "number words"),
    ("Final answer: two and a half", "2.5", "words with a half"),
    ("Final answer: **$1,250**", "1250", "bold"),
    ("Final answer: _40_", "40", "emphasis"),
    ("Final answer: 40 × 21 × 4 = 3,360 points", "3360", "result of an equation"),
    ("Final answer: x = 13", "13", "variable"),
    ("Final answer: 45 in^2", "45", "the exponent of a unit is no value"),
    ("Final answer: 45 cm²", "45", "superscript exponent"),
    ("Final answer: 20 mg per 100 g", "20", "the basis of a rate is no value"),
    ("Final answer: 60 out of 150", "60", "what it is compared with is no answer"),
    ("Final answer: She made $350 over 4 weeks", "350", "a duration is no answer beside an amount"),
    ("Final answer: 12 (twelve)", "12", "restated in parentheses"),
    ("Final answer: 0.4 or 40%", "40", "one quantity written twice"),
    ("Final answer: 86/3, or about 28.67", "86/3", "exact and rounded are one quantity"),
]

PLACES = [
    ("So \\boxed{3,360 \\text{ points}} it is, over 4 years.", Rung.BOXED, "3360", "box with unit"),
    ("\\boxed{7} at first.\nCounting again: \\boxed{8}", Rung.BOXED, "8", "last box"),
    ("\\[ \\boxed{\\frac{1}{2}} \\]", Rung.BOXED, "0.5", "braces inside the box"),
    ("2*9=18\n#### 18", Rung.MARKER, "18", "the benchmark's own marker"),
    ("2*9=18\n#### 18\n\nQuestion: Tom has 3 cats.\nAnswer: 3\n#### 3", Rung.MARKER, "18", "invented second question"),
    ("#### Step 1: Take 5\nTake 5.\n#### Step 2\n\nThe answer is 10.", Rung.MARKER, "10", "headings are no markers"),
    ("The answer is 12.\nWait, I forgot the rest. Final answer: 30", Rung.MARKER, "30", "self-correction"),
    ("\\boxed{12}\nHold on, that misses a week.\nFinal answer: 30", Rung.MARKER, "30", "self-correction after a box"),
    ("### Final Answer:\nHer whole income is:\n\\[ 3 + 4 = 7 \\]", Rung.MARKER, "7", "equation under the marker"),
    ("**Answer:** 14 eggs", Rung.MARKER, "14", "short marker"),
    ("18", Rung.WHOLE, "18", "nothing but a number"),
    ("$18 in all", Rung.WHOLE, "18", "nothing but a value"),
    ("Answer\nIt is 5 in the end, I think.", Rung.CONCLUSION, "5", "no marker without a colon or a heading"),
    ("She buys 3 and 4. So she has 7 in total.", Rung.CONCLUSION, "7", "conclusion"),
    ("There is no digit here. So the share is a quarter.", Rung.CONCLUSION, "0.25", "a part that ends a sentence"),
    ("So the boat needs 7 hours.\n\nCheck: 7 * 3 = 21, and 21 + 2 = 23.", Rung.CONCLUSION, "7", "a check comes after"),
    ("So there are 9.\n\nLet's verify: 4 + 5 = 9, and 2 * 9 = 18.", Rung.CONCLUSION, "9", "a check comes after"),
    ("So there are 9 of them. Would you like the sum for 30 days?", Rung.CONCLUSION, "9", "a question comes after"),
    ("So there are 9. For example, with 2 more there would be 11.", Rung.CONCLUSION, "9", "an example comes after"),
    ("So there are 9. If you had 2 more, tell me.", Rung.CONCLUSION, "9", "a condition comes after"),
    ("Therefore it takes twelve of them over four years.", Rung.CONCLUSION, "12", "words, when there is no digit"),
    ("1. Take 5 pens.\n2. Add 6 pens.\n3. The sum is 11 pens.", Rung.CONCLUSION, "11", "list numbers are no values"),
    ("They have 42 (i.e. 20 + 22) of them.", Rung.CONCLUSION, "42", "an abbreviation ends no sentence"),
    ("A: 104 dollars\n\nCheck: 104 / 4 = 26 ✓.", Rung.CONCLUSION, "104", "a short reply may hold a check"),
    ("So she is 33 years old in 2024.", Rung.CONCLUSION, "33", "a year beside a value"),
    ("She is 25, since 5 years ago she was 20.", Rung.CONCLUSION, "25", "a reason comes after"),
    ("Since 5 years ago she was 20, she is 25.", Rung.CONCLUSION, "25", "a reason comes before"),
    ("I take 5 because each has 2, so the total is 10.", Rung.CONCLUSION, "10", "a conclusion after the reason"),
    ("In 2024, she will be 33.", Rung.CONCLUSION, "33", "a year before the value"),
    ("She was born in 1991.", Rung.CONCLUSION, "1991", "a year when nothing else is there"),
    ("In total they baked 2000 loaves.", Rung.CONCLUSION, "2000", "a count that looks like a year"),
    ("He will be done in 5 days.", Rung.CONCLUSION, "5", "a duration when nothing else is there"),
    ("So your age is 13, your brother's age 16 and your mom's age 47.", Rung.CONCLUSION, "13", "whose age was asked"),
    ("The sum is $40 (see Miller, 2019).", Rung.CONCLUSION, "40", "year of a citation"),
    ("<think>maybe 5, maybe 6</think>The answer is 8.", Rung.MARKER, "8", "reasoning is no answer"),
    ("I took 8. </think> The answer is 9.", Rung.MARKER, "9", "reasoning opened in the prompt"),
]  # fmt: skip

NO_VALUE = [
    ("", Rung.FAILED, "nothing"),
    ("I need the price first.", Rung.FAILED, "no number"),
    ("The answer is not 12.", Rung.FAILED, "what is denied is no value"),
    ("It isn't 12, I am afraid.", Rung.FAILED, "what is denied is no value"),
    ("Final answer: the twenty-third.", Rung.FAILED, "an ordinal in words is no fraction"),
    ("Over four years she saves a lot.", Rung.FAILED, "words in a duration are no values"),
    (
        "Final answer: it cannot be determined. Example: with 15 it would be 2,400.",
        Rung.FAILED,
        "declined at the marker",
    ),
    ("It is between 20 and 30.", Rung.AMBIGUOUS, "a range"),
    ("The answer is either 40 or 60.", Rung.AMBIGUOUS, "two values offered"),
    ("Final answer: 40 or 60", Rung.AMBIGUOUS, "two values offered"),
    ("\\boxed{40} or \\boxed{60}", Rung.AMBIGUOUS, "two boxes offered"),
    ("<think>the answer is 8", Rung.FAILED, "reasoning that never ends hides the rest"),
    ("If all count, the answer is 9. If half count, the answer is 4.", Rung.AMBIGUOUS, "two conditions, two values"),
    ("\\boxed{3B + 2}", Rung.FAILED, "a formula is no value"),
    ("Final answer: 1 hour or 75 minutes", Rung.AMBIGUOUS, "two quantities"),
    ("Half of the students left early.", Rung.FAILED, "a part of something is no answer"),
    ("Once I know the first half, I can go on.", Rung.FAILED, "half of a text"),
    ("The price is half of the other one.", Rung.FAILED, "a relation, no value"),
]


def problem(answer: str = "13", text: str = "How old am I?") -> Instruction:
    return Instruction(instruction_id="t/0", task="math", benchmark="test", text=text, reference={"answer": answer})


@pytest.mark.parametrize(("reply", "value", "why"), VALUES)
def test_form_is_read_as_its_exact_value(reply: str, value: str, why: str) -> None:
    extraction = TASK.extract(Reply(text=reply), problem())
    assert extraction.rung is Rung.MARKER, why
    assert extraction.answer is not None
    verdict = TASK.score(extraction.answer, problem(value))
    assert (verdict.score, verdict.answer) == (100.0, value), why
    assert TASK.score(extraction.answer, problem("999")).score == 0.0


@pytest.mark.parametrize(("reply", "value", "why"), VALUES)
def test_a_given_answer_is_read_like_the_same_words_in_a_reply(reply: str, value: str, why: str) -> None:
    given = reply.removeprefix("Final answer: ")
    assert TASK.score(given, problem(value)).verdict == "correct", why


@pytest.mark.parametrize(("reply", "rung", "value", "why"), PLACES)
def test_answer_is_found_where_it_stands(reply: str, rung: Rung, value: str, why: str) -> None:
    extraction = TASK.extract(Reply(text=reply), problem())
    assert extraction.rung is rung, why
    assert extraction.answer is not None
    assert TASK.score(extraction.answer, problem(value)).correct, why


@pytest.mark.parametrize(("reply", "rung", "why"), NO_VALUE)
def test_reply_without_one_answer_yields_none(reply: str, rung: Rung, why: str) -> None:
    extraction = TASK.extract(Reply(text=reply), problem())
    assert (extraction.rung, extraction.answer) == (rung, None), why


UNITS_ASKED = [
    ("How many minutes does it take?", "75"),
    ("How many hours does it take?", "1.25"),
    ("How long does it take?", "1.25"),
]


@pytest.mark.parametrize(("question", "value"), UNITS_ASKED)
def test_of_two_units_the_one_asked_for_counts(question: str, value: str) -> None:
    extraction = TASK.extract(Reply(text="The answer is 1.25 hours, or 75 minutes."), problem(text=question))
    assert TASK.score(extraction.answer or "", problem(value)).correct


def test_rivals_are_named() -> None:
    assert TASK.extract(Reply(text="Final answer: 40 or 60"), problem()).candidates == ("40", "60")


def test_unclosed_reasoning_is_flagged() -> None:
    assert TASK.extract(Reply(text="<think>8"), problem()).flags == ("truncated_reasoning",)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(5), "5"),
        (Fraction(-7, 2), "-3.5"),
        (Fraction(1, 3), "1/3"),
        (Fraction(1, 100), "0.01"),
        (Fraction(-1, 3), "-1/3"),
    ],
)
def test_canonical_form_is_unique(value: Fraction, text: str) -> None:
    assert canonical(value) == text
    assert find(text, whole=True)[1].value == value  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text",
    [
        "0",
        "17613",
        "-3",
        "2.50",
        "$17,613",
        "-1,200.50",
        "$2.50",
        "$0",
        "1,000,000",
        "-0",
        "007",
        "1" * 18,
        "1" * 30,
        "3.",
        "-0.000000001",
    ],
)
def test_plain_digits_are_read_as_the_grammar_reads_them(text: str) -> None:
    extraction, number = find(text, whole=True)
    assert whole_value(text) == (number and number.value, extraction.rung == "ambiguous")
