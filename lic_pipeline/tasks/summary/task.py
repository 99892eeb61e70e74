"""Task summary (Summary of a Haystack): bullets with citations over many documents, graded by coverage and citations.

Parts: ``tables``, ``forms``, ``citations``, ``sources`` and ``bullets`` read a reply, ``judge`` and ``lexical`` judge,
``score`` counts. Messages with documents are built by the readers. Nothing here calls a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from lic_pipeline.errors import RecordError
from lic_pipeline.prompts import template
from lic_pipeline.records import Extraction, Instruction, Json, PersonaReply, Policy, Reply, Strategy, Verdict
from lic_pipeline.tasks.refinement import label_prose, whole_reply
from lic_pipeline.tasks.summary.forms import plain_form
from lic_pipeline.tasks.summary.judge_questions import Insight, InsightVerdict, Judge, read_insights, read_verdicts
from lic_pipeline.tasks.summary.lexical_judge import LexicalJudge
from lic_pipeline.tasks.summary.persona_replies import menu, reference_summary
from lic_pipeline.tasks.summary.summary_bullets import (
    Bullet,
    parse_bullets,
    read_bullets,
    read_bullets_losing_citations,
)
from lic_pipeline.tasks.summary.summary_score import restricted, score_summary
from lic_pipeline.tasks.summary.tables import with_cited_columns
from lic_pipeline.tasks.user_messages import PlainMessages


class Summary(PlainMessages):
    """The summary task. Every reply is an attempt, the whole reply is the answer.

    ``judge`` judges insights without a verdict in ``reference["verdicts"]``. When some have one and some have not, the
    score is missing (``not_judged``) unless ``fill`` says that the judge may judge the rest. ``every_turn``: replies
    before the last one are scored too, against everything that was to be found (one scale for all turns).
    """

    name = "summary"
    kind: Literal["binary", "refinement"] = "refinement"
    costly = False
    scorer_version = 2
    answer_description = (
        "A list of bullet points about the question, each ending with [numbers] of the documents cited."
    )

    def __init__(self, judge: Judge | None = None, fill: bool = False, every_turn: bool = False) -> None:
        self.judge: Judge = judge or LexicalJudge()
        self.fill = fill
        self.scores_every_turn = every_turn

    def check(self, instruction: Instruction) -> None:
        """Raise RecordError naming the field: topic, query, documents and insights that cite documents given."""
        for name in ("topic", "query"):
            if not isinstance(instruction.context.get(name), str) or not instruction.context[name].strip():
                raise RecordError("is missing or empty", field=name)
        given = _documents(instruction)
        if not given:
            raise RecordError("is missing, empty or without document_index", field="documents")
        insights = read_insights(instruction.reference.get("insights"))
        for insight in insights:
            if not set(insight.citations) <= given:
                outside = sorted(set(insight.citations) - given)
                raise RecordError(
                    f"entry {insight.insight_id} cites {outside}, not among the documents", field="insights"
                )
        if not any(insight.citations for insight in insights):
            raise RecordError("hold no citation among the documents given", field="insights")

    def system_prompt(self, instruction: Instruction) -> str:
        """Role and form of the summary."""
        return template("summary/system")

    def label(self, reply: Reply, instruction: Instruction) -> Strategy:
        """An attempt, unless the reply is empty or declines."""
        return label_prose(reply)

    def extract(self, reply: Reply, instruction: Instruction, policy: Policy = "robust") -> Extraction:
        """The whole reply; an empty one fails."""
        return whole_reply(reply)

    def score(self, answer: str, instruction: Instruction, policy: Policy = "robust") -> Verdict:
        """Joint score 0..100 with verdicts, coverage and citation F1 in ``detail``; missing when not judged.

        ``reference["given"]`` (optional, document numbers) restricts the insights' documents to those handed over.
        Policy ``reference`` reads citations and sources only as they stand, and trims citations like other words.
        """
        robust = policy == "robust"
        raw = parse_bullets(plain_form(with_cited_columns(answer))) if robust else parse_bullets(answer, sources=False)
        bullets = (read_bullets if robust else read_bullets_losing_citations)(raw)
        try:
            insights = restricted(
                read_insights(instruction.reference.get("insights")), instruction.reference.get("given")
            )
            verdicts, judge = self._verdicts(instruction.reference.get("verdicts"), insights, bullets)
            unjudged = [i.insight_id for i in insights if i.citations and i.insight_id not in verdicts]
            if unjudged:
                reason = f"not_judged: no verdict for insight {', '.join(unjudged)}"
                return Verdict(score=None, verdict="not_judged", answer=answer, error=reason)
            result = score_summary(bullets, insights, verdicts)
        except RecordError as error:
            return Verdict(score=None, verdict="not_judged", answer=answer, error=str(error))
        words = sum(len(bullet.words) for bullet in read_bullets(raw, limit=10**9))
        extent = {"judge": judge, "bullets": len(bullets), "words": words}
        return Verdict(score=result.score, verdict="graded", answer=answer, detail={**extent, **result.detail()})

    def _verdicts(
        self, given: Json, insights: Sequence[Insight], bullets: Sequence[Bullet]
    ) -> tuple[dict[str, InsightVerdict], str]:
        """Verdicts by insight id, and who judged: ``given``, the judge's name, or both."""
        verdicts = read_verdicts(given, insights, len(bullets)) if given else {}
        rest = [insight for insight in insights if insight.citations and insight.insight_id not in verdicts]
        if not rest or (verdicts and not self.fill):
            return verdicts, "given"
        judged = {v.insight_id: v for v in self.judge.judge(rest, [bullet.text for bullet in bullets])}
        return {**judged, **verdicts}, f"given+{self.judge.name}" if verdicts else self.judge.name

    def gold(self, instruction: Instruction) -> str | None:
        """One bullet per insight with its citations, None without usable insights."""
        try:
            insights = read_insights(instruction.reference.get("insights"))
        except RecordError:
            return None
        return reference_summary(insights) or None

    def persona_replies(self, instruction: Instruction) -> tuple[PersonaReply, ...]:
        """Ready replies, scored here; empty without usable insights."""
        if self.gold(instruction) is None:
            return ()
        insights = read_insights(instruction.reference.get("insights"))
        return menu(insights, _documents(instruction), lambda text: self.score(text, instruction))

    def score_item(self, line: Mapping[str, Json], base: Path) -> Instruction:
        """The instruction of one ``lic score`` line: ``insights``, optional ``verdicts``. Raises RecordError."""
        insights = read_insights(line.get("insights"))
        if not any(insight.citations for insight in insights):
            raise RecordError("hold no citation at all", field="insights")
        reference = {"insights": line["insights"]}
        if (verdicts := line.get("verdicts")) is not None:
            read_verdicts(verdicts, insights, bullets=0)
            reference["verdicts"] = verdicts
        return Instruction(instruction_id="", task=self.name, benchmark="", text="", reference=reference)


def _documents(instruction: Instruction) -> set[int]:
    """Numbers of the documents handed over; empty when the field is unusable."""
    listed = instruction.context.get("documents")
    if not isinstance(listed, list):
        return set()
    numbers = [item.get("document_index") for item in listed if isinstance(item, Mapping)]
    return {number for number in numbers if isinstance(number, int) and not isinstance(number, bool)}


TASK = Summary()
