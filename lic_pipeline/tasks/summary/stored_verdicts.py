"""Judging in two steps: collect what a judge has to be asked, then score by the verdicts it gave.

A judge that costs money is asked outside of scoring. A question is known by its content, so one that was answered once,
for whichever conversation, is never asked again. Nothing here asks anybody.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lic_pipeline.errors import RecordError
from lic_pipeline.records import Json
from lic_pipeline.tasks.summary.judge_questions import Insight, InsightVerdict, read_verdicts

NO_VERDICT = "judge: no usable verdicts"
"""Why a summary has no score; what it is counted under."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a judge is asked about one summary: insights and bullets, both without citations."""

    insights: tuple[Insight, ...]
    bullets: tuple[str, ...]

    def key(self, identity: str) -> str:
        """32 hex digits that stand for this question to the judge of this identity."""
        asked = [identity, [[insight.insight_id, insight.text] for insight in self.insights], list(self.bullets)]
        return hashlib.blake2b(json.dumps(asked).encode(), digest_size=16).hexdigest()


class QuestionCollector:
    """Takes down what it is asked, and judges only what needs no judge: a summary without bullets covers nothing."""

    def __init__(self, name: str = "collector") -> None:
        self.name = name
        self.questions: list[Question] = []

    def judge(self, insights: Sequence[Insight], bullets: Sequence[str]) -> list[InsightVerdict]:
        """Raises RecordError: the verdicts are still to come."""
        if not bullets:
            return _nothing(insights)
        self.questions.append(Question(tuple(insights), tuple(bullets)))
        raise RecordError(NO_VERDICT)


class StoredJudge:
    """Judges by verdicts that were asked for before: ``find`` gives those of a key.

    None = there are none; a RecordError of ``find`` says why.
    """

    def __init__(self, name: str, identity: str, find: Callable[[str], Json | None]) -> None:
        self.name = name
        self._identity = identity
        self._find = find

    def judge(self, insights: Sequence[Insight], bullets: Sequence[str]) -> list[InsightVerdict]:
        """The stored verdicts. Raises RecordError where the judge was not asked, or gave none that can be used."""
        if not bullets:
            return _nothing(insights)
        found = self._find(Question(tuple(insights), tuple(bullets)).key(self._identity))
        if found is None:
            raise RecordError(NO_VERDICT)
        verdicts = read_verdicts(found, insights, len(bullets))
        return [verdicts[insight.insight_id] for insight in insights]


def _nothing(insights: Sequence[Insight]) -> list[InsightVerdict]:
    return [InsightVerdict(insight.insight_id, "none", None) for insight in insights]
