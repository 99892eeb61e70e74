"""Scores of summaries: each form with its right value and why; verdicts from outside; gold, menu, messages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lic_pipeline.benchmarks.summhay_text import build_shards, build_text
from lic_pipeline.errors import RecordError
from lic_pipeline.records import Instruction, Json, Reply, Strategy
from lic_pipeline.tasks.protocol import Task
from lic_pipeline.tasks.registry import get_task
from lic_pipeline.tasks.summary.judge_questions import Insight, InsightVerdict
from lic_pipeline.tasks.summary.task import TASK, Summary

RENT = "Rents in the harbour district rose by 12 percent after the tram line opened."
SHOP = "Small bakeries closed because night deliveries were banned by the council."
POOL = "The open-air swimming pool reopened in June with a solar heating system."
INSIGHTS: list[dict[str, Json]] = [
    {"insight_id": "a", "insight": RENT, "citations": [1, 2]},
    {"insight_id": "b", "insight": SHOP, "citations": [3]},
    {"insight_id": "c", "insight": POOL, "citations": [4, 5, 6]},
]


def item(insights: list[dict[str, Json]] | None = None, **reference: Json) -> Instruction:
    documents = [{"document_index": number, "document_text": f"Text {number}."} for number in range(1, 13)]
    return Instruction(
        instruction_id="summhay/1/2",
        task="summary",
        benchmark="summhay",
        text=build_text(documents, "A town", "What changed?"),
        context={"topic": "A town", "query": "What changed?", "documents": documents},
        reference={"insights": INSIGHTS if insights is None else insights, **reference},
    )


def verdict(insight_id: str, coverage: str = "full", bullet_id: Json = 1) -> dict[str, Json]:
    return {"insight_id": insight_id, "coverage": coverage, "bullet_id": bullet_id}


LEXICAL = [
    ("all insights, all citations", f"- {RENT} [1][2]\n- {SHOP} [3]\n- {POOL} [4][5][6]", 100.0),
    ("citation forms are equal", f"- {RENT} [1, 2]\n- {SHOP} (Document 3)\n- {POOL} [4-6]", 100.0),
    ("order is free", f"1. {POOL} [6][5][4]\n2. {RENT} [2][1]\n3. {SHOP} [3]", 100.0),
    ("an introduction shifts nothing", f"Here you are:\n\n- {RENT} [1][2]\n- {SHOP} [3]\n- {POOL} [4-6]", 100.0),
    ("a third of the insights is a third", f"- {RENT} [1][2]", 100 / 3),
    ("no citation is worth nothing", f"- {RENT}\n- {SHOP}\n- {POOL}", 0.0),
    ("wrong documents are worth nothing", f"- {RENT} [7]\n- {SHOP} [8]\n- {POOL} [9]", 0.0),
    ("half the documents: F1 2/3", f"- {RENT} [1]", 100 / 3 * 2 / 3),
    ("a document too many: F1 4/5", f"- {RENT} [1][2][9]", 100 / 3 * 4 / 5),
    ("an invented document counts as one too many", f"- {RENT} [1][2][999]", 100 / 3 * 4 / 5),
    (
        "one bullet for all: its citations are judged for each",
        f"- {RENT} {SHOP} {POOL} [1-6]",
        100 / 3 * (1 / 2 + 2 / 7 + 2 / 3),
    ),
    ("sources below", f"- {RENT}\n  - Sources: 1, 2\n- {SHOP}\n  - [cite: 3]\n- {POOL}\n  Documents 4 to 6", 100.0),
    (
        "a list of all is nobody's",
        f"- {RENT} [1]-[2]\n- {SHOP} [3]\n- {POOL} [4] to [6]\n\nSources:\n[1] A\n[2] B",
        100.0,
    ),
    ("a table", f"| Finding | Documents |\n|---|---|\n| {RENT} | 1, 2 |\n| {SHOP} | 3 |\n| {POOL} | 4-6 |", 100.0),
    ("something else is nothing", "- Birds sing in spring [1][2][3]", 0.0),
    ("prose without bullets is read by lines", f"{RENT} [1][2]\n{SHOP} [3]\n{POOL} [4][5][6]", 100.0),
    ("words without any bullet", "---", 0.0),
]


@pytest.mark.parametrize(("why", "reply", "expected"), LEXICAL, ids=[form[0] for form in LEXICAL])
def test_lexical_scores(why: str, reply: str, expected: float) -> None:
    found = TASK.score(reply, item())
    assert found.score == pytest.approx(expected), (why, found.detail)
    assert found.verdict == "graded"
    assert found.detail["judge"] == "lexical-1"


def test_the_reference_policy_reads_citations_as_they_stand() -> None:
    text = f"- {RENT} [cite: 1, 2]\n- {SHOP} [3]\n- {POOL} [4]-[6]"
    assert TASK.score(text, item()).score == pytest.approx(100)
    assert TASK.score(text, item(), "reference").score == pytest.approx(100 / 3 * (1 + 4 / 5))


THREE = "- Alpha [1][2]\n- Beta [3]\n- Gamma [4][5]"
GIVEN = [
    ("full counts 1", [verdict("a", "full", 1), verdict("b", "full", 2), verdict("c", "none", None)], (1 + 1 + 0) / 3),
    ("partial counts a half", [verdict("a", "partial", 1), verdict("b", "none"), verdict("c", "none")], 0.5 / 3),
    (
        "long forms in any case",
        [verdict("a", "FULL_COVERAGE"), verdict("b", "No_Coverage"), verdict("c", "no_coverage")],
        1 / 3,
    ),
    (
        "bullets count from 1, numeric strings too",
        [verdict("a", "full", "1"), verdict("b", "full", "2"), verdict("c", "full", 3)],
        (1 + 1 + 4 / 5) / 3,
    ),
    (
        "NA is no bullet: covered without place earns nothing",
        [verdict("a", "full", "NA"), verdict("b", "none"), verdict("c", "none")],
        0.0,
    ),
    ("out of range is no bullet", [verdict("a", "full", 4), verdict("b", "full", 0), verdict("c", "full", -1)], 0.0),
    (
        "the linked bullet's citations count",
        [verdict("a", "full", 2), verdict("b", "full", 1), verdict("c", "none")],
        (0 + 0) / 3,
    ),
]


@pytest.mark.parametrize(("why", "verdicts", "share"), GIVEN, ids=[form[0] for form in GIVEN])
def test_given_verdicts(why: str, verdicts: list[dict[str, Json]], share: float) -> None:
    found = TASK.score(THREE, item(verdicts=verdicts))
    assert found.score == pytest.approx(100 * share), why
    assert found.detail["judge"] == "given"


def test_insight_without_verdict_is_missing_unless_the_judge_may_fill() -> None:
    some = item(verdicts=[verdict("a"), verdict("b", "none")])
    missing = TASK.score(f"- {RENT} [1][2]\n- {POOL} [4-6]", some)
    assert (missing.score, missing.verdict) == (None, "not_judged")
    assert missing.error == "not_judged: no verdict for insight c"
    filled = Summary(fill=True).score(f"- {RENT} [1][2]\n- {POOL} [4-6]", some)
    assert filled.score == pytest.approx(200 / 3)
    assert filled.detail["judge"] == "given+lexical-1"


@pytest.mark.parametrize(
    ("verdicts", "reason"),
    [
        ({"a": 1}, "must be a list"),
        (["a"], "no object"),
        ([verdict("z")], "not among"),
        ([verdict("a"), verdict("a")], "twice"),
        ([verdict("a", "mostly")], "none of full, partial, none"),
        ([verdict("a", "full", "second")], "no number, null or NA"),
        ([verdict("a", "full", 1.5)], "no number, null or NA"),
        ([verdict("a", "full", True)], "no number, null or NA"),
    ],
)
def test_unusable_verdicts_are_named(verdicts: Json, reason: str) -> None:
    with pytest.raises(RecordError, match=reason) as caught:
        TASK.score_item({"insights": INSIGHTS, "verdicts": verdicts}, Path())
    assert caught.value.field == "verdicts"


@pytest.mark.parametrize(
    ("insights", "reason"),
    [
        (None, "missing"),
        ([], "not empty"),
        (["x"], "no object"),
        ([{"insight": "x", "citations": [1]}], "no insight_id"),
        ([{"insight_id": "a", "insight": " ", "citations": [1]}], "no text"),
        ([{"insight_id": "a", "insight": "x"}], "no list of citations"),
        ([{"insight_id": "a", "insight": "x", "citations": ["one"]}], "no document number"),
        ([{"insight_id": "a", "insight": "x", "citations": []}], "no citation at all"),
        ([INSIGHTS[0], INSIGHTS[0]], "twice"),
    ],
)
def test_unusable_insights_are_named(insights: Json, reason: str) -> None:
    with pytest.raises(RecordError, match=reason) as caught:
        TASK.score_item({"insights": insights}, Path())
    assert caught.value.field == "insights"


def test_citations_are_judged_against_documents_the_model_was_given() -> None:
    reply = f"- {RENT} [1]\n- {SHOP} [3]"
    assert TASK.score(reply, item()).score == pytest.approx(100 * (2 / 3 + 1) / 3)
    given = TASK.score(reply, item(given=[1, 3]))
    assert given.score == 100.0
    assert given.detail["left_out"] == ["c"]


def test_long_summary_keeps_its_citations_but_not_under_the_reference_policy() -> None:
    padding = " and so on and on" * 40
    reply = f"- {RENT}{padding} [1][2]\n- {SHOP}{padding} [3]\n- {POOL}{padding} [4][5][6]"
    assert TASK.score(reply, item()).score == 100.0
    assert TASK.score(reply, item(), "reference").score == 0.0


def test_another_judge_can_be_put_in() -> None:
    class Generous:
        name = "generous-1"

        def judge(self, insights: Sequence[Insight], bullets: Sequence[str]) -> list[InsightVerdict]:
            assert bullets == ["Alpha", "Beta", "Gamma"]
            return [InsightVerdict(insight.insight_id, "full", 1) for insight in insights]

    found = Summary(Generous()).score(THREE, item())
    assert found.detail["judge"] == "generous-1"
    assert found.score == pytest.approx(100 / 3)


def test_judge_that_cannot_judge_leaves_the_score_missing() -> None:
    class Broken:
        name = "broken-1"

        def judge(self, insights: Sequence[Insight], bullets: Sequence[str]) -> list[InsightVerdict]:
            raise RecordError("the judge's answer is unusable")

    found = Summary(Broken()).score(THREE, item())
    assert (found.score, found.verdict, found.error) == (None, "not_judged", "the judge's answer is unusable")


def test_gold_scores_100_and_menu_says_what_it_scores() -> None:
    assert isinstance(TASK, Task)
    assert get_task("summary") is TASK
    TASK.check(item())
    gold = TASK.gold(item())
    assert gold is not None
    assert TASK.score(gold, item()).score == 100.0
    menu = TASK.persona_replies(item())
    assert [entry.kind for entry in menu] == ["right", "wrong", "wrong", "wrong", "question", "hedge", "refusal"]
    assert menu[0].score == 100.0
    assert all(entry.score is not None and entry.score <= 40 for entry in menu if entry.kind == "wrong")
    assert TASK.label(Reply(text=menu[-1].text), item()) is Strategy.REFUSAL
    assert TASK.label(Reply(text=""), item()) is Strategy.MISSING
    assert TASK.label(Reply(text=gold), item()) is Strategy.ANSWER_ATTEMPT


@pytest.mark.parametrize("count", [1, 2])
def test_menu_of_few_insights_still_has_two_wrong_replies(count: int) -> None:
    menu = TASK.persona_replies(item(INSIGHTS[:count]))
    wrong = [entry for entry in menu if entry.kind == "wrong"]
    assert len(wrong) >= 2
    assert all(entry.text.strip() and entry.score is not None and entry.score < 60 for entry in wrong)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"context": {"topic": "", "query": "q", "documents": [{"document_index": 1, "document_text": "x"}]}}, "topic"),
        ({"context": {"topic": "t", "query": "q", "documents": []}}, "documents"),
        ({"reference": {"insights": [{"insight_id": "a", "insight": "x", "citations": [77]}]}}, "insights"),
    ],
)
def test_unusable_instruction_is_named(change: dict[str, Any], field: str) -> None:
    with pytest.raises(RecordError) as caught:
        TASK.check(item().model_copy(update=change))
    assert caught.value.field == field


def test_documents_come_in_batches_and_the_first_carries_the_question() -> None:
    documents = item().context["documents"]
    shards = build_shards(documents, "A town", "What changed?")
    assert [len(shard.documents) for shard in shards] == [10, 2]
    assert "What changed?" in shards[0].text
    assert "What changed?" not in shards[1].text
    assert "Document [12]\nText 12." in shards[1].text
    chosen = build_shards(documents, "A town", "What changed?", [[12, 1], [], list(range(2, 12))])
    assert [shard.documents for shard in chosen] == [(12, 1), tuple(range(2, 12))]
    with pytest.raises(RecordError, match="exactly one batch"):
        build_shards(documents, "A town", "What changed?", [[1, 2]])
    with pytest.raises(RecordError, match="stands twice"):
        build_text([documents[0], documents[0]], "A town", "What changed?")


def test_system_prompt_says_nothing_of_turns() -> None:
    prompt = TASK.system_prompt(item()).casefold()
    assert not any(word in prompt for word in ("turn", "conversation", "later", "piece", "incomplete", "clarif"))


def test_real_items_are_perfect_by_their_own_insights(shared_data: Path) -> None:
    seen = 0
    for record in json.loads((shared_data / "lic/sharded_instructions_sample.json").read_text(encoding="utf-8")):
        if record["task"] != "summary":
            continue
        given = {document["document_index"] for document in record["documents"]}
        insights = [
            {
                "insight_id": entry["insight_id"],
                "insight": entry["insight"],
                "citations": [n for n in record["insightid2ref_citations"][entry["insight_id"]] if n in given],
            }
            for entry in record["insights"]
        ]
        instruction = item(insights)
        gold = TASK.gold(instruction)
        assert gold is not None
        assert TASK.score(gold, instruction).score == 100.0
        seen += 1
    assert seen >= 3
