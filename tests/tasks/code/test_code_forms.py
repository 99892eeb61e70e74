"""Forms of code answers: the same task answered in many ways, with the right verdict and why."""

# ruff: noqa: E501 - a table reads best with one case a line

from __future__ import annotations

import json
from typing import Any

import pytest

from lic_pipeline.records import Instruction, Reply, Rung
from lic_pipeline.tasks.code import TASK

PROMPT = '''from typing import List

OFFSET = 10


def shift(n: int) -> int:
    return n + OFFSET


def total(values: List[int], factor: int) -> int:
    """Add up the values, each times factor, shifted once at the end.
    >>> total([1, 2], 3)
    19
    """
'''
HUMANEVAL = Instruction(
    instruction_id="humaneval/0",
    task="code",
    benchmark="humaneval",
    text="Add up the values",
    reference={
        "format": "humaneval",
        "entry_point": "total",
        "prompt": PROMPT,
        "canonical_solution": "    return shift(sum(value * factor for value in values))\n",
        "test": "def check(candidate):\n    assert candidate([1, 2], 3) == shift(9)\n    assert candidate([], 5) == 10\n",
    },
)
FUNCTIONAL = Instruction(
    instruction_id="livecodebench/1",
    task="code",
    benchmark="livecodebench",
    text="Pair sums",
    context={
        "starter_code": "class Solution:\n    def pairSums(self, left: List[int], right: List[int]) -> List[int]:\n"
    },
    reference={
        "format": "functional",
        "entry_point": "pairSums",
        "starter_code": "class Solution:\n    def pairSums(self, left: List[int], right: List[int]) -> List[int]:\n",
        "tests": [
            {"input": "[1, 2]\n[3, 4]", "output": "[4, 6]", "testtype": "functional"},
            {"input": "[]\n[]", "output": "[]", "testtype": "functional"},
        ],
    },
)
STDIN = Instruction(
    instruction_id="livecodebench/2",
    task="code",
    benchmark="livecodebench",
    text="Print the sum of each line",
    context={"starter_code": ""},
    reference={
        "format": "stdin",
        "entry_point": None,
        "starter_code": "",
        "tests": [
            {"input": "2\n1 2\n3 4\n", "output": "3\n7\n", "testtype": "stdin"},
            {"input": "1\n5 5\n", "output": "10", "testtype": "stdin"},
        ],
    },
)
GOOD = "def total(values, factor):\n    return sum(v * factor for v in values) + 10"


def py(*programs: str) -> str:
    return "\n\nThen:\n\n".join(f"```python\n{program}\n```" for program in programs)


# reply, verdict, renamed: the reason is the name
HUMANEVAL_FORMS: dict[str, tuple[str, str, bool]] = {
    "fenced": (py(GOOD), "correct", False),
    "fence without language": (f"```\n{GOOD}\n```", "correct", False),
    "fence in capitals": (f"```Python\n{GOOD}\n```", "correct", False),
    "tilde fence": (f"~~~python\n{GOOD}\n~~~", "correct", False),
    "fence inside a fence of Markdown": (f"````markdown\n# Solution\n{py(GOOD)}\nDone.\n````", "correct", False),
    "fences inside a longer one without language": (f"`````\n{py(GOOD)}\n```text\n19\n```\n`````", "correct", False),
    "Markdown fence of no more marks than the inner one": (f"```markdown\n{py(GOOD)}\n```", "correct", False),
    "unclosed fence": (f"Sure:\n```python\n{GOOD}", "correct", False),
    "fence indented in a list": ("1. Code:\n   ```python\n" + "\n".join("   " + line for line in GOOD.split("\n")) + "\n   ```", "correct", False),
    "windows line ends": (py(GOOD).replace("\n", "\r\n"), "correct", False),
    "whole reply is code": (GOOD, "correct", False),
    "unfenced code in prose": (f"Here you go.\n\n{GOOD}\n\nThis adds everything up, as you asked.", "correct", False),
    "the prompt repeated": (py(PROMPT + "    return shift(sum(v * factor for v in values))"), "correct", False),
    "uses the prompt's helper without repeating it": (py("def total(values, factor):\n    return shift(sum(v * factor for v in values))"), "correct", False),
    "uses typing without importing it": (py("def total(values: List[int], factor: int) -> int:\n    return sum(v * factor for v in values) + OFFSET"), "correct", False),
    "own imports, constant, helper, class, decorator": (
        py("import functools\nTEN = 10\nclass Box:\n    def __init__(self, v): self.v = v\ndef twice(f):\n    @functools.wraps(f)\n    def g(*a): return f(*a)\n    return g\ndef add(values, k):\n    return sum(Box(v * k).v for v in values)\n@twice\ndef total(values, factor):\n    return add(values, factor) + TEN"),
        "correct", False),
    "helper after the solution": (py("def total(values, factor):\n    return late(values, factor)\ndef late(values, factor):\n    return sum(values) * factor + 10"), "correct", False),
    "helper in an earlier block": (py("def scale(values, k):\n    return sum(v * k for v in values)", "def total(values, factor):\n    return scale(values, factor) + 10"), "correct", False),
    "a later block imports the solution": (py(GOOD, "from solution import total\n\ndef main():\n    print(total([1, 2], 3))\n\nmain()"), "correct", False),
    "usage in a later block": (py(GOOD, "print(total([1, 2], 3))"), "correct", False),
    "tests in a later block": (py(GOOD, "def test_total():\n    assert total([1], 1) == 11\ntest_total()"), "correct", False),
    "corrected version in a later block": (py(GOOD.replace("+ 10", "+ 11"), GOOD), "correct", False),
    "wrong version last": (py(GOOD, GOOD.replace("+ 10", "+ 11")), "wrong", False),
    "output block after": (py(GOOD) + "\n\nOutput:\n```\n19\n```", "correct", False),
    "shell block before": ("```bash\npip install nothing\n```\n" + py(GOOD), "correct", False),
    "usage with input()": (py(GOOD + "\n\nn = int(input())\nprint(total([n], n))"), "correct", False),
    "usage with a wrong assert": (py(GOOD + "\n\nassert total([1], 1) == 99"), "correct", False),
    "usage that prints": (py(GOOD + "\n\nprint('19 correct')"), "correct", False),
    "main guard": (py(GOOD + "\n\nif __name__ == '__main__':\n    total(input(), 1 / 0)"), "correct", False),
    "main function called": (py(GOOD + "\n\ndef main():\n    print(total(list(map(int, input().split())), 2))\n\nmain()"), "correct", False),
    "other name": (py(GOOD.replace("total", "add_up")), "correct", True),
    "one letter name": (py("def f(values, factor):\n    fine = [f_ * factor for f_ in values]\n    return sum(fine) + 10"), "correct", True),
    "other name with a helper": (py("def part(v, k):\n    return v * k\n\ndef answer(values, factor):\n    return sum(part(v, factor) for v in values) + 10"), "correct", True),
    "recursive under another name": (py("def go(values, factor):\n    if not values: return 10\n    return values[0] * factor + go(values[1:], factor)"), "correct", True),
    "two unrelated functions": (py("def one(a, b):\n    return 1\n\ndef two(a, b):\n    return 2"), "no_entry_point", False),
    "argument count does not fit": (py("def add_up(values):\n    return 19"), "no_entry_point", False),
    "method of class Solution": (py("class Solution:\n    def total(self, values, factor):\n        return sum(values) * factor + 10"), "correct", False),
    "method under another name": (py("class Solution:\n    def _help(self, v): return v\n    def compute(self, values, factor):\n        return self._help(sum(values)) * factor + 10"), "correct", True),
    "static method": (py("class Tools:\n    @staticmethod\n    def total(values, factor):\n        return sum(values) * factor + 10"), "correct", False),
    "class Solution without a fence": ("Sure.\n\nclass Solution:\n    def total(self, values, factor):\n        return sum(values) * factor + 10\n\nHope it helps!", "correct", False),
    "lambda": (py("total = lambda values, factor: sum(values) * factor + 10"), "correct", False),
    "wrapped afterwards": (py("import functools\ndef _t(values, factor):\n    return sum(values) * factor + 10\ntotal = functools.partial(_t)"), "correct", False),
    "future import": (py("from __future__ import annotations\n\ndef total(values: list[Thing], factor) -> Nope:\n    return sum(values) * factor + 10"), "correct", False),
    "only the body": ("```python\n    return shift(sum(v * factor for v in values))\n```", "correct", False),
    "only the body, its first line without indentation": ("scaled = [v * factor for v in values]\n    return sum(scaled) + OFFSET", "correct", False),
    "only the body, without indentation": ("scaled = sum(values) * factor\nreturn shift(scaled)", "correct", False),
    "only the body, indented by two": ("  return shift(sum(v * factor for v in values))", "correct", False),
    "a JSON object with the program": (json.dumps({"thought": "add up", "code": GOOD}), "correct", False),
    "a fenced JSON object with the program": ("```json\n" + json.dumps({"Solution": GOOD}) + "\n```", "correct", False),
    "a second opening fence": (f"```python\n```python\n{GOOD}\n```\n```", "correct", False),
    "a closing fence alone": (f"{GOOD}\n```\nThat adds up.", "correct", False),
    "quote marks as a fence": (f"'''python\n{GOOD}\n'''", "correct", False),
    "a quoted fence": ("\n".join("> " + line for line in py(GOOD).split("\n")), "correct", False),
    "a block of Markdown by indentation": ("Here it is:\n\n" + "\n".join("    " + line for line in GOOD.split("\n")) + "\n\nDone.", "correct", False),
    "marks of a chat template": (f"<|channel|>final<|message|>{py(GOOD)}<|return|>", "correct", False),
    "an end mark inside the fence": (f"```python\n{GOOD}<|im_end|>\n```", "correct", False),
    "invisible characters": (py("\ufeff" + GOOD.replace("return", "\u200breturn")), "correct", False),
    "doctest prompts": ("```\n>>> def total(values, factor):\n...     return sum(values) * factor + 10\n```", "correct", False),
    "reasoning first": ("<think>\n```python\ndef total(values, factor): return 0\n```\n</think>\n" + py(GOOD), "correct", False),
    "code that prints instead of returning": (py("def total(values, factor):\n    print(sum(values) * factor + 10)"), "wrong", False),
    "async function": (py("async def total(values, factor):\n    return 10"), "wrong", False),
    "syntax error": (py("def total(values, factor)\n    return 1"), "compile_error", False),
    "cut off in the middle": ("```python\ndef total(values, factor):\n    return sum(", "compile_error", False),
    "raises": (py("def total(values, factor):\n    return values['a']"), "runtime_error", False),
    "unknown name": (py("def total(values, factor):\n    return nothing(values)"), "runtime_error", False),
    "missing module": (py("import no_such_module\ndef total(values, factor):\n    return 10"), "runtime_error", False),
    "exits": (py("def total(values, factor):\n    raise SystemExit(0)"), "exited", False),
    "stub": (py("def total(values, factor):\n    pass"), "wrong", False),
    "no-break spaces": (py(GOOD).replace("    ", "\u00a0" * 4), "correct", False),
    "null byte": (py(GOOD).replace("return", "ret\x00urn"), "correct", False),
}  # fmt: skip


def verdict(text: str, instruction: Instruction, policy: Any = "robust") -> tuple[str, float | None, Any]:
    extraction = TASK.extract(Reply(text=text), instruction, policy)
    assert extraction.answer is not None, extraction
    scored = TASK.score(extraction.answer, instruction, policy)
    assert (scored.score == 100.0) == (scored.verdict == "correct"), scored
    return scored.verdict, scored.score, scored.detail.get("renamed")


@pytest.mark.parametrize("form", HUMANEVAL_FORMS)
def test_humaneval_form(form: str) -> None:
    text, expected, renamed = HUMANEVAL_FORMS[form]
    found, _, was_renamed = verdict(text, HUMANEVAL)
    assert (found, was_renamed) == (expected, renamed)


PAIRS = "[a + b for a, b in zip(left, right)]"
FUNCTIONAL_FORMS: dict[str, tuple[str, str, bool]] = {
    "class Solution": (py(f"class Solution:\n    def pairSums(self, left: List[int], right: List[int]) -> List[int]:\n        return {PAIRS}"), "correct", False),
    "plain function": (py(f"def pairSums(left, right):\n    return {PAIRS}"), "correct", False),
    "tuple instead of list": (py(f"def pairSums(left, right):\n    return tuple({PAIRS})"), "correct", False),
    "floats instead of integers": (py("def pairSums(left, right):\n    return [float(a + b) for a, b in zip(left, right)]"), "correct", False),
    "within 1e-9": (py("def pairSums(left, right):\n    return [a + b + 1e-12 for a, b in zip(left, right)]"), "correct", False),
    "off by 1e-6": (py("def pairSums(left, right):\n    return [a + b + 1e-6 for a, b in zip(left, right)]"), "wrong", False),
    "contest names without import": (py("class Solution:\n    def pairSums(self, left, right):\n        d = deque(); c = Counter(left)\n        for a, b in zip(left, right): d.append(a + b)\n        return list(d)"), "correct", False),
    "renamed method": (py(f"class Solution:\n    def pair_sums(self, left, right):\n        return {PAIRS}"), "correct", True),
    "generator": (py("def pairSums(left, right):\n    yield from (a + b for a, b in zip(left, right))"), "wrong", False),
    "strings": (py("def pairSums(left, right):\n    return [str(a + b) for a, b in zip(left, right)]"), "wrong", False),
    "passes the first test only": (py("def pairSums(left, right):\n    return [4, 6]"), "wrong", False),
    "usage that fails": (py(f"class Solution:\n    def pairSums(self, left, right):\n        return {PAIRS}\n\ns = Solution()\ns.pairSums(1)"), "correct", False),
}  # fmt: skip
SUMS = "for _ in range(int(input())):\n    print(sum(map(int, input().split())))"
STDIN_FORMS: dict[str, tuple[str, str, bool]] = {
    "script": (py(SUMS), "correct", False),
    "main": (py("def main():\n    for _ in range(int(input())):\n        a, b = map(int, input().split())\n        print(a + b)\n\nmain()"), "correct", False),
    "main guard": (py("import sys\ndef main():\n    rows = sys.stdin.read().split('\\n')[1:]\n    for row in rows:\n        if row: print(sum(map(int, row.split())))\nif __name__ == '__main__':\n    main()"), "correct", False),
    "trailing space and blank line": (py(SUMS.replace("split())))", "split())), end=' \\n')\nprint()")), "correct", False),
    "numbers with a point": (py(SUMS.replace("sum(", "1.0 * sum(")), "correct", False),
    "unfenced": (f"Here is it:\n\n{SUMS}", "correct", False),
    "sample output in a second block": (py(SUMS) + "\n\n```\n3\n7\n```", "correct", False),
    "example run in a second block": (py(SUMS) + "\n\n```text\n2\n1 2\n3 4\n```", "correct", False),
    "prints too much": (py("print('Result:')\n" + SUMS), "wrong", False),
    "prints nothing": (py("x = input()\ny = int(x)"), "wrong", False),
    "reads beyond the end": (py("while True:\n    input()"), "runtime_error", False),
}  # fmt: skip


@pytest.mark.parametrize("form", FUNCTIONAL_FORMS)
def test_functional_form(form: str) -> None:
    text, expected, renamed = FUNCTIONAL_FORMS[form]
    found, _, was_renamed = verdict(text, FUNCTIONAL)
    assert (found, was_renamed) == (expected, renamed)


@pytest.mark.parametrize("form", STDIN_FORMS)
def test_stdin_form(form: str) -> None:
    text, expected, _ = STDIN_FORMS[form]
    assert verdict(text, STDIN)[0] == expected


@pytest.mark.parametrize(
    ("text", "rung"),
    [
        (py(GOOD), Rung.BLOCK),
        (GOOD, Rung.WHOLE),
        (f"So:\n{GOOD}\nDone, I think.", Rung.LOOSE),
        ("I would sort the list first.", Rung.FAILED),
        ("", Rung.FAILED),
        ("<think>\n" + GOOD, Rung.FAILED),
    ],
)
def test_the_rung_says_where_the_program_stood(text: str, rung: Rung) -> None:
    extraction = TASK.extract(Reply(text=text), HUMANEVAL)
    assert extraction.rung is rung
    assert (extraction.answer is None) == (rung is Rung.FAILED)


# the published scripts keep the last function only and rename by text
REFERENCE_FORMS: dict[str, tuple[str, str]] = {
    "plain": (py(GOOD), "correct"),
    "own import is lost": (py("import math\ndef total(values, factor):\n    return math.fsum(values) * factor + 10"), "runtime_error"),
    "own helper is lost": (py("def add(v):\n    return sum(v)\ndef total(values, factor):\n    return add(values) * factor + 10"), "runtime_error"),
    "last function wins": (py(GOOD + "\ndef main():\n    return 1"), "runtime_error"),
    "renamed in its text": (py(GOOD.replace("total", "add_up")), "correct"),
    "rename hits every letter": (py("def f(values, factor):\n    return sum(values) * factor + 10"), "compile_error"),
}  # fmt: skip


@pytest.mark.parametrize("form", REFERENCE_FORMS)
def test_reference_policy_keeps_its_quirks(form: str) -> None:
    text, expected = REFERENCE_FORMS[form]
    assert verdict(text, HUMANEVAL, "reference")[0] == expected
