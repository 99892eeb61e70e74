"""Ready replies of personas for a summary item, and the reference summary they start from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from lic_pipeline.records import PersonaReply, Verdict
from lic_pipeline.tasks.summary.judge_questions import Insight


def reference_summary(insights: Sequence[Insight]) -> str:
    """One bullet per insight that has a citation, with its citations."""
    return "\n".join(_bullet(insight.text, insight.citations) for insight in insights if insight.citations)


def menu(
    insights: Sequence[Insight], documents: Collection[int], score: Callable[[str], Verdict]
) -> tuple[PersonaReply, ...]:
    """Right (the reference), three wrong of falling score, a question, a hedge, a refusal.

    ``documents``: every document number of the item, for wrong citations.
    """
    counted = [insight for insight in insights if insight.citations]
    half = counted[: len(counted) // 2]
    wrong = [
        "\n".join(_bullet(insight.text, insight.citations[:1]) for insight in half),
        "\n".join(_bullet(insight.text, _others(insight, documents)) for insight in half or counted),
        "- The documents look at several sides of this question.\n- Opinions on it differ from text to text.",
    ]
    right = reference_summary(insights)
    return (
        PersonaReply(kind="right", text=right, score=score(right).score),
        *(PersonaReply(kind="wrong", text=text, score=score(text).score) for text in wrong if text),
        PersonaReply(kind="question", text="Which side of the topic matters most to you?"),
        PersonaReply(
            kind="hedge",
            text="It depends: the summary could follow the order of the documents, or go by themes instead.",
        ),
        PersonaReply(kind="refusal", text="I'm sorry, but I can't help with summarising these documents."),
    )


def _bullet(text: str, citations: Sequence[int]) -> str:
    sentence = " ".join(text.replace("[", "(").replace("]", ")").split())
    return f"- {sentence} " + "".join(f"[{number}]" for number in citations)


def _others(insight: Insight, documents: Collection[int]) -> tuple[int, ...]:
    """Documents the insight is not in: as many as it has, at least one."""
    outside = sorted(set(documents) - set(insight.citations))
    return tuple(outside[: len(insight.citations)]) or (max(insight.citations) + 1,)
