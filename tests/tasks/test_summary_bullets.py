"""Reading summaries: bullets, citations and trimming, each form with its right value and why."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lic_pipeline.tasks.summary.bullets import (
    parse_bullets,
    proportional,
    read_bullets,
    read_bullets_losing_citations,
)
from lic_pipeline.tasks.summary.citations import cited, without_citations

CITATIONS = [
    ("one", "Rents rose [3].", (3,)),
    ("a list", "Rents rose [3, 5].", (3, 5)),
    ("several brackets", "Rents rose [3][5] [7].", (3, 5, 7)),
    ("a range", "Rents rose [3-6].", (3, 4, 5, 6)),
    ("a range with a dash", "Rents rose [3–5, 9].", (3, 4, 5, 9)),
    ("semicolons and words", "Rents rose [3; 5 and 7].", (3, 5, 7)),
    ("labels inside", "Rents rose [Document 3; Doc. 5].", (3, 5)),
    ("an article in brackets", "Rents rose [Article 3].", (3,)),
    ("an article in round brackets", "Rents rose (Articles 3 and 4).", (3, 4)),
    ("an article in prose is not a citation", "Article 5 of the treaty binds them.", ()),
    ("a document in prose is one", "Document 12 says that rents rose.", (12,)),
    ("documents in prose", "Documents 12, 14 and 15 say so.", (12, 14, 15)),
    ("double brackets", "Rents rose [[3]].", (3,)),
    ("links", "Rents rose [3](#doc3).", (3,)),
    ("footnotes", "Rents rose [^3].", (3,)),
    ("full-width brackets", "Rents rose 【3†source】.", (3,)),
    ("repeated once", "[3] and again [3].", (3,)),
    ("a bare number in round brackets is none", "Seven firms (7) rose.", ()),
    ("a decimal is none", "It grew [3.5].", ()),
    ("percent is none", "It grew [10%].", ()),
    ("words are none", "He said [sic] so.", ()),
    ("a huge range adds its ends only", "All of it [1-9999].", (1, 9999)),
    ("a backward range adds its ends", "All of it [9-7].", (9, 7)),
    ("nothing", "", ()),
]


@pytest.mark.parametrize(("why", "text", "expected"), CITATIONS, ids=[form[0] for form in CITATIONS])
def test_citation_forms(why: str, text: str, expected: tuple[int, ...]) -> None:
    assert cited(text) == expected


def test_words_without_citations_keep_the_rest() -> None:
    assert (
        without_citations("Rents rose [3, 5] in (Article 4) May [sic] (again) [3].")
        == "Rents rose in May [sic] (again)."
    )


BULLETS = [
    ("dashes", "- One [1]\n- Two [2]", ("One [1]", "Two [2]")),
    ("stars, dots and numbers", "* One\n• Two\n3. Three\n4) Four", ("One", "Two", "Three", "Four")),
    ("bold openings are no marker", "- **Rents:** rose [1]", ("**Rents:** rose [1]",)),
    ("an introduction is no bullet", "Here is the summary:\n\n- One [1]", ("One [1]",)),
    ("not even one that cites", "From documents [1]-[9]:\n- One [1]", ("One [1]",)),
    ("headings are none", "# Rents\n- One [1]\n**Wages**\n- Two [2]", ("One [1]", "Two [2]")),
    ("a closing line without citation is none", "- One [1]\n\nOverall, much is open.", ("One [1]",)),
    ("a wrapped line continues", "- One goes\non here [1]\n- Two [2]", ("One goes on here [1]", "Two [2]")),
    ("an indented one after a blank line too", "- One\n\n  goes on [1]", ("One goes on [1]",)),
    ("citations on a line of their own belong to the bullet", "- One\n\n[1][2]", ("One [1][2]",)),
    ("nested bullets count each", "- One [1]\n  - Two [2]", ("One [1]", "Two [2]")),
    ("paragraphs that cite count beside marked ones", "Wages fell [3].\n\n- One [1]", ("Wages fell [3].", "One [1]")),
    ("unmarked lines each count", "Wages fell [3].\nRents rose [4].", ("Wages fell [3].", "Rents rose [4].")),
    ("fences and rules are none", "```\n- One [1]\n---\n- Two [2]\n```", ("One [1]", "Two [2]")),
    ("an empty bullet is none", "- \n- One [1]", ("One [1]",)),
    ("a minus before a number is text", "-5 degrees were measured [1]", ("-5 degrees were measured [1]",)),
    ("nothing", " \n", ()),
]


@pytest.mark.parametrize(("why", "text", "expected"), BULLETS, ids=[form[0] for form in BULLETS])
def test_bullet_forms(why: str, text: str, expected: tuple[str, ...]) -> None:
    assert parse_bullets(text) == expected


def test_trimming_is_proportional_and_keeps_citations() -> None:
    long, short = "word " * 400 + "[1][2]", "term " * 200 + "[3]"
    kept = read_bullets([long, short])
    assert [len(bullet.words) for bullet in kept] == [200, 100]
    assert [bullet.citations for bullet in kept] == [(1, 2), (3,)]


def test_reference_policy_trims_citations_away() -> None:
    kept = read_bullets_losing_citations(["word " * 400 + "[1][2]", "term " * 200 + "[3]"])
    assert [bullet.citations for bullet in kept] == [(), ()]
    assert sum(len(bullet.words) for bullet in kept) <= 300


def test_300_words_are_not_trimmed_and_citations_are_no_words() -> None:
    exact = "word " * 300 + " ".join(f"[{number}]" for number in range(1, 90))
    (bullet,) = read_bullets([exact])
    assert len(bullet.words) == 300
    assert len(bullet.citations) == 89


@given(st.lists(st.integers(0, 500), min_size=1, max_size=40), st.integers(0, 300))
def test_shares_are_exact_fair_and_within_each_bullet(lengths: list[int], limit: int) -> None:
    if sum(lengths) < max(limit, 1):
        return
    shares = proportional(lengths, limit)
    assert sum(shares) == limit
    for share, length in zip(shares, lengths, strict=True):
        assert 0 <= share <= length
        assert abs(share - length * limit / sum(lengths)) < 1


WILD = st.text(alphabet=st.sampled_from(list("-*•1234567890.)([]【】,;–# \n\tabcDoc:†^`_")), max_size=400)


@given(st.one_of(WILD, st.text(max_size=400)))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_and_trimmed(text: str) -> None:
    raw = parse_bullets(text)
    assert all(line.strip() for line in raw)
    whole, trimmed = read_bullets(raw, limit=10**9), read_bullets(raw, limit=7)
    assert [bullet.citations for bullet in trimmed] == [bullet.citations for bullet in whole]
    assert sum(len(bullet.words) for bullet in trimmed) == min(7, sum(len(bullet.words) for bullet in whole))
    for before, after in zip(whole, trimmed, strict=True):
        assert before.words[: len(after.words)] == after.words
        assert all(0 <= number <= 9999 for number in after.citations)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["rents rose", "wages fell fast"]), st.lists(st.integers(1, 100), min_size=1, max_size=8)
        ),
        min_size=1,
        max_size=12,
    )
)
def test_written_bullets_are_read_back(bullets: list[tuple[str, list[int]]]) -> None:
    text = "\n".join(f"- {words} " + "".join(f"[{number}]" for number in numbers) for words, numbers in bullets)
    kept = read_bullets(parse_bullets(text))
    assert [bullet.text for bullet in kept] == [words for words, _ in bullets]
    assert [bullet.citations for bullet in kept] == [tuple(dict.fromkeys(numbers)) for _, numbers in bullets]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 50_000,
        "- " * 50_000,
        "[1," * 30_000,
        "(" * 50_000,
        "document 1 and " * 10_000,
        "**" * 50_000,
        " " * 100_000 + "x",
    ],
)
def test_long_hostile_text_is_read_quickly(text: str) -> None:
    import time

    start = time.process_time()
    read_bullets(parse_bullets(text))
    assert time.process_time() - start < 2
