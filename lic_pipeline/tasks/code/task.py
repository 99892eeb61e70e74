"""The code task (HumanEval, LiveCodeBench): its Task object. Rules stand in ``code_*.py``, walls in the sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from lic_pipeline.prompts import template
from lic_pipeline.records import (
    Extraction,
    Instruction,
    Json,
    PersonaReply,
    Policy,
    Reply,
    Strategy,
    Verdict,
)
from lic_pipeline.sandbox.python.api import SandboxError
from lic_pipeline.tasks.code.extract_program import extract_program
from lic_pipeline.tasks.code.instructions import check_instruction, item_of_line
from lic_pipeline.tasks.code.label import label_reply
from lic_pipeline.tasks.code.persona_replies import gold_reply, menu_items
from lic_pipeline.tasks.code.reference import extract_reference
from lic_pipeline.tasks.code.run_tests import run_tests
from lic_pipeline.tasks.code.weak_sandbox import NO_SANDBOX, may_run
from lic_pipeline.tasks.user_messages import PlainMessages


class CodeTask(PlainMessages):
    """Python programs, right when they pass every test of their benchmark inside the sandbox."""

    name = "code"
    kind: Literal["binary", "refinement"] = "binary"
    costly = True
    scores_every_turn = True
    scorer_version = 4
    answer_description = (
        "a complete Python program or function, with all of its imports and helpers, that solves the task"
    )

    def check(self, instruction: Instruction) -> None:
        """Raise RecordError naming the field that is missing or garbled."""
        check_instruction(instruction)

    def system_prompt(self, instruction: Instruction) -> str:
        """One line of role and the form of the answer."""
        return template("code/system")

    def label(self, reply: Reply, instruction: Instruction) -> Strategy:
        """An attempt when a program can be lifted; alternatives under conditions are hedging."""
        return label_reply(reply, instruction)

    def extract(self, reply: Reply, instruction: Instruction, policy: Policy = "robust") -> Extraction:
        """The program of a reply: fenced blocks first, else code in the open text."""
        return extract_program(reply, instruction) if policy == "robust" else extract_reference(reply, instruction)

    def score(self, answer: str, instruction: Instruction, policy: Policy = "robust") -> Verdict:
        """100 when all tests pass in the sandbox. Without strong walls, foreign programs get ``no_sandbox``."""
        try:
            if not may_run(answer, instruction):
                return Verdict(score=None, verdict="not_judged", answer=answer, error=NO_SANDBOX)
        except SandboxError as error:
            return Verdict(score=None, verdict="not_judged", answer=answer, error=f"sandbox: {error}")
        return run_tests(answer, instruction, policy)

    def gold(self, instruction: Instruction) -> str | None:
        """The canonical solution; for LiveCodeBench a lookup of the tests' outputs, right by construction."""
        return gold_reply(instruction)

    def persona_replies(self, instruction: Instruction) -> tuple[PersonaReply, ...]:
        """Ready replies: right, wrong (another result; an exception), a question, a hedge, a refusal."""
        return menu_items(instruction)

    def score_item(self, line: Mapping[str, Json], base: Path) -> Instruction:
        """The instruction of one ``lic score`` line: HumanEval's fields, or LiveCodeBench's."""
        return item_of_line(line)


TASK = CodeTask()
