"""Replies made from an instruction alone: the gold reply, and the menu of personas. Nothing is run here."""

from __future__ import annotations

import base64
import json
import zlib
from typing import Any

from lic_pipeline.errors import RecordError
from lic_pipeline.records import Instruction, PersonaReply
from lic_pipeline.tasks.code.compare_output import arguments_of
from lic_pipeline.tasks.code.extract_program import entry_point_of
from lic_pipeline.tasks.code.program_syntax import MAX_PROGRAM, functions_of, header_of, parse

_NEVER = "none of the expected results"
_PLAIN = 20_000


def fenced(program: str) -> str:
    """A program as a fenced block that nothing inside can close."""
    fence = "```"
    while fence in program:
        fence += "`"
    return f"{fence}python\n{program.rstrip()}\n{fence}"


def gold_reply(instruction: Instruction) -> str | None:
    """HumanEval: prompt and canonical solution. LiveCodeBench has no solutions: a lookup of the tests' own outputs."""
    reference = instruction.reference
    if reference.get("format") == "humaneval":
        prompt, solution = reference.get("prompt"), reference.get("canonical_solution")
        if not isinstance(prompt, str) or not isinstance(solution, str) or not solution.strip():
            return None
        return fenced(prompt.rstrip("\n") + "\n" + solution.lstrip("\n"))
    try:
        program = _lookup(instruction)
    except (RecordError, KeyError, TypeError):
        return None
    return fenced(program) if len(program) < MAX_PROGRAM else None


def _lookup(instruction: Instruction) -> str:
    """A program that knows the answer of every test by its input."""
    tests = instruction.reference["tests"]
    name = entry_point_of(instruction)
    if name is None:
        answers = {test["input"].strip(): test["output"] for test in tests}
        return (
            f"import base64, json, sys, zlib\n\nANSWERS = {_table(answers)}\n"
            "print(ANSWERS[sys.stdin.read().strip()], end='')\n"
        )
    answers = {json.dumps(arguments_of(test["input"])): json.loads(test["output"]) for test in tests}
    body = f"import base64, json, zlib\n\nANSWERS = {_table(answers)}\n\n\n"
    return body + _wrapped(name, instruction, "return ANSWERS[json.dumps(arguments)]")


def _table(answers: dict[str, Any]) -> str:
    text = json.dumps(answers)
    if len(text) <= _PLAIN:
        return f"json.loads({text!r})"
    packed = base64.b85encode(zlib.compress(text.encode(), 9)).decode("ascii")
    return f"json.loads(zlib.decompress(base64.b85decode({packed!r})))"


def _wrapped(name: str, instruction: Instruction, statement: str) -> str:
    """One function (or method of the starter code's class) whose only statement is given."""
    if "class Solution" in str(instruction.reference.get("starter_code") or ""):
        return f"class Solution:\n    def {name}(self, *arguments):\n        {statement}\n"
    return f"def {name}(*arguments):\n    {statement}\n"


def wrong_programs(instruction: Instruction) -> tuple[str, str]:
    """Two programs that fail in different ways: another result, an exception."""
    name = entry_point_of(instruction)
    if name is None:
        return (
            f"import sys\n\nlines = sys.stdin.read().split()\nprint({_NEVER!r}, len(lines))\n",
            "import sys\n\nlines = sys.stdin.read().split()\nprint(lines[len(lines) + 1])\n",
        )
    constant = f"return {_NEVER!r}"
    failing = "raise ValueError('unexpected input')"
    prompt = instruction.reference.get("prompt")
    if isinstance(prompt, str):
        return _completed(prompt, name, constant), _completed(prompt, name, failing)
    return _wrapped(name, instruction, constant), _wrapped(name, instruction, failing)


def _completed(prompt: str, name: str, statement: str) -> str:
    """The function of a prompt, header and signature kept, with one statement as body."""
    tree = parse(prompt)
    for function in functions_of(tree.body) if tree is not None else ():
        if function.name == name:
            first, last = function.lineno - 1, max(function.lineno, function.body[0].lineno - 1)
            signature = "\n".join(prompt.split("\n")[first:last])
            program = f"{header_of(prompt, name).rstrip()}\n\n{signature}\n    {statement}\n".lstrip("\n")
            if parse(program) is not None:
                return program
    return f"def {name}(*arguments):\n    {statement}\n"


def menu_items(instruction: Instruction) -> tuple[PersonaReply, ...]:
    """Ready replies: right, two wrong ones, a question, a hedge, a refusal; empty without a reference."""
    gold = gold_reply(instruction)
    if gold is None:
        return ()
    first, second = wrong_programs(instruction)
    hedge = (
        "If you want the first reading, this would do:\n\n"
        f"{fenced(first)}\n\nIf you meant the second one, it would rather be:\n\n{fenced(second)}\n"
    )
    return (
        PersonaReply(kind="right", text=f"Here is my solution.\n\n{gold}", score=100.0),
        PersonaReply(kind="wrong", text=f"This should do it.\n\n{fenced(first)}", score=0.0),
        PersonaReply(kind="wrong", text=f"I would write it like this.\n\n{fenced(second)}", score=0.0),
        PersonaReply(kind="question", text="What should happen when the input is empty?"),
        PersonaReply(kind="hedge", text=hedge),
        PersonaReply(kind="refusal", text="I'm sorry, but I can't help with this request."),
    )
