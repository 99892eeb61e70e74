"""How far judges of summaries agree with people: the lexical judge beside six recorded model judges.

Usage: python bench/judge_agreement.py JUDGE_BENCHMARK.json   (Summary of a Haystack's human judgements of summaries)

Per insight: coverage none/partial/full as 0, 0.5, 1 against the human one: linear correlation, Cohen's kappa (plain and
linearly weighted). Link: among insights people found covered and the judge too, the share with the same bullet.
The thresholds of the lexical judge are fitted on topics other than the one they are measured on ("left out"); the row
"shipped" uses the constants in the package, which are fitted on all topics, and is shown for comparison only.
"""

from __future__ import annotations

import itertools
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lic_pipeline.tasks.summary.citations import without_citations
from lic_pipeline.tasks.summary.lexical_judge import FULL_FROM, PARTIAL_FROM, matches

LEVELS = {"not_covered": 0, "partially_covered": 1, "fully_covered": 2}
MODEL_LEVELS = {"NO_COVERAGE": 0, "PARTIAL_COVERAGE": 1, "FULL_COVERAGE": 2}
NO_BULLET = -1
QUANTILES = np.linspace(0.02, 0.98, 49)


@dataclass(frozen=True)
class Judged:
    """One insight of one summary: what people said, how every bullet matches, what recorded judges said."""

    topic: str
    level: int
    bullet: int
    row: tuple[float, ...]
    models: dict[str, tuple[int, int]]


@dataclass(frozen=True)
class Agreement:
    """One row of the table; ``both`` is how many insights the link figure rests on."""

    insights: int
    correlation: float
    kappa: float
    weighted_kappa: float
    link: float
    both: int


def load(path: Path) -> list[Judged]:
    """All judged insights of the file."""
    judged = []
    for summary in json.loads(path.read_text(encoding="utf-8")):
        insights = summary["reference_insights"]
        rows = matches([i["insight"] for i in insights], [without_citations(text) for text in summary["summary"]])
        people = {a["insight_id"]: a for a in summary["annotation"]}
        models = {name: summary[name] or [] for name in summary if name.startswith("predictions_")}
        for insight, row in zip(insights, rows, strict=True):
            said = people[insight["insight_id"]]
            chosen = said["candidate_id"]
            judged.append(
                Judged(
                    topic=summary["topic"],
                    level=LEVELS[said["coverage"]],
                    bullet=int(chosen) if chosen.isdecimal() else NO_BULLET,
                    row=tuple(row),
                    models={name: found for name in models if (found := _model(models[name], insight["insight_id"]))},
                )
            )
    return judged


def _model(predictions: list[dict[str, Any]], insight_id: str) -> tuple[int, int] | None:
    """Level and bullet (from 0) a recorded judge gave; people's bullets count from 0, the judges' from 1."""
    for prediction in predictions:
        if prediction["insight_id"] == insight_id:
            bullet = str(prediction["bullet_id"])
            return MODEL_LEVELS[prediction["coverage"]], int(bullet) - 1 if bullet.isdecimal() else NO_BULLET
    return None


def lexical(judged: Judged, thresholds: tuple[float, float]) -> tuple[int, int]:
    """Level and bullet (from 0) at these thresholds."""
    best = max(judged.row, default=0.0)
    level = int(best >= thresholds[0]) + int(best >= thresholds[1])
    return level, judged.row.index(best) if level else NO_BULLET


def fit(judged: list[Judged]) -> tuple[float, float]:
    """The pair of thresholds with the highest linearly weighted kappa."""
    best = np.array([max(item.row, default=0.0) for item in judged])
    people = np.array([item.level for item in judged])
    pairs = itertools.combinations(np.quantile(best, QUANTILES), 2)
    found = max(pairs, key=lambda pair: kappa((best >= pair[0]).astype(int) + (best >= pair[1]), people, weighted=True))
    return float(found[0]), float(found[1])


def left_out(judged: list[Judged]) -> list[tuple[int, int]]:
    """The lexical judge's answers, each at thresholds fitted on the other topics."""
    fitted = {topic: fit([item for item in judged if item.topic != topic]) for topic in {i.topic for i in judged}}
    return [lexical(item, fitted[item.topic]) for item in judged]


def kappa(one: np.ndarray, other: np.ndarray, *, weighted: bool = False) -> float:
    """Cohen's kappa of levels 0..2, with linear weights if asked."""
    seen = np.zeros((3, 3))
    np.add.at(seen, (one, other), 1)
    seen /= seen.sum()
    chance = np.outer(seen.sum(axis=1), seen.sum(axis=0))
    distance = np.abs(np.subtract.outer(np.arange(3), np.arange(3))).astype(float)
    weights = distance if weighted else (distance > 0).astype(float)
    return float(1 - (weights * seen).sum() / (weights * chance).sum())


def agreement(judged: list[Judged], answers: list[tuple[int, int]]) -> Agreement:
    """Agreement of answers with people, item by item."""
    given = np.array([level for level, _ in answers])
    people = np.array([item.level for item in judged])
    pairs = [
        (bullet, item.bullet)
        for item, (level, bullet) in zip(judged, answers, strict=True)
        if item.bullet != NO_BULLET and level
    ]
    return Agreement(
        insights=len(judged),
        correlation=float(np.corrcoef(given, people)[0, 1]),
        kappa=kappa(given, people),
        weighted_kappa=kappa(given, people, weighted=True),
        link=sum(one == other for one, other in pairs) / len(pairs),
        both=len(pairs),
    )


def table(judged: list[Judged]) -> dict[str, Agreement]:
    """All judges by name, the lexical one first."""
    rows = {
        "lexical (left out)": agreement(judged, left_out(judged)),
        "lexical (shipped)": agreement(judged, [lexical(item, (PARTIAL_FROM, FULL_FROM)) for item in judged]),
    }
    for name in sorted({name for item in judged for name in item.models}):
        answered = [item for item in judged if name in item.models]
        rows[name.removeprefix("predictions_")] = agreement(answered, [item.models[name] for item in answered])
    return rows


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    judged = load(Path(sys.argv[1]))
    print(f"thresholds fitted on all topics: {fit(judged)}")
    print(f"{'judge':26} {'insights':>8} {'r':>6} {'kappa':>6} {'wkappa':>6} {'link':>6} {'of':>5}")
    for name, row in table(judged).items():
        print(
            f"{name:26} {row.insights:8d} {row.correlation:6.3f} {row.kappa:6.3f} {row.weighted_kappa:6.3f} "
            f"{row.link:6.3f} {row.both:5d}"
        )


if __name__ == "__main__":
    main()
