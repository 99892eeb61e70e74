"""The score of a summary: coverage times citation F1, mean over insights, times 100.

Coverage 1, 0.5 or 0 comes from verdicts; citation F1 compares the documents the linked bullet cites with those the
insight can be found in. Source of the formula: Summary of a Haystack's joint score.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass

from lic_pipeline.errors import RecordError
from lic_pipeline.records import Json
from lic_pipeline.tasks.summary.judge_questions import Insight, InsightVerdict
from lic_pipeline.tasks.summary.summary_bullets import Bullet

_CREDIT = {"full": 1.0, "partial": 0.5, "none": 0.0}


@dataclass(frozen=True)
class InsightScore:
    """One insight's part: ``citation_f1`` and ``points`` 0..1; ``bullet`` from 1, None = in none."""

    insight_id: str
    coverage: str
    bullet: int | None
    citation_f1: float
    points: float


@dataclass(frozen=True)
class SummaryScore:
    """``score`` and ``coverage`` 0..100; ``citation_f1`` 0..100 over covered insights, None without any.

    ``left_out``: insights none of whose documents the model was given; they are in no mean.
    """

    score: float
    coverage: float
    citation_f1: float | None
    insights: tuple[InsightScore, ...]
    left_out: tuple[str, ...]

    def detail(self) -> dict[str, Json]:
        """As a JSON object, without the score."""
        return {
            "coverage": round(self.coverage, 6),
            "citation_f1": None if self.citation_f1 is None else round(self.citation_f1, 6),
            "insights": [asdict(part) for part in self.insights],
            "left_out": list(self.left_out),
        }


def citation_f1(cited: Collection[int], reference: Collection[int]) -> float:
    """F1 of two sets of documents, 0 when they share none."""
    shared = len(set(cited) & set(reference))
    return 2 * shared / (len(set(cited)) + len(set(reference))) if shared else 0.0


def restricted(insights: Sequence[Insight], given: Collection[int] | None) -> tuple[Insight, ...]:
    """The insights with only those citations the model was given (None = all were)."""
    if given is None:
        return tuple(insights)
    return tuple(
        Insight(item.insight_id, item.text, tuple(number for number in item.citations if number in given))
        for item in insights
    )


def score_summary(
    bullets: Sequence[Bullet], insights: Sequence[Insight], verdicts: Mapping[str, InsightVerdict]
) -> SummaryScore:
    """Score bullets against insights; ``verdicts`` holds one for each insight that has a citation.

    Raises RecordError when no insight has one.
    """
    counted = [insight for insight in insights if insight.citations]
    if not counted:
        raise RecordError("hold no citation among the documents given", field="insights")
    parts = tuple(_part(insight, verdicts[insight.insight_id], bullets) for insight in counted)
    covered = [part.citation_f1 for part in parts if part.coverage != "none"]
    return SummaryScore(
        score=min(100.0, 100 * sum(part.points for part in parts) / len(parts)),
        coverage=100 * sum(_CREDIT[part.coverage] for part in parts) / len(parts),
        citation_f1=100 * sum(covered) / len(covered) if covered else None,
        insights=parts,
        left_out=tuple(insight.insight_id for insight in insights if not insight.citations),
    )


def _part(insight: Insight, verdict: InsightVerdict, bullets: Sequence[Bullet]) -> InsightScore:
    cited = bullets[verdict.bullet - 1].citations if verdict.bullet is not None else ()
    quality = citation_f1(cited, insight.citations)
    credit = _CREDIT[verdict.coverage]
    return InsightScore(insight.insight_id, verdict.coverage, verdict.bullet, quality, credit * quality)
