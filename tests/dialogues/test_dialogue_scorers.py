"""Grading of the reliability suite: sentences counted, tools picked, slots compared, each form with why."""

from __future__ import annotations

import time
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lic_pipeline.dialogues.scorers import DIALOGUE_TASKS, slot_matches
from lic_pipeline.dialogues.sentences import count_sentences
from lic_pipeline.dialogues.slot_values import normal_date, normal_people, normal_time
from lic_pipeline.dialogues.slots import read_slots
from lic_pipeline.dialogues.tool_choice import chosen_tool
from lic_pipeline.records import Instruction, Json, Verdict
from lic_pipeline.scoring.line_scorer import LineScorer

SENTENCES = [
    ("nothing", "", 0),
    ("one with a full stop", "Hello.", 1),
    ("one without", "Hello", 1),
    ("titles", "Dr. Smith met Mr. Jones and Mrs. Lee.", 1),
    ("a time and a street", "We met at 5 p.m. on Main St. and left.", 1),
    ("a time ends a sentence", "He came at 7 p.m. The show began.", 2),
    ("decimals", "It rose 3.5 percent. Then it fell.", 2),
    ("versions", "Use Python 3.11.2. It is fast.", 2),
    ("ellipsis within", "Well... it depends.", 1),
    ("ellipsis at the end", "Well... I think so.", 2),
    ("several marks at once", "Really?! Yes!!!", 2),
    ("list items each", "- one\n- two\n- three", 3),
    ("numbered items with sentences", "1. Do this. Then that.\n2. Stop.", 3),
    ("a lead-in and its list", "Here are tips:\n- a\n- b", 3),
    ("a heading is none", "# Title\n\nText here.", 1),
    ("a bold heading is none", "**Title**\n\nText here. More.", 2),
    ("an underlined heading is none", "Title\n=====\nText.", 1),
    ("a missing space", "Done.Next we go.", 2),
    ("a missing space after a number", "It ended in 2020.The next year began.", 2),
    ("initials", "J. K. Rowling wrote it.", 1),
    ("an acronym before a name", "The U.S. Army came. It left.", 2),
    ("an acronym before a new sentence", "He moved to the U.S. The end.", 2),
    ("etc. within", "Apples, pears, etc. are fruit.", 1),
    ("e.g.", "See e.g. the book. Fine.", 2),
    ("names with dots", "Node.js and example.com are names.", 1),
    ("links", "Visit https://a.example/c.d?e. Then go.", 2),
    ("a quoted question", '"Really?" she asked. "Yes."', 2),
    ("I at the end", "So do I. The dog too.", 2),
    ("No as an answer", "No. I do not.", 2),
    ("No. as number", "No. 5 is alive.", 1),
    ("brackets", "I like it (a lot). You too.", 2),
    ("lines without marks run on", "One goes\nover lines. Two.", 2),
    ("paragraphs", "One\n\nTwo", 2),
    ("a small letter after a full stop", "It works. then it stops.", 2),
    ("a fenced block is one", "```py\nx = 1.\nprint(x)\n```\nDone.", 2),
    ("Chinese", "你好。再见。", 2),
]


@pytest.mark.parametrize(("why", "text", "count"), SENTENCES, ids=[form[0] for form in SENTENCES])
def test_sentences(why: str, text: str, count: int) -> None:
    assert count_sentences(text) == count


@given(st.text(alphabet=st.sampled_from(list("ab. !?…\n-#*|`1)AI")), max_size=200))
@settings(max_examples=200, deadline=None)
def test_counting_never_fails_and_no_word_means_none(text: str) -> None:
    count = count_sentences(text)
    assert 0 <= count <= len(text)


TOOLS = ["Weather", "News", "Calculator", "Stock", "Recipe", "Dictionary"]
CHOICES = [
    ("bare", "Weather", "Weather"),
    ("other case and a full stop", "weather.", "Weather"),
    ("bold", "**Stock**", "Stock"),
    ("with the word tool", "Dictionary tool", "Dictionary"),
    ("JSON", '{"tool": "News"}', "News"),
    ("fenced JSON", '```json\n{"name": "News", "arguments": {}}\n```', "News"),
    ("JSON in a sentence", 'I pick {"tool": "Recipe"}.', "Recipe"),
    ("nested function", '[{"type": "function", "function": {"name": "Stock"}}]', "Stock"),
    ("a sentence", "I would use the Calculator tool for this.", "Calculator"),
    ("a reason that names no other", "The Recipe tool, because you want to cook.", "Recipe"),
    ("one picked, one excluded", "Not the News tool; use Stock.", "Stock"),
    (
        "one picked after another topic",
        "The user asked for the weather before, but now I'd use Dictionary.",
        "Dictionary",
    ),
    ("best tool is", "Of Weather and News, the best tool here is News.", "News"),
    ("the last line alone", "Could be Weather or News.\n\nNews", "News"),
    (
        "one picked, one said not to fit",
        "**Tool:** Weather\n\nNews is not relevant and Stock wouldn't help.",
        "Weather",
    ),
    ("denied behind the name", "Recipe is irrelevant here, Dictionary.", "Dictionary"),
    ("nothing but denials", "News isn't suitable.", None),
    ("several, none picked", "Weather or News could help.", None),
    ("two in JSON", '[{"name": "News"}, {"name": "Stock"}]', None),
    ("none named", "I don't know.", None),
    ("part of a word is no name", "Newspapers report on stockings.", None),
]


@pytest.mark.parametrize(("why", "text", "tool"), CHOICES, ids=[form[0] for form in CHOICES])
def test_tools(why: str, text: str, tool: str | None) -> None:
    assert chosen_tool(text, TOOLS)[0] == tool


def test_tool_names_with_spaces_and_underscores() -> None:
    assert chosen_tool("I'd call web_search.", ["Web Search", "Search"])[0] == "Web Search"


SLOT_FORMS: list[tuple[str, Json, Json, bool]] = [
    ("date", "05/07", "May 7", True),
    ("date", "2025-05-07", "May 7th, 2025", True),
    ("date", "2025-05-07", "Wednesday, the 7th of May 2025", True),
    ("date", "05/07/2025", "7 May", True),
    ("date", "05/07", "5 July", False),
    ("date", "13/05", "May 13", True),
    ("date", "May twenty-first", "05/21", True),
    ("date", "05/07/25", "2025-05-07", True),
    ("date", "2024-05-07", "2025-05-07", False),
    ("date", "02/30", "02/30", False),
    ("date", "May 7 or 8", "May 7", False),
    ("date", "soon", "soon", False),
    ("date", None, "May 7", False),
    ("time", "19:30", "7:30 PM", True),
    ("time", "7:30 p.m.", "19:30", True),
    ("time", "half past seven in the evening", "7:30 pm", True),
    ("time", "seven thirty pm", "19:30", True),
    ("time", "quarter to eight pm", "19:45", True),
    ("time", "noon", "12:00", True),
    ("time", "12 am", "00:00", True),
    ("time", "12 pm", "12:00", True),
    ("time", "1930", "7.30pm", True),
    ("time", "7 o'clock in the evening", "19:00", True),
    ("time", "7:30 am", "7:30 pm", False),
    ("time", "7:30", "19:30", False),
    ("time", "7-8 pm", "7 pm", False),
    ("time", "25:00", "25:00", False),
    ("time", 7, "7 pm", False),
    ("people", 4, "four", True),
    ("people", "party of 4", 4, True),
    ("people", "table for twenty-two", 22, True),
    ("people", 4.0, "4 people", True),
    ("people", True, 1, False),
    ("people", "4-5", 4, False),
    ("people", "four or five", 4, False),
    ("people", "2 adults and 2 children", 4, False),
    ("people", 4.5, 4, False),
    ("people", 0, 0, False),
]


@pytest.mark.parametrize(("slot", "given_value", "expected", "same"), SLOT_FORMS)
def test_slot_values(slot: str, given_value: Json, expected: Json, same: bool) -> None:
    assert slot_matches(slot, given_value, expected) is same


def test_reference_date_reads_relative_days_and_missing_years() -> None:
    today = date(2025, 3, 1)
    assert slot_matches("date", "tomorrow", "2025-03-02", today)
    assert not slot_matches("date", "tomorrow", "2025-03-02")
    assert not slot_matches("date", "March 2", "2024-03-02", today)


@pytest.mark.parametrize(
    ("why", "text", "slots"),
    [
        ("JSON", '{"date": "05/07", "time": "19:00", "people": 4}', ("05/07", "19:00", 4)),
        ("fenced and named otherwise",
         '```json\n{"Booking": {"Date": "05/07", "party": 4, "Time": "7 pm"}}\n```', ("05/07", "7 pm", 4)),
        ("single quotes and a trailing comma",
         "{'date': '05/07', 'time': '19:00', 'people': 4,}", ("05/07", "19:00", 4)),
        ("the last complete one",
         '{"date": "1/1", "time": "1 pm", "people": 1} no: {"date": "05/07", "time": "7 pm", "people": 4}',
         ("05/07", "7 pm", 4)),
        ("lines", "- **Date:** May 7\n- **Time**: 7 pm\n- Number of people: 4", ("May 7", "7 pm", "4")),
        ("rows of a table", "| Field | Value |\n|---|---|\n| **Date** | May 7 |\n| Time | 7 pm |\n| Guests | 4 |",
         ("May 7", "7 pm", "4")),
        ("nothing", "I booked it.", None),
    ],
)  # fmt: skip
def test_slots_are_read(why: str, text: str, slots: tuple[Json, ...] | None) -> None:
    found = read_slots(text)
    assert (None if found is None else (found["date"], found["time"], found["people"])) == slots


SENTENCE_BOOKINGS = [
    ("I've booked a table for 4 people on March 5th at 7:30 PM.", ("March 5", "19:30", 4)),
    ("A reservation for two on the 7th of May 2025 at half past seven in the evening.", ("2025-05-07", "7:30 pm", 2)),
    ("Booked for May 7, 2025, 19:30, four guests.", ("2025-05-07", "19:30", 4)),
    ("Dinner for **four** on 05/07 at 7 pm. See you on May 7!", ("05/07", "19:00", 4)),
    ("Your party of six is booked for 2025-03-02 at noon.", ("2025-03-02", "12:00", 6)),
    ("Confirmed: Wednesday, May 7th at 7 p.m., twenty-two people", ("05/07", "19:00", 22)),
    ("A table for 2 hours for 3 persons, 7 May, eight o'clock in the evening", ("05/07", "20:00", 3)),
    ("Date: May 7, Time: 7 pm, People: 4", ("05/07", "19:00", 4)),
    ("Date: May 7. It is a table for four at 7 pm.", ("05/07", "19:00", 4)),
]


@pytest.mark.parametrize(("text", "booking"), SENTENCE_BOOKINGS)
def test_a_booking_told_in_a_sentence_is_read(text: str, booking: tuple[Json, Json, Json]) -> None:
    expected = dict(zip(("date", "time", "people"), booking, strict=True))
    assert graded("entity_extraction", {"expected": expected}, text).score == 100.0


OPEN_BOOKINGS = [
    ("A table for 4 on May 7 at 7-8 pm.", "wrong", "a range of times"),
    ("A table for 4 or 5 people on May 7 at 7 pm.", "wrong", "an alternative"),
    ("A table for 4 on May 7 at 7 pm, or at 8 pm.", "ambiguous", "two times"),
    ('{"date": "May 7", "time": "7 pm", "people": 4}\n{"date": "May 8", "time": "7 pm", "people": 4}', "ambiguous",
     "two bookings side by side"),
    ('{"date": "May 8", "time": "7 pm", "people": 4}\nSorry: {"date": "May 7", "time": "7 pm", "people": 4}', "correct",
     "the first one is taken back"),
    ('Format: {"date": "YYYY-MM-DD", "time": "HH:MM", "people": 0}\n{"date": "May 7", "time": "7 pm", "people": 4}',
     "correct", "a pattern is no booking"),
    ('{"date": "May 7", "time": "7 pm", "people": 4}\n{"date": "2025-05-07", "time": "19:00", "people": "four"}',
     "correct", "the same booking twice"),
    ("I will book it.", "no_answer", "nothing of a booking"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "verdict", "why"), OPEN_BOOKINGS)
def test_several_values_of_a_slot_are_no_answer(text: str, verdict: str, why: str) -> None:
    booking = {"expected": {"date": "2025-05-07", "time": "19:00", "people": 4}}
    assert graded("entity_extraction", booking, text).verdict == verdict, why


@given(st.text(alphabet=st.sampled_from(list("0123456789:/- ampontseven{}\"',datimeople")), max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read(text: str) -> None:
    read_slots(text)
    normal_date(text), normal_time(text), normal_people(text)
    chosen_tool(text, TOOLS)


@pytest.mark.parametrize(
    "text",
    [
        "{" * 20_000,
        "Weather " * 20_000,
        "A." * 30_000,
        "```" * 20_000,
        "- " * 20_000,
        "not the " * 20_000,
        "twenty " * 20_000,
        "7 pm to " * 10_000,
        "May 7 to " * 10_000,
        "for 4 " * 20_000,
        "1" * 100_000,
        " " * 200_000,
    ],
)
def test_long_hostile_text_is_read_quickly(text: str) -> None:
    start = time.process_time()
    count_sentences(text)
    chosen_tool(text, TOOLS)
    read_slots(text)
    assert time.process_time() - start < 3


def graded(task: str, fields: dict[str, Json], answer: str) -> Verdict:
    from pathlib import Path

    scorer = DIALOGUE_TASKS[task]
    instruction: Instruction = scorer.score_item(fields, Path())
    return scorer.score(answer, instruction)


def test_graders_pass_or_fail() -> None:
    assert graded("instruction_following", {"limit": 2}, "One. Two.").score == 100.0
    assert graded("instruction_following", {"limit": 1}, "One. Two.").score == 0.0
    tools = {"tools": TOOLS, "expected": "news"}
    assert graded("tool_selection", tools, "News").answer == "News"
    assert graded("tool_selection", tools, "Weather or News").verdict == "ambiguous"
    assert graded("tool_selection", tools, "None").verdict == "no_answer"
    booking = {"expected": {"date": "2025-05-07", "time": "19:30", "people": 4}}
    right = graded("entity_extraction", booking, '{"date": "May 7", "time": "7:30 pm", "people": "four"}')
    assert (right.score, right.verdict) == (100.0, "correct")
    wrong = graded("entity_extraction", booking, '{"date": "May 7", "time": "7:30 am", "people": "four"}')
    assert (wrong.score, wrong.detail["matches"]) == (0.0, {"date": True, "time": False, "people": True})
    assert graded("entity_extraction", booking, "Done!").verdict == "no_answer"


def test_tool_call_without_text_counts() -> None:
    response = b'{"tool_calls": [{"function": {"name": "News"}}]}'
    raw = b'{"tools": ["News", "Stock"], "expected": "News", "response": ' + response + b"}"
    assert LineScorer(DIALOGUE_TASKS["tool_selection"]).score(1, raw)["score"] == 100.0
