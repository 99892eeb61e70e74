"""Ready replies of personas for a ToTTo item: the reference and sentences about something else.

Nothing here scores: the caller hands in the task's scorer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lic_pipeline.prompts import template
from lic_pipeline.records import Instruction, PersonaReply, Verdict

CLEARLY_LOWER = 40.0
"""A wrong reply scores at most this."""


def menu(gold: str, instruction: Instruction, score: Callable[[str], Verdict]) -> tuple[PersonaReply, ...]:
    """Right (the reference), two wrong with their real scores, a question, a hedge, a refusal."""
    wrong = []
    for text in _wrong_candidates(gold, instruction):
        points = score(text).score
        if points is not None and points <= CLEARLY_LOWER:
            wrong.append(PersonaReply(kind="wrong", text=text, score=points))
        if len(wrong) == 2:
            break
    return (
        PersonaReply(kind="right", text=gold, score=score(gold).score),
        *wrong,
        PersonaReply(kind="question", text="Which cells of the table should the sentence be about?"),
        PersonaReply(
            kind="hedge",
            text="It depends on what you need: the sentence could be about a single row, or it could be about the "
            "whole table.",
        ),
        PersonaReply(kind="refusal", text="I'm sorry, but I can't help with describing this table."),
    )


def _wrong_candidates(gold: str, instruction: Instruction) -> Iterator[str]:
    """Captions from another angle: the page, the shape of the table, half of the facts, other tables' captions."""
    page = str(instruction.metadata.get("page_title") or "").strip()
    section = str(instruction.metadata.get("section_title") or "").strip()
    if page:
        yield f"The page on {page} contains a table" + (f" in its part called {section}." if section else ".")
    words = gold.split()
    yield " ".join(sorted(words[: max(2, len(words) // 2)], key=str.casefold, reverse=True)) + " is listed here."
    yield from template("data2text/caption_samples").splitlines()
