"""The lexical judge: coverage by shared words, free and offline. A stand-in for a judge that understands.

For each insight and bullet: the share of the insight's content words that stand in the bullet, rare words (among this
summary's bullets and insights) and numbers weighing more, and a little of the reverse share, so that a bullet naming
everything is not the best match of everything. The best bullet is linked; two thresholds make full, partial, none.
It cannot see negation or paraphrase. Agreement with people: docs/scoring.md, measured by bench/judge_agreement.py;
the thresholds are fitted there on human judgements, agreement is measured on topics left out of the fit.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lic_pipeline.tasks.summary.content_words import content_words
from lic_pipeline.tasks.summary.judge_questions import Coverage, Insight, InsightVerdict

_RECALL_SHARE = 0.8
_NUMBER_WEIGHT = 1.5
_SAME_STEM = 0.6
_PREFIX = 4
PARTIAL_FROM = 0.30
FULL_FROM = 0.43


@dataclass(frozen=True)
class LexicalJudge:
    """Judges by word overlap; ``partial_from`` and ``full_from`` are thresholds on a match of 0..1."""

    partial_from: float = PARTIAL_FROM
    full_from: float = FULL_FROM
    name: str = "lexical-1"

    def judge(self, insights: Sequence[Insight], bullets: Sequence[str]) -> list[InsightVerdict]:
        """One verdict per insight, in order; ties go to the earlier bullet."""
        return [
            self._verdict(insight, row)
            for insight, row in zip(insights, matches([i.text for i in insights], bullets), strict=True)
        ]

    def _verdict(self, insight: Insight, row: Sequence[float]) -> InsightVerdict:
        best = max(row, default=0.0)
        coverage: Coverage = "full" if best >= self.full_from else "partial" if best >= self.partial_from else "none"
        return InsightVerdict(insight.insight_id, coverage, None if coverage == "none" else row.index(best) + 1)


def matches(insights: Sequence[str], bullets: Sequence[str]) -> list[list[float]]:
    """Match of every insight (rows) with every bullet (columns), 0..1; equal texts give 1."""
    asked = [content_words(text) for text in insights]
    said = [content_words(text) for text in bullets]
    counts = Counter(word for words in (*asked, *said) for word in set(words))
    size = len(asked) + len(said)
    weights = {word: _weight(word, size, count) for word, count in counts.items()}
    bags = {text: _Bag(words) for text, words in zip(bullets, said, strict=True)}
    rows = []
    for words in asked:
        wanted = _Bag(words)
        by_text = {text: _match(wanted, bag, weights) for text, bag in bags.items()}
        rows.append([by_text[text] for text in bullets])
    return rows


def _weight(word: str, size: int, count: int) -> float:
    return math.log(1 + size / (count + 0.5)) * (_NUMBER_WEIGHT if word[0].isdigit() else 1.0)


class _Bag:
    """A set of stems that also finds near forms of one."""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = dict.fromkeys(words)
        self._by_prefix: dict[str, list[str]] = defaultdict(list)
        for word in self.words:
            self._by_prefix[word[:_PREFIX]].append(word)

    def closeness(self, word: str) -> float:
        """1 for the stem itself, the shared share for one with a long common beginning, else 0."""
        if word in self.words:
            return 1.0
        if word[0].isdigit() or len(word) < _PREFIX:
            return 0.0
        best = max((_shared(word, other) for other in self._by_prefix.get(word[:_PREFIX], ())), default=0.0)
        return best if best >= _SAME_STEM else 0.0


def _shared(one: str, other: str) -> float:
    same = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        same += 1
    return same / max(len(one), len(other))


def _match(asked: _Bag, said: _Bag, weights: Mapping[str, float]) -> float:
    if not asked.words or not said.words:
        return 0.0
    total = sum(weights[word] for word in asked.words)
    recall = sum(weights[word] * said.closeness(word) for word in asked.words) / total
    precision = sum(asked.closeness(word) > 0 for word in said.words) / len(said.words)
    return _RECALL_SHARE * recall + (1 - _RECALL_SHARE) * precision
