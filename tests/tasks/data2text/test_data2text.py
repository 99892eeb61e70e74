"""BLEU of captions: each form with its right value and why; gold, menu, messages, bad references."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st

from lic_pipeline.benchmarks.totto_text import build_shards, build_text, render_table
from lic_pipeline.errors import RecordError
from lic_pipeline.records import Extraction, Instruction, Reply, Rung, Strategy
from lic_pipeline.tasks.data2text import TASK
from lic_pipeline.tasks.protocol import Task
from lic_pipeline.tasks.registry import get_task

LAKE = "Lake Orvane covers 214 square kilometres and lies at 431 metres."
TOWN = "In 1987, Brintle had 3,402 inhabitants."
METADATA = {
    "table": [
        [{"value": "Lake", "is_header": True}, {"value": "Area <km²>", "is_header": True, "column_span": 2}],
        [{"value": "Orvane"}, {"value": "214"}, {"value": "A & B", "row_span": 2}],
    ],
    "highlighted_cells": [[1, 0], [1, 1]],
    "page_title": "Lakes of Nordmark",
    "section_title": "Largest lakes",
    "section_text": "",
}


def item(*references: str | None, **metadata: object) -> Instruction:
    return Instruction(
        instruction_id="totto/1",
        task="data2text",
        benchmark="totto",
        text=build_text(METADATA),
        reference={"references": list(references)},
        metadata={**METADATA, **metadata},
    )


def score(reply: str, *references: str | None) -> float:
    found = TASK.score(reply, item(*references)).score
    assert found is not None
    return found


FORMS = [
    ("an exact copy is 100, not 100.00000000000004", LAKE, [LAKE], 100.0),
    ("a copy of any one reference is 100", TOWN, [LAKE, TOWN], 100.0),
    ("the same reference three times changes nothing", TOWN, [TOWN, TOWN, TOWN], 100.0),
    ("an empty reference is absent: a copy of the other one stays 100", TOWN, ["", TOWN, "  "], 100.0),
    ("a null reference is absent too", TOWN, [None, TOWN], 100.0),
    ("white space around and line breaks inside do not count", f"\n {TOWN.replace(', ', ',  ')}\n", [TOWN], 100.0),
    ("a four-token copy is the shortest that can be perfect", "Brintle grew fast .", ["Brintle grew fast ."], 100.0),
    (
        "a perfect copy of three tokens has no 4-gram: 0 by the library's defaults",
        "Brintle grew .",
        ["Brintle grew ."],
        0.0,
    ),
    ("one right word is 0 as well", "Brintle", [TOWN], 0.0),
    ("nothing in common is 0", "Quite another matter entirely here", [TOWN], 0.0),
    (
        "case counts: 6 of 10 unigrams, one 4-gram",
        "the cat sat on the mat in a HOUSE .",
        ["the cat sat on THE mat in A house ."],
        None,
    ),
    ("too short a reply pays the brevity penalty", "In 1987, Brintle had", [TOWN], None),
    ("too long a reply pays in precision", f"{TOWN} It also had a lake, a mill and two schools.", [TOWN], None),
    ("other order keeps words but loses longer n-grams", "Brintle had 3,402 inhabitants in 1987.", [TOWN], None),
    ("quotation marks round the sentence are tokens", f'"{TOWN}"', [TOWN], None),
]


@pytest.mark.parametrize(("why", "reply", "references", "expected"), FORMS, ids=[form[0] for form in FORMS])
def test_score_is_that_of_sacrebleu_with_defaults(
    why: str, reply: str, references: list[str | None], expected: float | None
) -> None:
    usable = [reference for reference in references if reference and reference.strip()]
    library = sacrebleu.corpus_bleu([reply.strip()], [[reference] for reference in usable]).score
    found = score(reply, *references)
    assert found == min(100.0, library)
    if expected is not None:
        assert found == expected, why
    else:
        assert 0 < found < 100, why


def test_brevity_penalty_by_hand() -> None:
    # 5 tokens ("In 1987 , Brintle had") of 8: all precisions 1, penalty exp(1 - 8/5)
    assert score("In 1987, Brintle had", TOWN) == pytest.approx(100 * 2.718281828459045 ** (1 - 8 / 5))


def test_reference_of_closest_length_sets_the_penalty() -> None:
    assert score(TOWN, TOWN, LAKE) == 100.0
    assert score("In 1987, Brintle had", TOWN) < score("In 1987, Brintle had", TOWN, "In 1987, Brintle stood")


def test_detail_holds_signature_and_parts() -> None:
    detail = TASK.score(TOWN, item(TOWN, LAKE)).detail
    assert detail["signature"] == f"nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:{sacrebleu.__version__}"
    assert (detail["reply_tokens"], detail["reference_tokens"], detail["too_short"]) == (8, 8, False)
    assert TASK.score("Too short.", item(TOWN)).detail["too_short"] is True


@pytest.mark.parametrize(
    ("references", "reason"),
    [
        (None, "is missing"),
        ([], "no text"),
        (["", None, " "], "no text"),
        ([1], "list of strings"),
        ({"a": 1}, "list of strings"),
    ],
)
def test_unusable_references_are_named(references: object, reason: str) -> None:
    with pytest.raises(RecordError, match=reason) as caught:
        TASK.score_item({"references": references}, Path())
    assert caught.value.field == "references"


def test_item_whose_perfect_copy_cannot_score_is_refused_but_can_be_scored() -> None:
    short = item("Brintle grew.")
    with pytest.raises(RecordError, match="fewer than 4 tokens"):
        TASK.check(short)
    assert TASK.score("Brintle grew.", short).score == 0.0
    TASK.check(item("Brintle grew.", TOWN))
    assert TASK.gold(item("Brintle grew.", TOWN)) == TOWN


def test_gold_scores_100_and_menu_says_what_it_scores() -> None:
    assert isinstance(TASK, Task)
    assert get_task("data2text") is TASK
    instruction = item(LAKE, TOWN)
    menu = TASK.persona_replies(instruction)
    assert [entry.kind for entry in menu] == ["right", "wrong", "wrong", "question", "hedge", "refusal"]
    for entry in menu:
        if entry.score is not None:
            assert TASK.score(entry.text, instruction).score == entry.score
    assert menu[0].score == 100.0
    assert all(entry.score is not None and entry.score <= 40 for entry in menu[1:3])
    assert menu[1].text != menu[2].text
    assert TASK.label(Reply(text=menu[-1].text), instruction) is Strategy.REFUSAL
    assert TASK.persona_replies(item(None)) == ()


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("", Strategy.MISSING),
        ("<think>hm", Strategy.MISSING),
        ("I'm sorry, but I can't help with that.", Strategy.REFUSAL),
        ("I cannot provide a description of this.", Strategy.REFUSAL),
        ("Sorry, the album by Vanelli, was released in 1994.", Strategy.ANSWER_ATTEMPT),
        ("The team cannot help being relegated in 1994.", Strategy.ANSWER_ATTEMPT),
        ("Which cells?", Strategy.ANSWER_ATTEMPT),
    ],
)
def test_every_reply_is_an_attempt_but_for_empty_and_declining_ones(text: str, label: Strategy) -> None:
    assert TASK.label(Reply(text=text), item(TOWN)) is label


def test_extraction_is_the_whole_reply_without_reasoning() -> None:
    assert TASK.extract(Reply(text=f"<think>hm</think> {TOWN}\n"), item(TOWN)) == Extraction(
        answer=TOWN, rung=Rung.WHOLE
    )
    assert TASK.extract(Reply(text=" \n"), item(TOWN)).rung is Rung.FAILED


def test_table_is_escaped_and_highlighted() -> None:
    assert render_table(METADATA).splitlines() == [
        "<table>",
        '<tr><th>Lake</th><th colspan="2">Area &lt;km²&gt;</th></tr>',
        '<tr><td class="highlighted">Orvane</td><td class="highlighted">214</td><td rowspan="2">A &amp; B</td></tr>',
        "</table>",
    ]
    assert "highlighted" not in render_table(METADATA, highlight=False)


def test_shards_hold_all_that_the_full_message_says() -> None:
    shards = build_shards(METADATA)
    assert [shard.shard_id for shard in shards] == [1, 2, 3, 4, 5]
    full, revealed = build_text(METADATA), "\n".join(shard.text for shard in shards)
    for said in ("Lakes of Nordmark", "Largest lakes", render_table(METADATA), "Marta Ilvesson"):
        assert said in full
        assert said in revealed
    assert "{{" not in full + revealed
    assert TASK.concat_message(item(LAKE), shards).count("\n- ") == len(shards)
    assert TASK.shard_message(item(LAKE), shards[1]) == shards[1].text


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"table": []}, "table"),
        ({"table": [["x"]]}, "table"),
        ({"highlighted_cells": [[9, 0]]}, "highlighted_cells"),
        ({"highlighted_cells": []}, "highlighted_cells"),
        ({"highlighted_cells": [[1]]}, "highlighted_cells"),
        ({"page_title": 3}, "page_title"),
    ],
)
def test_garbled_table_is_named(change: dict[str, object], field: str) -> None:
    with pytest.raises(RecordError) as caught:
        build_text({**METADATA, **change})
    assert caught.value.field == field


def test_system_prompt_says_nothing_of_turns() -> None:
    prompt = TASK.system_prompt(item(LAKE)).casefold()
    assert not any(word in prompt for word in ("turn", "conversation", "later", "piece", "incomplete", "clarif"))


@given(st.text(max_size=300), st.lists(st.text(max_size=60), min_size=1, max_size=3))
@settings(max_examples=200, deadline=None)
def test_no_text_breaks_the_scorer(reply: str, references: list[str]) -> None:
    verdict = TASK.score(reply, item(TOWN, *references))
    assert verdict.score is not None
    assert 0 <= verdict.score <= 100


def test_a_line_takes_less_than_a_millisecond() -> None:
    instruction = item(LAKE, TOWN)
    TASK.score(LAKE, instruction)
    start = time.process_time()
    for number in range(300):
        TASK.score(f"Lake Orvane number {number} covers 214 square kilometres and lies high up.", instruction)
    assert (time.process_time() - start) / 300 < 0.001


def test_real_items_are_perfect_by_their_own_reference(shared_data: Path) -> None:
    import json

    for line in (shared_data / "raw/totto/dev_sample.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        references = [annotation["final_sentence"] for annotation in row["sentence_annotations"]]
        instruction = item(*references)
        TASK.check(instruction)
        gold = TASK.gold(instruction)
        assert gold is not None
        assert TASK.score(gold, instruction).score == 100.0
