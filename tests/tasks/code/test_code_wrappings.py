"""What replies put around and beside a program: tests of their own, diffs, line numbers, names in prose."""

# ruff: noqa: E501 - a table reads best with one case a line

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lic_pipeline.records import Instruction, Reply, Rung, Strategy
from lic_pipeline.tasks.code import TASK
from lic_pipeline.tasks.code.numbered_listings import unnumbered
from lic_pipeline.tasks.code.own_tests import without_own_tests
from lic_pipeline.tasks.code.reply_diffs import is_diff, patched

DOUBLE = Instruction(
    instruction_id="humaneval/0",
    task="code",
    benchmark="humaneval",
    text="Double the values",
    reference={
        "format": "humaneval",
        "entry_point": "double",
        "prompt": 'def double(values):\n    """Twice each value."""\n',
        "canonical_solution": "    return [2 * value for value in values]\n",
        "test": "def check(candidate):\n    assert candidate([1, 2]) == [2, 4]\n    assert candidate([]) == []\n",
    },
)
ECHO = Instruction(
    instruction_id="livecodebench/0",
    task="code",
    benchmark="livecodebench",
    text="Print twice the number",
    reference={
        "format": "stdin",
        "entry_point": None,
        "tests": [{"input": "4\n", "output": "8\n", "testtype": "stdin"}],
    },
)
GOOD = "def double(values):\n    return [2 * value for value in values]"
BAD = GOOD.replace("2 *", "3 *")
READS = "def main():\n    print(2 * int(input()))\n\nmain()"
CASE = "class TestDouble(unittest.TestCase):\n    def test_one(self):\n        self.assertEqual(double([1]), [99])\n"
GUARD = "if __name__ == '__main__':\n    unittest.main()"


def py(*programs: str) -> str:
    return "\n\nThen:\n\n".join(f"```python\n{program}\n```" for program in programs)


def diff(*lines: str, tag: str = "diff") -> str:
    return f"\n\nChange this:\n```{tag}\n" + "\n".join(lines) + "\n```"


def verdict(reply: str, instruction: Instruction) -> str:
    extraction = TASK.extract(Reply(text=reply), instruction)
    return "none" if extraction.answer is None else TASK.score(extraction.answer, instruction).verdict


OWN_TESTS: dict[str, tuple[str, str]] = {
    "a test case and its main": (py(f"import unittest\n{GOOD}\n\n{CASE}\nunittest.main()"), "correct"),
    "in a guard": (py(f"import unittest\n{GOOD}\n\n{CASE}\n{GUARD}"), "correct"),
    "before the solution": (py(f"import unittest\n{CASE}\nunittest.main()\n\n{GOOD}"), "correct"),
    "on one line": (py(f"import unittest\n{GOOD}\nx = 'ä'; unittest.main(); y = 1"), "correct"),
    "main imported by name": (py(f"from unittest import TestCase, main\n{GOOD}\n{CASE.replace('unittest.', '')}\nmain()"), "correct"),
    "runner over several statements": (py(f"import unittest\n{GOOD}\n{CASE}\nsuite = unittest.TestLoader().loadTestsFromTestCase(TestDouble)\nresult = unittest.TextTestRunner().run(suite)\nimport sys\nsys.exit(not result.wasSuccessful())"), "correct"),
    "an exit that wraps the runner": (py(f"import sys, unittest\n{GOOD}\n{CASE}\nsys.exit(unittest.main(exit=True))"), "correct"),
    "an exit by the count of failures": (py(f"import sys\n{GOOD}\n\nfailed = sum(double([n]) != [n] for n in range(3))\nif failed:\n    sys.exit(1)"), "correct"),
    "a test function that exits": (py(f"{GOOD}\n\ndef run_tests():\n    if double([1]) != [99]:\n        raise SystemExit('failed')\n\nrun_tests()"), "correct"),
    "pytest, which is not there": (py(f"import pytest\n{GOOD}\n\n@pytest.mark.parametrize('n', [1])\ndef test_double(n):\n    assert double([n]) == [99]\n\ndef test_raises():\n    with pytest.raises(TypeError):\n        double(1)\n\nif __name__ == '__main__':\n    raise SystemExit(pytest.main([__file__]))"), "correct"),
    "doctest": (py(f"{GOOD}\n\nimport doctest\ndoctest.testmod()"), "correct"),
    "a test method with the name of the entry point": (py(f"import unittest\n{GOOD}\n\n{CASE}\n    def double(self):\n        return 1\n"), "correct"),
    "that method in a later block": (py(GOOD, f"import unittest\n{CASE}\n    def double(self):\n        return 1\n\n{GUARD}"), "correct"),
    "a later block of tests alone": (py(GOOD, f"import unittest\n{CASE}\nunittest.main()"), "correct"),
    "a later block of tests for another name": (py(GOOD.replace("double", "twice"), "from solution import twice\n\ndef test_twice():\n    assert twice([1]) == [2]"), "correct"),
    "tests of a wrong solution": (py(f"import unittest\n{BAD}\n\n{CASE}\nunittest.main()"), "wrong"),
    "nothing but tests": (py(f"import unittest\n{CASE}\nunittest.main()"), "no_entry_point"),
    "an exit inside the solution": (py("import sys\ndef double(values):\n    sys.exit(0)"), "exited"),
    "an exit before anything is defined": (py("import sys\nsys.exit(0)\n" + GOOD), "correct"),
    "an import of the program itself": (py(f"{GOOD}\n\nimport unittest\nfrom my_double import double\n{CASE}\nunittest.main()"), "correct"),
    "that import before it": (py(f"from solution import double\n{GOOD}\n\ndef test_double():\n    assert double([1]) == [99]"), "correct"),
    "an import of what is nowhere": (py("from helpers import twice\ndef double(values):\n    return [twice(v) for v in values]"), "runtime_error"),
    "an own function called like a library's": (py("from math import floor\ndef floor(v):\n    return v\ndef double(values):\n    return [floor(2 * v) for v in values]"), "correct"),
    "a solution that needs what is not there": (py("import pytest\ndef double(values):\n    return pytest.approx(values)"), "runtime_error"),
    "a class of the solution called Tester": (py("class Tester:\n    def double(self, values):\n        return [2 * v for v in values]"), "correct"),
    "a class called Latest": (py("class Latest:\n    def test(self): pass\n    def double(self, values):\n        return [2 * v for v in values]"), "correct"),
    "a test class that the solution uses": (py("class TestCount:\n    def test(self, v):\n        return 2 * v\n\ndef double(values):\n    return [TestCount().test(v) for v in values]"), "correct"),
}  # fmt: skip


@pytest.mark.parametrize("form", OWN_TESTS)
def test_own_tests_neither_end_nor_fail_a_program(form: str) -> None:
    reply, expected = OWN_TESTS[form]
    assert verdict(reply, DOUBLE) == expected


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (py(f"import unittest\n{READS}\n\n{CASE}\nunittest.main()"), "correct"),
        (py(f"import unittest\n{READS.replace('main()', 'solve()')}\n\n{CASE}\n{GUARD}"), "correct"),
        (py(f"import sys\n{READS}\nsys.exit(0)"), "correct"),
        (py(f"import sys\n{READS}\nsys.exit(3)"), "exited"),
    ],
    ids=["unguarded", "guarded", "an exit of its own", "a failure of its own"],
)
def test_own_tests_of_a_script_are_not_run(reply: str, expected: str) -> None:
    assert verdict(reply, ECHO) == expected


def test_lines_keep_their_numbers_without_own_tests() -> None:
    program = f"import unittest\n{CASE}\nunittest.main()\n{GOOD}\n"
    left = without_own_tests(program)
    assert "TestDouble" not in left
    assert "unittest.main" not in left
    assert left.split("\n")[-3:] == program.split("\n")[-3:]
    assert left.count("\n") == program.count("\n")


@pytest.mark.parametrize("program", [GOOD, READS, "import unittest\ndef f(:", "unittest = 1\nunittest.main()", ""])
def test_other_programs_are_left_as_they_are(program: str) -> None:
    assert without_own_tests(program) == program


KEPT, OLD, NEW = " def double(values):", "-    return [3 * value for value in values]", "+    return [2 * value for value in values]"  # fmt: skip
TAIL = "\n\n\ndef triple(values):\n    return [3 * value for value in values]"
DIFFS: dict[str, tuple[str, str]] = {
    "a correction": (py(BAD) + diff(KEPT, OLD, NEW), "correct"),
    "with headers": (py(BAD) + diff("--- a/double.py", "+++ b/double.py", "@@ -1,2 +1,2 @@", KEPT, OLD, NEW), "correct"),
    "called a patch": (py(BAD) + diff("*** x", KEPT, OLD, NEW, tag="patch"), "wrong"),
    "without a tag": (py(BAD) + diff(KEPT, OLD, NEW, tag=""), "correct"),
    "called Python": (py(BAD) + diff(KEPT, OLD, NEW, tag="python"), "correct"),
    "a space behind each mark": (py(BAD) + diff("- " + OLD[1:], "+ " + NEW[1:]), "correct"),
    "kept lines without a mark": (py(BAD) + diff(KEPT[1:], OLD, NEW), "correct"),
    "two hunks": (py("LIMIT = 3\n" + BAD) + diff("@@", "-LIMIT = 3", "+LIMIT = 2", "@@", OLD, NEW), "correct"),
    "with lines left out": (py(BAD) + diff(KEPT, "...", OLD, NEW), "correct"),
    "a spoilt program": (py(GOOD) + diff(KEPT, "-" + NEW[1:], "+" + OLD[1:]), "wrong"),
    "an older version's correction": (py(GOOD) + diff(KEPT, OLD, NEW), "correct"),
    "of something else": (py(GOOD) + diff("-x = 1", "+x = 2"), "correct"),
    "lines added nowhere": (py(GOOD) + diff("+def double(values):", "+    return []"), "correct"),
    "a place that is not one": (py(BAD + TAIL) + diff(OLD, NEW), "wrong"),
    "one hunk that does not fit": (py(BAD) + diff("@@", OLD, NEW, "@@", "-x = 1", "+x = 2"), "wrong"),
    "what it makes is no Python": (py(GOOD) + diff(KEPT, "-" + NEW[1:], "+    return ["), "correct"),
    "before the program": (diff(KEPT, OLD, NEW) + "\n\nIn full:\n\n" + py(GOOD), "correct"),
    "before the program it fits": (diff(KEPT, OLD, NEW) + "\n\n" + py(BAD), "wrong"),
    "between two programs": (py(BAD) + diff(KEPT, OLD, NEW) + "\n\n" + py(BAD), "wrong"),
    "alone": (diff(KEPT, OLD, NEW), "none"),
    "alone and all new": (diff("+" + GOOD.replace("\n", "\n+")), "none"),
    "alone without a tag": (diff(KEPT, OLD, NEW, tag=""), "none"),
    "the body alone is no diff": ("```python\n    return [v + v\n            for v in values]\n```", "correct"),
    "a sum over lines is no diff": (py("def double(values):\n    return [(v\n+ v) for v in values]"), "correct"),
}  # fmt: skip


@pytest.mark.parametrize("form", DIFFS)
def test_a_diff_changes_the_program_it_fits_and_is_none_itself(form: str) -> None:
    reply, expected = DIFFS[form]
    assert verdict(reply, DOUBLE) == expected


def test_a_diff_alone_is_no_attempt() -> None:
    assert TASK.label(Reply(text=DIFFS["alone and all new"][0]), DOUBLE) is not Strategy.ANSWER_ATTEMPT


def test_a_diff_for_a_helper_leaves_the_rest() -> None:
    helper = "def twice(v):\n    return 3 * v"
    reply = py(helper, "def double(values):\n    return [twice(v) for v in values]") + diff(
        "-    return 3 * v", "+    return 2 * v"
    )
    assert verdict(reply, DOUBLE) == "correct"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"{KEPT}\n{OLD}\n{NEW}", True),
        ("@@ -1 +1 @@\n-a\n+b", True),
        (" a\n b", False),
        ("@cache\ndef f(): pass", False),
        (f"{KEPT}\nso it is", False),
        ("", False),
    ],
)
def test_a_diff_is_known_by_its_marks(body: str, expected: bool) -> None:
    assert is_diff(body) is expected


def test_a_diff_that_changes_nothing_is_not_applied() -> None:
    assert patched(GOOD, KEPT) is None
    assert patched(GOOD, "") is None


def numbered(program: str, form: str, first: int = 1) -> str:
    return "\n".join(form.format(number, line) for number, line in enumerate(program.split("\n"), first))


LONG = "import math\n\n" + "\n".join(f"A{n} = {n}" for n in range(9)) + "\n\n" + GOOD
NUMBERINGS = ["{} {}", "{:>3} {}", "{:<4}{}", "{}\t{}", "{:>6}\t{}", "{}| {}", "{:>2} | {}", "{:>3}| {}", "{}: {}", "{}:{}", "{}. {}", "{}) {}", "{:>2}│ {}", "L{} {}", "{:03} {}"]  # fmt: skip


@pytest.mark.parametrize("form", NUMBERINGS)
@pytest.mark.parametrize("program", [GOOD, LONG], ids=["short", "long"])
def test_a_listing_is_read_without_its_numbers(program: str, form: str) -> None:
    listing = numbered(program, form)
    assert unnumbered(listing) == program
    for reply, rung in ((f"```python\n{listing}\n```", Rung.BLOCK), (f"Here:\n\n{listing}\n\nDone.", Rung.LOOSE)):
        extraction = TASK.extract(Reply(text=reply), DOUBLE)
        assert (extraction.rung, extraction.answer) == (rung, program)
        assert TASK.label(Reply(text=reply), DOUBLE) is Strategy.ANSWER_ATTEMPT


@pytest.mark.parametrize(
    "text",
    [
        "1 def f(x):\n    return x",
        "1 def f(x):\n3     return x",
        "2 def f(x):\n1     return x",
        "1 def f(x):\n\n2     return x",
        "1 def f(x):",
        "1\n2\n3",
        "1. Sort the list.\n2. Return the first.",
        "10 20\n30 40",
        "",
    ],
)
def test_what_is_not_numbered_throughout_stays(text: str) -> None:
    assert unnumbered(text) is None


LISTED = numbered(GOOD, "{} {}")
BESIDE_LISTINGS: dict[str, tuple[str, str]] = {
    "an excerpt in the middle of a file": (f"```\n{numbered(GOOD, '{}: {}', 17)}\n```", "correct"),
    "a listing of another version after the program": (f"{py(GOOD)}\n\nBefore it was:\n```\n{numbered(BAD, '{} {}')}\n```", "correct"),
    "a listing before the program": (f"```\n{numbered(BAD, '{} {}')}\n```\n{py(GOOD)}", "correct"),
    "an output block after a listing": (f"```python\n{LISTED}\n```\n\n```\n1\n2\n```", "correct"),
    "a number lost": (f"```python\n{LISTED.replace('2     return', '      return')}\n```", "compile_error"),
    "numbered advice": ("1. Go over the values.\n2. Double each.\n3. Return the list.", "none"),
    "numbered names": ("1. values\n2. double\n3. len", "none"),
}  # fmt: skip


@pytest.mark.parametrize("form", BESIDE_LISTINGS)
def test_a_listing_counts_only_where_no_plain_program_does(form: str) -> None:
    reply, expected = BESIDE_LISTINGS[form]
    assert verdict(reply, DOUBLE) == expected


def test_a_listing_of_a_script() -> None:
    assert verdict(f"```python\n{numbered(READS, '{:>2} | {}')}\n```", ECHO) == "correct"
    assert verdict("1. print(total)\n2. sort(values)", ECHO) == "none"


NAMED = ["**double**", "`double`", "**`double`**", "`double(values)`", "_double_", "```double```", "`def double(values):`", "def double(values)", "class Solution", "**def double**"]  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("code", [GOOD, GOOD.replace("double", "twice")], ids=["expected", "renamed"])
def test_names_in_prose_do_not_matter(name: str, code: str) -> None:
    for reply in (
        f"The function {name} does it.\n\n{py(code)}\n\nCall {name} on a list.",
        f"{name}\n\n{py(code)}\n\n{name}",
        f"{name} is here.\n\n{code}\n\n{name} is done.",
    ):
        extraction = TASK.extract(Reply(text=reply), DOUBLE)
        assert extraction.answer == code
        assert TASK.score(code, DOUBLE).correct
        assert TASK.label(Reply(text=reply), DOUBLE) is Strategy.ANSWER_ATTEMPT


PIECES = st.sampled_from(
    ["```python\n", "```diff\n", "```\n", "\n```\n", "+x = 1\n", "-x = 2\n", " def double(values):\n", "@@\n", "1 def f(x):\n", "2     return x\n", "3|\n", "import unittest\n", "unittest.main()\n", f"{CASE}\n", f"{GOOD}\n", "if unittest:\n    ", "; "]
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(st.lists(PIECES | st.text(max_size=8), max_size=25).map("".join))
def test_any_text_is_read(text: str) -> None:
    for instruction in (DOUBLE, ECHO):
        answer = TASK.extract(Reply(text=text), instruction).answer
        assert isinstance(TASK.label(Reply(text=text), instruction), Strategy)
        assert isinstance(without_own_tests(answer or ""), str)


ELSE_IFS = "import unittest\nif a:\n    unittest.main()\n" + "elif a:\n    unittest.main()\n" * 2_000
HUGE = {
    "one big diff": py(GOOD) + "\n```diff\n" + "-x\n+y\n" * 50_000 + "```",
    "many hunks": py("x = 1\n" * 4_000) + "\n```diff\n" + "@@\n-x\n+y\n" * 2_000 + "```",
    "many diffs": py(GOOD) + "\n```diff\n-x\n+y\n```" * 10_000,
    "many programs and diffs": (py(GOOD) + "\n\n```diff\n-x\n+y\n```\n\n") * 500,
    "a long listing": numbered("x = 1\n" * 9_000, "{} {}"),
    "many short listings": "1 x = 1\n2 y = 2\n\n" * 5_000,
    "numbers alone": "```\n" + numbered("\n" * 20_000, "{}") + "\n```",
    "many runners": "import unittest\n" + "unittest.main()\n" * 5_000,
    "a long chain of guards": ELSE_IFS,
}


@pytest.mark.parametrize("name", HUGE)
def test_huge_texts_take_bounded_time(name: str) -> None:
    started = time.process_time()
    for instruction in (DOUBLE, ECHO):
        without_own_tests(TASK.extract(Reply(text=HUGE[name]), instruction).answer or HUGE[name])
    assert time.process_time() - started < 5
