"""Judging coverage: what a judge is asked and answers, and how answers from outside are validated.

The lexical judge stands in ``lexical``; a judge that asks a model has the same shape. A judge sees insights and
bullets without citations: who cites what is measured, not judged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from lic_pipeline.errors import RecordError
from lic_pipeline.records import Json

Coverage = Literal["full", "partial", "none"]

_COVERAGES: dict[str, Coverage] = {
    "full": "full",
    "full_coverage": "full",
    "fully_covered": "full",
    "partial": "partial",
    "partial_coverage": "partial",
    "partially_covered": "partial",
    "none": "none",
    "no_coverage": "none",
    "not_covered": "none",
}


@dataclass(frozen=True)
class Insight:
    """One reference finding and the documents it can be found in (those the model was given)."""

    insight_id: str
    text: str
    citations: tuple[int, ...]


@dataclass(frozen=True)
class InsightVerdict:
    """How well the summary covers one insight, and in which bullet (from 1; None = in none)."""

    insight_id: str
    coverage: Coverage
    bullet: int | None


class Judge(Protocol):
    """Says for every insight how well it is covered. ``name`` goes into signatures and changes with the rules."""

    @property
    def name(self) -> str:
        """Short name with a version."""

    def judge(self, insights: Sequence[Insight], bullets: Sequence[str]) -> list[InsightVerdict]:
        """One verdict per insight, in order. Raises RecordError when it cannot judge (missing, not 0)."""


def read_insights(value: Json) -> tuple[Insight, ...]:
    """Validate ``[{insight_id, insight, citations}]``. Raises RecordError naming what is wrong."""
    if value is None:
        raise RecordError("is missing", field="insights")
    if not isinstance(value, list) or not value:
        raise RecordError("must be a list of insights, not empty", field="insights")
    insights = tuple(_insight(item, place) for place, item in enumerate(value, start=1))
    ids = [insight.insight_id for insight in insights]
    if len(set(ids)) != len(ids):
        raise RecordError("holds an insight_id twice", field="insights")
    return insights


def _insight(item: Json, place: int) -> Insight:
    if not isinstance(item, Mapping):
        raise RecordError(f"entry {place} is no object", field="insights")
    insight_id, text, listed = item.get("insight_id"), item.get("insight"), item.get("citations")
    if not isinstance(insight_id, str | int) or isinstance(insight_id, bool) or not str(insight_id).strip():
        raise RecordError(f"entry {place} has no insight_id", field="insights")
    if not isinstance(text, str) or not text.strip():
        raise RecordError(f"entry {insight_id} has no text", field="insights")
    if not isinstance(listed, list):
        raise RecordError(f"entry {insight_id} has no list of citations", field="insights")
    citations = [_whole(number) for number in listed]
    if None in citations:
        raise RecordError(f"entry {insight_id} has a citation that is no document number", field="insights")
    return Insight(str(insight_id), text, tuple(dict.fromkeys(number for number in citations if number is not None)))


def read_verdicts(value: Json, insights: Sequence[Insight], bullets: int) -> dict[str, InsightVerdict]:
    """Validate verdicts from outside, by insight id; an insight may have none.

    ``coverage``: full, partial, none or their long forms in any case; ``bullet_id``: whole number or numeric string
    from 1, null or ``NA``, out of range = no bullet. Raises RecordError for anything else, and for an
    insight that is unknown or stands twice.
    """
    if not isinstance(value, list):
        raise RecordError("must be a list of {insight_id, coverage, bullet_id}", field="verdicts")
    known = {insight.insight_id for insight in insights}
    verdicts: dict[str, InsightVerdict] = {}
    for item in value:
        verdict = _verdict(item, bullets)
        if verdict.insight_id not in known:
            raise RecordError(f"name insight {verdict.insight_id!r}, which is not among the insights", field="verdicts")
        if verdict.insight_id in verdicts:
            raise RecordError(f"name insight {verdict.insight_id!r} twice", field="verdicts")
        verdicts[verdict.insight_id] = verdict
    return verdicts


def _verdict(item: Json, bullets: int) -> InsightVerdict:
    if not isinstance(item, Mapping):
        raise RecordError(f"hold {item!r:.80}, which is no object", field="verdicts")
    coverage = _COVERAGES.get(re.sub(r"[\s-]+", "_", str(item.get("coverage")).strip().casefold()))
    if coverage is None:
        raise RecordError(
            f"hold coverage {item.get('coverage')!r:.80}, which is none of full, partial, none", field="verdicts"
        )
    place = item.get("bullet_id")
    number = _whole(place)
    empty = place is None or (isinstance(place, str) and place.strip().casefold() in {"", "na", "n/a", "none", "null"})
    if number is None and not empty:
        raise RecordError(f"hold bullet_id {place!r:.80}, which is no number, null or NA", field="verdicts")
    within = number is not None and 1 <= number <= bullets
    return InsightVerdict(str(item.get("insight_id")), coverage, number if within else None)


def _whole(value: Json) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"\s*-?[0-9]{1,9}\s*", value):
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
