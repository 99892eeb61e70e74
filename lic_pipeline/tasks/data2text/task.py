"""Task data2text (ToTTo): one sentence about the highlighted cells of a table, graded by corpus BLEU.

The score itself stands in ``bleu``, the wording in ``prompts/data2text``; tables are rendered by the reader.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from lic_pipeline.errors import RecordError
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
from lic_pipeline.tasks.data2text.bleu import bleu, usable_references
from lic_pipeline.tasks.data2text.persona_replies import menu
from lic_pipeline.tasks.refinement import label_prose, whole_reply
from lic_pipeline.tasks.user_messages import PlainMessages

PERFECT = 100.0


class Data2Text(PlainMessages):
    """The ToTTo task. Every reply is an attempt, the whole reply is the answer; both policies score alike."""

    name = "data2text"
    kind: Literal["binary", "refinement"] = "refinement"
    costly = False
    scores_every_turn = True
    scorer_version = 2
    answer_description = "One complete English sentence that describes the highlighted cells of the table."

    def check(self, instruction: Instruction) -> None:
        """Raise RecordError without a usable reference, or when BLEU cannot give even a perfect copy 100."""
        references = usable_references(instruction.reference.get("references"))
        if bleu(_best_reference(references), references).score < PERFECT:
            raise RecordError(
                "every reference has fewer than 4 tokens: default BLEU scores even a perfect copy 0", field="references"
            )

    def system_prompt(self, instruction: Instruction) -> str:
        """One line of role and the form of the answer."""
        return template("data2text/system")

    def label(self, reply: Reply, instruction: Instruction) -> Strategy:
        """An attempt, unless the reply is empty or declines."""
        return label_prose(reply)

    def extract(self, reply: Reply, instruction: Instruction, policy: Policy = "robust") -> Extraction:
        """The whole reply; an empty one fails."""
        return whole_reply(reply)

    def score(self, answer: str, instruction: Instruction, policy: Policy = "robust") -> Verdict:
        """Corpus BLEU, 0..100, with its signature and parts in ``detail``; the policy changes nothing."""
        try:
            result = bleu(answer, usable_references(instruction.reference.get("references")))
        except RecordError as error:
            return Verdict(score=None, verdict="graded", answer=answer, error=str(error))
        return Verdict(score=result.score, verdict="graded", answer=answer, detail=result.detail())

    def gold(self, instruction: Instruction) -> str | None:
        """A reference whose copy scores 100 (the longest when all are too short), None when there is none."""
        try:
            return _best_reference(usable_references(instruction.reference.get("references")))
        except RecordError:
            return None

    def persona_replies(self, instruction: Instruction) -> tuple[PersonaReply, ...]:
        """Ready replies: a reference, two poor sentences, a question, a hedge and a refusal."""
        gold = self.gold(instruction)
        return () if gold is None else menu(gold, instruction, lambda text: self.score(text, instruction))

    def score_item(self, line: Mapping[str, Json], base: Path) -> Instruction:
        """The instruction of one ``lic score`` line: ``references``. Raises RecordError naming the field."""
        references = usable_references(line.get("references"))
        return Instruction(
            instruction_id="", task=self.name, benchmark="", text="", reference={"references": references}
        )


def _best_reference(references: Sequence[str]) -> str:
    """The first reference whose copy scores 100, else (all too short for that) the longest."""
    perfect = (text for text in references if bleu(text, references).score >= PERFECT)
    return next(perfect, max(references, key=len))


TASK = Data2Text()
