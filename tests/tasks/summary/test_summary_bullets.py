"""Reading summaries: bullets, citations and trimming, each form with its right value and why."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lic_pipeline.tasks.summary.citations import cited, without_citations
from lic_pipeline.tasks.summary.forms import plain_form
from lic_pipeline.tasks.summary.summary_bullets import (
    parse_bullets,
    proportional,
    read_bullets,
    read_bullets_losing_citations,
)
from lic_pipeline.tasks.summary.tables import with_cited_columns

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


WRITTEN = [
    ("escaped brackets", "Rents rose \\[1, 2\\].", (1, 2)),
    ("full-width brackets", "Rents rose［1］.", (1,)),
    ("a word for citing", "Rents rose [cite: 1, 2] [cite:4] [Citations: 5-7].", (1, 2, 4, 5, 6, 7)),
    ("in round brackets, too", "Rents rose (cited in documents 1, 2).", (1, 2)),
    ("a count is no citation", "He was named (cited 3 times) there [in 2019].", ()),
    ("either number", "Rents rose (Document(s) 1, 2) [Source(s): 3].", (3, 1, 2)),
    ("start marks", "[cite_start]Rents rose. [cite: 3]", (3,)),
    ("joined labels", "Rents rose [doc_1, doc_2] (Document-4) [D5].", (1, 2, 5, 4)),
    ("raised numbers", "Rents rose.<sup>1,2</sup>", (1, 2)),
    ("a place in the document", "Rents rose【3†lines 4-9】.", (3,)),
    ("a label and a colon at the end", "Rents rose. Sources: 1, 2 and 4.", (1, 2, 4)),
    ("after a dash, bold", "Rents rose — **Documents:** 1, 2", (1, 2)),
    ("a count with a colon is none", "The number of sources: 12", ()),
    ("a range over brackets", "Rents rose [4]-[6], [8]–[9].", (4, 5, 6, 8, 9)),
    ("in words", "Rents rose [4] to [6]; [8] through [9].", (4, 5, 6, 8, 9)),
    ("with dots", "Rents rose [4]…[6].", (4, 5, 6)),
    ("with labels", "Rents rose [Document 4] - [Document 6].", (4, 5, 6)),
    ("a range in prose", "Documents 4 through 6, 8 and 9 say so.", (4, 5, 6, 8, 9)),
    ("inside brackets", "Rents rose (Documents 4 through 6) [8 through 9].", (8, 9, 4, 5, 6)),
    ("a range of years is none", "Rents rose 3 through 5 years later.", ()),
    ("numbered documents", "Document No. 4 and document number 12 say so.", (4, 12)),
]


@pytest.mark.parametrize(("why", "text", "expected"), WRITTEN, ids=[form[0] for form in WRITTEN])
def test_citations_as_models_write_them(why: str, text: str, expected: tuple[int, ...]) -> None:
    assert cited(plain_form(text)) == expected


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
    ("sources below belong to it", "- One\n  - Sources: [1]\n- Two\n  *[2]*", ("One Sources: [1]", "Two *[2]*")),
    ("not indented, where it cites nothing", "- One\nSources: [1]\n\n- Two\n\n[2]", ("One Sources: [1]", "Two [2]")),
    ("below a label of their own", "- One\n  - Sources:\n    - [1]\n    - [2]", ("One [1] [2]",)),
    ("a last line of all sources is nobody's", "- One [1]\n- Two [2]\nSources: [1][2]", ("One [1]", "Two [2]")),
    ("nor is a last bullet", "- One [1]\n- Two [2]\n- Sources: [1][2]", ("One [1]", "Two [2]")),
    ("nor is a list", "- One [1]\n\n[1] Document 1\n[2] Document 2", ("One [1]",)),
    ("nor one with titles below a heading", "- One [1]\n\n## References\n- [1] One\n- [2] Other", ("One [1]",)),
    ("what follows such a list counts", "- One [1]\n\n# Sources\n[1] A\n# More\n- Two [2]", ("One [1]", "Two [2]")),
    ("footnotes' texts are none", "- One [^1]\n\n[^1]: Document 1", ("One [^1]",)),
]


@pytest.mark.parametrize(("why", "text", "expected"), BULLETS, ids=[form[0] for form in BULLETS])
def test_bullet_forms(why: str, text: str, expected: tuple[str, ...]) -> None:
    assert parse_bullets(text) == expected


def test_the_reference_policy_takes_lines_of_sources_as_they_stand() -> None:
    assert parse_bullets("- One\n  - Sources: [1]\n\n[2] Document 2", sources=False) == (
        "One",
        "Sources: [1]",
        "[2] Document 2",
    )


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
    raw = parse_bullets(plain_form(with_cited_columns(text)))
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
        "[cite: 1, " * 10_000,
        "[1] to [2] " * 10_000,
        "- [1]\n" * 20_000,
        "Sources: 1, " * 10_000,
        "<sup>1, " * 10_000,
        "| 1 |\n|-|\n" * 10_000,
    ],
)
def test_long_hostile_text_is_read_quickly(text: str) -> None:
    import time

    start = time.process_time()
    read_bullets(parse_bullets(plain_form(with_cited_columns(text))))
    assert time.process_time() - start < 2
