"""The code task beside its forms: labels, menus, checks, comparison, packed tests, weak mode, real items, any text."""

# ruff: noqa: E501 - a table reads best with one case a line

from __future__ import annotations

import base64
import json
import pickle
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lic_pipeline.benchmarks import humaneval, livecodebench
from lic_pipeline.benchmarks.private_tests import decode_private_tests
from lic_pipeline.config import data_path
from lic_pipeline.errors import RecordError
from lic_pipeline.records import Instruction, Reply, Shard, Strategy
from lic_pipeline.tasks.code import TASK
from lic_pipeline.tasks.code import weak_sandbox as code_policy
from lic_pipeline.tasks.code.compare_output import same_output, same_value
from lic_pipeline.tasks.protocol import Task

ADD = Instruction(
    instruction_id="humaneval/1",
    task="code",
    benchmark="humaneval",
    text="Write add(a, b).",
    reference={
        "format": "humaneval",
        "entry_point": "add",
        "prompt": 'def add(a: int, b: int) -> int:\n    """The sum."""\n',
        "canonical_solution": "    return a + b\n",
        "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert candidate(-1, 1) == 0\n",
    },
)
READ = Instruction(
    instruction_id="livecodebench/9",
    task="code",
    benchmark="livecodebench",
    text="Print twice the number.",
    reference={
        "format": "stdin",
        "entry_point": None,
        "starter_code": "",
        "tests": [{"input": f"{n}\n", "output": f"{2 * n}\n", "testtype": "stdin"} for n in range(3)],
    },
)
BLOCK = "```python\ndef add(a, b):\n    return a + b\n```"
OTHER = "```python\ndef add(a, b):\n    return a - b\n```"


def with_reference(**changes: Any) -> Instruction:
    return ADD.model_copy(update={"reference": {**ADD.reference, **changes}})


def test_it_is_a_task() -> None:
    assert isinstance(TASK, Task)
    assert (TASK.kind, TASK.costly) == ("binary", True)


def test_messages() -> None:
    prompt = TASK.system_prompt(ADD)
    assert prompt == TASK.system_prompt(READ)
    for word in ("turn", "underspecified", "clarif", "question", "incomplete", "conversation"):
        assert word not in prompt.lower()
    shards = (Shard(shard_id=1, text="write add"), Shard(shard_id=2, text="it takes {{two}} numbers"))
    assert TASK.full_message(ADD) == ADD.text
    assert TASK.shard_message(ADD, shards[1]) == "it takes {{two}} numbers"
    message = TASK.concat_message(ADD, shards)
    assert message.index("write add") < message.index("it takes {{two}} numbers")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BLOCK, Strategy.ANSWER_ATTEMPT),
        ("def add(a, b):\n    return a + b", Strategy.ANSWER_ATTEMPT),
        (f"{BLOCK}\n\nDo you want type hints?", Strategy.ANSWER_ATTEMPT),
        (f"First try:\n{OTHER}\nThat subtracts. The corrected version:\n{BLOCK}", Strategy.ANSWER_ATTEMPT),
        (f"If you want a sum:\n{BLOCK}\nIf you want a difference:\n{OTHER}", Strategy.HEDGING),
        (f"Option 1:\n{BLOCK}\nOption 2:\n{OTHER}", Strategy.HEDGING),
        ("What should it return for negative numbers?", Strategy.CLARIFICATION),
        ("What types are a and b? Should it raise errors? May they be None?", Strategy.INTERROGATION),
        ("Addition is a basic operation on numbers. It is commutative.", Strategy.DISCUSSION),
        ("I'm sorry, but I can't help with that.", Strategy.REFUSAL),
        ("", Strategy.MISSING),
        (" \n ", Strategy.MISSING),
        ("<think>hm", Strategy.MISSING),
        ("```python\ndef add(a, b):\n    pass\n```\nWhat should the body do?", Strategy.CLARIFICATION),
        ("```python\ndef add(a, b):\n    raise NotImplementedError\n```\nWhich rule applies?", Strategy.CLARIFICATION),
    ],
)
def test_labels(text: str, expected: Strategy) -> None:
    assert TASK.label(Reply(text=text), ADD) is expected


LABEL_OF = {
    "right": Strategy.ANSWER_ATTEMPT,
    "wrong": Strategy.ANSWER_ATTEMPT,
    "question": Strategy.CLARIFICATION,
    "hedge": Strategy.HEDGING,
    "refusal": Strategy.REFUSAL,
}


def assert_menu_holds(instruction: Instruction) -> None:
    TASK.check(instruction)
    menu = TASK.persona_replies(instruction)
    assert sorted(item.kind for item in menu) == ["hedge", "question", "refusal", "right", "wrong", "wrong"]
    verdicts = []
    for item in menu:
        reply = Reply(text=item.text)
        assert TASK.label(reply, instruction) is LABEL_OF[item.kind], (instruction.instruction_id, item.kind)
        if item.score is None:
            continue
        answer = TASK.extract(reply, instruction).answer
        assert answer is not None
        scored = TASK.score(answer, instruction)
        assert scored.score == item.score, (instruction.instruction_id, item.kind, scored)
        verdicts.append(scored.verdict)
    assert verdicts[0] == "correct"
    assert len(set(verdicts)) == 3, "the wrong replies must fail in different ways"


@pytest.mark.parametrize("instruction", [ADD, READ], ids=["humaneval", "stdin"])
def test_menu_scores_as_declared(instruction: Instruction) -> None:
    assert_menu_holds(instruction)


def test_menu_of_our_own_samples() -> None:
    samples = data_path() / "samples"
    found = [
        *humaneval.read(samples / "humaneval").instructions,
        *livecodebench.read(samples / "livecodebench").instructions,
    ]
    assert found
    for instruction in found:
        assert_menu_holds(instruction)


def test_no_reference_no_gold() -> None:
    bare = with_reference(canonical_solution="")
    assert TASK.gold(bare) is None
    assert TASK.persona_replies(bare) == ()


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"format": "quiz"}, "format"),
        ({"entry_point": None}, "entry_point"),
        ({"entry_point": "a b"}, "entry_point"),
        ({"prompt": ""}, "prompt"),
        ({"test": None}, "test"),
        ({"test": "assert add(1, 2) == 3"}, "test"),
        ({"test": "def check(candidate) return"}, "test"),
        ({"format": "functional", "tests": []}, "tests"),
        ({"format": "functional", "tests": [{"input": "[1", "output": "1"}]}, "tests"),
        ({"format": "functional", "tests": [{"input": "1", "output": "one"}]}, "tests"),
        ({"format": "stdin", "tests": [{"input": 1, "output": "1"}]}, "tests"),
    ],
)
def test_garbled_instructions_are_named(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(RecordError) as caught:
        TASK.check(with_reference(**changes))
    assert caught.value.field == field


def test_a_garbled_instruction_gives_no_score() -> None:
    scored = TASK.score("def add(a, b): return 3", with_reference(format="functional", tests=[]))
    assert scored.score is None
    assert scored.error


PUBLIC = json.dumps([{"input": "1\n2", "output": "3", "testtype": "functional"}])


@pytest.mark.parametrize(
    ("line", "form"),
    [
        ({"entry_point": "add", "prompt": ADD.reference["prompt"], "test": ADD.reference["test"]}, "humaneval"),
        ({"starter_code": "", "public_test_cases": PUBLIC, "metadata": '{"func_name": "add"}'}, "functional"),
        ({"starter_code": "", "public_test_cases": json.loads(PUBLIC), "metadata": {"func_name": "add"}}, "functional"),
        ({"public_test_cases": "[]", "private_test_cases": PUBLIC, "entry_point": "add"}, "functional"),
        ({"starter_code": "", "public_test_cases": '[{"input": "1", "output": "1"}]'}, "stdin"),
    ],
)
def test_score_lines(line: dict[str, Any], form: str) -> None:
    instruction = TASK.score_item(line, Path())
    assert instruction.reference["format"] == form
    program = "a = input()\nprint(a)" if form == "stdin" else "def add(a, b): return a + b"
    assert TASK.score(program, instruction).score == 100


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ({"prompt": "x", "test": "y"}, "entry_point"),
        ({"entry_point": "add", "test": "y"}, "prompt"),
        ({}, "test"),
        ({"public_test_cases": "nonsense"}, "public_test_cases"),
        ({"public_test_cases": 5}, "public_test_cases"),
        ({"public_test_cases": PUBLIC, "private_test_cases": "!!"}, "private_test_cases"),
        ({"public_test_cases": PUBLIC, "metadata": "{"}, "metadata"),
        ({"public_test_cases": "[]"}, "tests"),
    ],
)
def test_bad_score_lines_name_the_field(line: dict[str, Any], field: str) -> None:
    with pytest.raises(RecordError) as caught:
        TASK.score_item(line, Path())
    assert caught.value.field == field


def packed(value: Any) -> str:
    return base64.b64encode(zlib.compress(pickle.dumps(value))).decode()


class Runs:
    def __reduce__(self) -> Any:
        return (print, ("pickle code ran",))


def test_packed_tests_are_decoded() -> None:
    assert decode_private_tests(packed(PUBLIC)) == json.loads(PUBLIC)
    assert decode_private_tests(PUBLIC) == json.loads(PUBLIC)
    assert decode_private_tests("") == []


@pytest.mark.parametrize(
    "text",
    [
        packed(Runs()), packed([1, 2]), packed({"a": 1}), packed("{"), packed('{"a": 1}'), packed('[{"input": 1}]'),
        base64.b64encode(b"no zlib").decode(), base64.b64encode(zlib.compress(b"no pickle")).decode(), "***", "[" * 9999,
        packed(PUBLIC)[:40], '[{"input": "", "output": "", "testtype": "other"}]',
    ],
)  # fmt: skip
def test_unusable_packed_tests_are_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RecordError):
        decode_private_tests(text)
    assert "pickle code ran" not in capsys.readouterr().out


def test_a_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lic_pipeline.benchmarks.private_tests.MAX_DECODED", 1000)
    with pytest.raises(RecordError, match="inflates"):
        decode_private_tests(packed("[" + " " * 100_000 + "]"))


@pytest.mark.parametrize(
    ("found", "expected", "same"),
    [
        ([1, (2, 3)], [1, [2, 3]], True),
        (0.1 + 0.2, 0.3, True),
        (1e300, 1e300 * (1 + 1e-12), True),
        (1.000001, 1.0, False),
        (float("nan"), 1.0, False),
        ("1", 1, False),
        (None, None, True),
        ([1], [1, 2], False),
        ({"a": (1,)}, {"a": [1]}, True),
        (10**400, 1.0, False),
        ("ab", ["a", "b"], False),
    ],
)
def test_values(found: Any, expected: Any, same: bool) -> None:
    assert same_value(found, expected) is same


@pytest.mark.parametrize(
    ("found", "expected", "same"),
    [
        ("1\n2\n", "1\n2", True),
        ("  1 2 \n", "1 2", True),
        ("1\r\n2", "1\n2", True),
        ("0.30000000000000004", "0.3", True),
        ("1.0", "1", True),
        ("yes", "YES", False),
        ("1 2", "1\n2", False),
        ("1\n\n2", "1\n2", False),
        ("01", "1", False),
        ("", "", True),
        ("nan", "1.0", False),
    ],
)
def test_outputs(found: str, expected: str, same: bool) -> None:
    assert same_output(found, expected) is same


def test_weak_mode_runs_nothing_of_real_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_policy, "sandbox_mode", lambda: "weak")
    foreign = TASK.score("def add(a, b): return a + b  # by a model", ADD)
    assert (foreign.score, foreign.error) == (None, "no_sandbox")
    assert_menu_holds(ADD)
    gold = TASK.extract(Reply(text=TASK.gold(ADD) or ""), ADD).answer
    assert TASK.score(gold or "", ADD).score == 100
    monkeypatch.setattr(code_policy.PERMISSION, "allow_weak", True)
    assert TASK.score("def add(a, b): return a + b  # by a model", ADD).score == 100


def test_verdicts_say_the_same_every_time() -> None:
    program = "class A: pass\ndef add(a, b): raise ValueError(str(A()) + str({'x', 'y', 'z'}))"
    assert TASK.score(program, ADD) == TASK.score(program, ADD)


def real_items(shared_data: Path) -> list[Instruction]:
    return list(humaneval.read(shared_data / "raw" / "humaneval").instructions)


def score_all(programs: list[tuple[str, Instruction]]) -> list[Any]:
    with ThreadPoolExecutor(2) as executor:
        return list(executor.map(lambda pair: TASK.score(*pair), programs))


def gold_program(item: Instruction) -> str:
    answer = TASK.extract(Reply(text=TASK.gold(item) or ""), item).answer
    assert answer is not None
    return answer


def mutated(item: Instruction) -> str:
    """The canonical solution behind a wrapper that spoils its result."""
    name = item.reference["entry_point"]
    return f"{gold_program(item)}\n\n_kept = {name}\ndef {name}(*args):\n    return [_kept(*args), 'spoilt']\n"


def check_real(items: list[Instruction]) -> None:
    for item, scored in zip(items, score_all([(gold_program(item), item) for item in items]), strict=True):
        assert scored.score == 100, (item.instruction_id, scored)
    for item, scored in zip(items, score_all([(mutated(item), item) for item in items]), strict=True):
        assert scored.score == 0, (item.instruction_id, scored)


def test_real_canonical_solutions_pass_and_spoilt_ones_fail(shared_data: Path) -> None:
    check_real(real_items(shared_data)[30:60:3])


@pytest.mark.slow
def test_all_real_canonical_solutions_pass_and_spoilt_ones_fail(shared_data: Path) -> None:
    items = real_items(shared_data)
    assert len(items) == 164
    check_real(items)


def test_real_contest_items(shared_data: Path) -> None:
    for item in livecodebench.read(shared_data / "raw" / "livecodebench").instructions:
        assert_menu_holds(item)


PIECES = st.sampled_from(
    [
        "```python\n", "```", "\n", "def add(a, b):\n", "    return a + b\n", "class Solution:\n", "import os\n", "~~~", "\x00", "\ud800",
        "(" * 500, "[" * 3000, "<think>", "</think>", "@", "if x:\n", "print(input())\n", "lambda: ", "'''", ">>> ",
    ]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES | st.text(max_size=20), max_size=30).map("".join))
def test_no_text_breaks_extraction_or_label(text: str) -> None:
    for instruction in (ADD, READ):
        reply = Reply(text=text)
        assert isinstance(TASK.label(reply, instruction), Strategy)
        for policy in ("robust", "reference"):
            extraction = TASK.extract(reply, instruction, policy)  # type: ignore[arg-type]
            assert extraction.answer is None or extraction.answer.strip() or policy == "reference"


@pytest.mark.parametrize(
    "text",
    [
        "def add(a, b):\n    raise " + "-" * 900 + "x", "if " + "-" * 900 + "x == 1:\n    pass\ndef add(a, b): pass", "x" * 1_000_000, "(" * 1_000_000, "```python\n" + "[" * 1_000_000, "def f(:\n" * 100_000, "\x00" * 1000, "-" * 200_000 + "1",
        "```python\n" + "-" * 50_000 + "1\n```", "```\n" * 20_000, "import a\n" * 11_000 + "oops oops", "x = " + "a." * 50_000 + "b",
        "```python\n" + "if x:\n" * 90 + "\n```", "def add(a, b):\n" + " return (" * 5000, "```python\nx=" + "1+" * 30_000 + "1\n```",
    ],
)  # fmt: skip
def test_huge_and_nested_texts(text: str) -> None:
    reply = Reply(text=text)
    for instruction in (ADD, READ):
        TASK.label(reply, instruction)
        for policy in ("robust", "reference"):
            answer = TASK.extract(reply, instruction, policy).answer  # type: ignore[arg-type]
            if answer is not None:
                scored = TASK.score(answer, instruction)
                assert scored.score == 0, scored
