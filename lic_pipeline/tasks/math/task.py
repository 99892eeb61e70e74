"""The math task (GSM8K): its Task object. Numbers, ladder, labels and the reference policy live beside it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Literal

from lic_pipeline.errors import RecordError
from lic_pipeline.prompts import render
from lic_pipeline.records import (
    Extraction,
    Instruction,
    Json,
    PersonaReply,
    Policy,
    Reply,
    Rung,
    Strategy,
    Verdict,
)
from lic_pipeline.tasks.math.extract_number import find, read, whole_value
from lic_pipeline.tasks.math.label import label as label_math
from lic_pipeline.tasks.math.numbers.number_grammar import canonical
from lic_pipeline.tasks.math.reference import comparable, last_token
from lic_pipeline.tasks.reply_reading import TRUNCATED_REASONING, visible_text
from lic_pipeline.tasks.user_messages import PlainMessages

_HASHES = "####"


@lru_cache(maxsize=4096)
def _gold(answer: str) -> tuple[Fraction, str] | None:
    """The value of a reference answer and its one spelling, None when it is no single number."""
    value = whole_value(answer)[0] if answer else None
    return None if value is None else (value, canonical(value))


def _gold_text(instruction: Instruction) -> str:
    """The reference answer as text, "" when the instruction has none."""
    answer = instruction.reference.get("answer")
    if answer is None or isinstance(answer, bool) or not isinstance(answer, str | int | float):
        return ""
    return str(answer).rpartition(_HASHES)[2].strip()


class MathTask(PlainMessages):
    """Word problems with one number as answer, compared as exact rationals."""

    name = "math"
    kind: Literal["binary", "refinement"] = "binary"
    costly = False
    scores_every_turn = True
    scorer_version = 4
    answer_description = (
        "a single number: the value that the problem asks for (integer, decimal, fraction or percentage)"
    )

    def check(self, instruction: Instruction) -> None:
        """Raise RecordError when the reference answer is missing or no number."""
        answer = _gold_text(instruction)
        if not answer:
            raise RecordError("is missing", field="reference.answer")
        if _gold(answer) is None:
            raise RecordError(f"{answer[:80]!r} is not a single number", field="reference.answer")

    def system_prompt(self, instruction: Instruction) -> str:
        """The same few lines for every problem."""
        return render("math/system")

    def label(self, reply: Reply, instruction: Instruction) -> Strategy:
        """Strategy by the math rules."""
        text, _ = visible_text(reply.text)
        return label_math(text, read(text, instruction.text))

    def extract(self, reply: Reply, instruction: Instruction, policy: Policy = "robust") -> Extraction:
        """The answer by the ladder of rungs; under ``reference`` the last number-like token of the whole reply."""
        text, truncated = visible_text(reply.text)
        if policy == "reference":
            token = last_token(text)
            extraction = Extraction(answer=token, rung=Rung.FAILED if token is None else Rung.LAST_NUMBER)
        else:
            extraction = find(text, instruction.text)[0]
        if truncated:
            return extraction.model_copy(update={"flags": (*extraction.flags, TRUNCATED_REASONING)})
        return extraction

    def score(self, answer: str, instruction: Instruction, policy: Policy = "robust") -> Verdict:
        """100 when the answer equals the reference: as a rational, or as the published scripts compared strings."""
        gold = _gold_text(instruction)
        if policy == "reference":
            return _score_reference(answer, gold)
        known = _gold(gold)
        if known is None:
            return Verdict(score=None, verdict="not_judged", error="reference is missing or no single number")
        value, several = whole_value(visible_text(answer)[0], instruction.text)
        expected, spelling = known
        detail = {"expected": spelling}
        if value is None:
            return Verdict(score=0.0, verdict="ambiguous" if several else "no_answer", detail=detail)
        right = value == expected
        verdict = "correct" if right else "wrong"
        return Verdict(score=100.0 if right else 0.0, verdict=verdict, answer=canonical(value), detail=detail)

    def gold(self, instruction: Instruction) -> str | None:
        """The reference answer as a reply."""
        answer = _gold_text(instruction)
        return f"Final answer: {answer}" if answer else None

    def persona_replies(self, instruction: Instruction) -> tuple[PersonaReply, ...]:
        """Right, two wrong, and the three kinds of reply that are no attempt. Raises RecordError without reference."""
        known = _gold(_gold_text(instruction))
        if known is None:
            raise RecordError("is missing or no single number", field="reference.answer")
        value, right = known
        high, low = canonical(value + 1), canonical(2 * value + 3)
        return (
            PersonaReply(
                kind="right", text=f"Putting the facts together step by step.\nFinal answer: {right}", score=100.0
            ),
            PersonaReply(kind="wrong", text=f"Working with what is there.\nFinal answer: {high}", score=0.0),
            PersonaReply(kind="wrong", text=f"I take the rest as usual.\nFinal answer: {low}", score=0.0),
            PersonaReply(kind="question", text="Which amounts does the problem give?"),
            PersonaReply(
                kind="hedge",
                text=f"If all of it counts, the answer is {high}.\nIf only half of it counts, the answer is {low}.",
            ),
            PersonaReply(kind="refusal", text="I am sorry, but I cannot solve this problem."),
        )

    def score_item(self, line: Mapping[str, Json], base: Path) -> Instruction:
        """The instruction of one ``lic score`` line ``{reference, response}``."""
        reference = line.get("reference")
        if reference is None or reference == "":
            raise RecordError("is missing", field="reference")
        if isinstance(reference, bool) or not isinstance(reference, str | int | float):
            raise RecordError("must be a number or the text of an answer", field="reference")
        text = str(reference)
        instruction = Instruction(
            instruction_id=str(line.get("id", "")),
            task=self.name,
            benchmark="lic_score",
            text=str(line.get("question") or ""),
            reference={"answer": text.rpartition(_HASHES)[2].strip(), "solution": text},
        )
        if _gold(_gold_text(instruction)) is None:
            raise RecordError(f"{text[-80:]!r} holds no single number", field="reference")
        return instruction


def _score_reference(answer: str, gold: str) -> Verdict:
    expected = gold.lower().replace(",", "").replace("$", "").removesuffix(".")
    token = last_token(answer)
    if token is None:
        return Verdict(score=0.0, verdict="no_answer", detail={"expected": expected})
    given = comparable(token)
    right = given == expected
    return Verdict(
        score=100.0 if right else 0.0,
        verdict="correct" if right else "wrong",
        answer=given,
        detail={"expected": expected},
    )


TASK = MathTask()
