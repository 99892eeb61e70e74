"""The judge of summaries played by a model: asked once for all findings of a summary, again once, else no verdict.

A verdict that cannot be used is missing, never "none" (measurement: summary).
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from lic_pipeline.errors import RecordError
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.models.request import canonical_json, digest
from lic_pipeline.prompts import render, template_hash
from lic_pipeline.records import Json
from lic_pipeline.simulation.call_store import CallStore
from lic_pipeline.simulation.plan.call_parameters import system_parameters
from lic_pipeline.simulation.roles.role_model import RoleModel, quoted
from lic_pipeline.tasks.summary.judge_questions import read_verdicts
from lic_pipeline.tasks.summary.stored_verdicts import Question

JUDGE_VERSION = "1"
"""Raised by hand whenever answers would be read differently."""

LONGEST_NUMBER = 9
"""Characters of a finding's number; Python refuses to read a number of thousands."""


class Judged(BaseModel):
    """What the judge must answer; entries are validated against the question, not here."""

    verdicts: list[Any]


def judge_identity(entry: ModelEntry) -> str:
    """What verdicts of a judge depend on beside the question: model, parameters, prompt, reading."""
    parts = [entry.id, system_parameters(entry), template_hash("roles/judge"), JUDGE_VERSION]
    return digest(canonical_json(parts))


class LLMJudge:
    """Asks one model about summaries."""

    def __init__(self, model: RoleModel) -> None:
        self._model = model

    async def ask(self, question: Question, call_store: CallStore) -> list[Json] | None:
        """Verdicts as ``read_verdicts`` takes them, None when the model gives none that can be used. Raises CallError.

        One call, or two: the second says what was wrong with the first answer.
        """
        findings = {number: insight.text for number, insight in enumerate(question.insights, start=1)}
        bullets = dict(enumerate(question.bullets, start=1))

        def prompt(problem: str) -> str:
            return render("roles/judge", findings=_json(findings), bullets=_json(bullets), problem=problem)

        asked = await self._model.ask(Judged, prompt, lambda judged: _problems(judged, question), 1, call_store)
        return None if asked.usable is None else read_answer(asked.usable, question)


def read_answer(judged: Judged, question: Question) -> list[Json]:
    """The answer with insight ids for numbers. Raises RecordError naming what is wrong with it."""
    found: dict[int, Json] = {}
    for entry in judged.verdicts:
        number = entry.get("finding") if isinstance(entry, dict) else None
        if isinstance(number, str) and number.strip().isdecimal() and len(number) <= LONGEST_NUMBER:
            number = int(number)
        if type(number) is not int or not 1 <= number <= len(question.insights):
            raise RecordError(f"an entry names no finding from 1 to {len(question.insights)}")
        if number in found:
            raise RecordError(f"finding {number} is judged twice")
        insight = question.insights[number - 1]
        one = {"insight_id": insight.insight_id, "coverage": entry.get("coverage"), "bullet_id": entry.get("bullet")}
        verdict = read_verdicts([one], question.insights, len(question.bullets))[insight.insight_id]
        if verdict.coverage != "none" and verdict.bullet is None:
            raise RecordError(f"finding {number} is {verdict.coverage} but names no bullet of the summary")
        found[number] = {"insight_id": insight.insight_id, "coverage": verdict.coverage, "bullet_id": verdict.bullet}
    missing = [str(number) for number in range(1, len(question.insights) + 1) if number not in found]
    if missing:
        raise RecordError(f"no verdict on finding {', '.join(missing)}")
    return [found[number] for number in sorted(found)]


def _problems(judged: Judged, question: Question) -> dict[str, str]:
    try:
        read_answer(judged, question)
    except RecordError as error:
        return {"bad_verdicts": str(error)}
    return {}


def _json(texts: dict[int, str]) -> str:
    lines = [f" {quoted(str(number))}: {quoted(text)}" for number, text in texts.items()]
    return "{\n" + ",\n".join(lines) + "\n}"
