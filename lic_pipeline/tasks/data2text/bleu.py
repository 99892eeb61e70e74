"""sacreBLEU corpus BLEU of one reply against its references, with library defaults.

Each reply is its own corpus of one segment. Known effects of these defaults, kept on purpose so that any score can be
checked with ``sacrebleu`` itself: a reply of fewer than 4 tokens has no 4-gram and scores 0, even a perfect copy; zero
counts of higher orders are smoothed (``exp``), so a reply sharing single words scores a little above 0; a perfect copy
comes out as 100.00000000000004 and is capped. Empty references are dropped, never passed as "": an empty one would
count as the closest length for a short reply and lift its brevity penalty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from lic_pipeline.errors import RecordError
from lic_pipeline.records import Json

NGRAM_ORDER = 4


@dataclass(frozen=True)
class BleuResult:
    """Score 0..100 and what it was made of; ``precisions`` are percentages by n-gram order."""

    score: float
    precisions: tuple[float, ...]
    brevity_penalty: float
    reply_tokens: int
    reference_tokens: int
    references: int
    signature: str

    def detail(self) -> dict[str, Json]:
        """As a JSON object; ``too_short`` marks a reply that has no 4-gram and so cannot score."""
        return {
            "signature": self.signature,
            "precisions": [round(value, 6) for value in self.precisions],
            "brevity_penalty": round(self.brevity_penalty, 6),
            "reply_tokens": self.reply_tokens,
            "reference_tokens": self.reference_tokens,
            "references": self.references,
            "too_short": self.reply_tokens < NGRAM_ORDER,
        }


def usable_references(value: Json) -> list[str]:
    """The non-empty references of a list (or the one string). Raises RecordError when none is left."""
    if value is None:
        raise RecordError("is missing", field="references")
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(item is None or isinstance(item, str) for item in listed):
        raise RecordError("must be a list of strings", field="references")
    kept = [item.strip() for item in listed if item and item.strip()]
    if not kept:
        raise RecordError("holds no text once empty ones are dropped", field="references")
    return kept


def bleu(reply: str, references: Sequence[str]) -> BleuResult:
    """Corpus BLEU with library defaults (13a tokens, exp smoothing, order 4, case kept), capped at 100.

    ``references`` holds at least one non-empty string.
    """
    parts = _metric().corpus_score([reply], [[reference] for reference in references])
    return BleuResult(
        score=min(100.0, max(0.0, float(parts.score))),
        precisions=tuple(float(value) for value in parts.precisions),
        brevity_penalty=float(parts.bp),
        reply_tokens=int(parts.sys_len),
        reference_tokens=int(parts.ref_len),
        references=len(references),
        signature=_signature(len(references)),
    )


@cache
def _metric() -> Any:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU()


@cache
def _signature(references: int) -> str:
    """sacreBLEU's own signature for this number of references."""
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU()
    metric.corpus_score(["x"], [["x"]] * references)
    return str(metric.get_signature())
