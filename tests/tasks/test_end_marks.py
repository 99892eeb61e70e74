"""What templates and wrappers put around a reply, and quotation marks around a fence: one line per form."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lic_pipeline.tasks.end_marks import until_end_mark, without_end_marks
from lic_pipeline.tasks.fenced_blocks import inner_blocks
from lic_pipeline.tasks.reply_reading import visible_text

ENDS = ["</s>", "<end_of_turn>", "<eos>", "<end_code>", "[/INST]", "</code>", "</answer>", "</sql>", "</a:b>", "<s>"]


@pytest.mark.parametrize("mark", [*ENDS, "</code>\n</answer>", "</s></s>", "</query> </s>\n"])
def test_marks_at_the_end_are_no_part_of_a_text(mark: str) -> None:
    for text in (f"x = 1{mark}", f"x = 1\n{mark}\n", f"x = 1 {mark}"):
        assert without_end_marks(text) == "x = 1"
        assert until_end_mark(text) == "x = 1"
        assert visible_text(text)[0] == "x = 1"
        assert [block.body for block in inner_blocks(f"```python\n{text}")] == ["x = 1"]
        assert [block.body for block in inner_blocks(f"Here:\n```\n{text}\n```\nDone.")] == ["x = 1"]


@pytest.mark.parametrize(
    "text",
    [
        "<b>x</b>",
        "<p class='a'>x</p>\n",
        "<function=f>{}</function>",
        "x[1] < y > z",
        "a = grid[ROWS][COLS]",
        "List<int>",
        "",
    ],
)
def test_what_is_no_stray_mark_stays(text: str) -> None:
    assert without_end_marks(text) == until_end_mark(text) == visible_text(text)[0] == text


def test_an_open_fence_ends_where_its_wrapper_does() -> None:
    text = "<code>\n```python\nx = 1\n</code>\nThis sets x.</s>"
    (block,) = inner_blocks(text)
    assert block.body == "x = 1"
    assert text[block.end :].strip().startswith("</code>\nThis sets x.")
    assert inner_blocks('```python\nend = """\n</body>\n"""\ny = 2')[0].body == 'end = """\n</body>\n"""\ny = 2'
    assert inner_blocks("```\na</s>\nb\n```")[0].body == "a</s>\nb\n"


QUOTED = [
    ("> ```python\n> if j > i:\n>     f(a)\n> ```", "if j > i:\n    f(a)\n"),
    ("> ```python\n> def f() -> int:\n>\n>     return 1\n> ```", "def f() -> int:\n\n    return 1\n"),
    (">```\n>x = 1 > 0\n>```", "x = 1 > 0\n"),
    ("> > ```\n> > a > b\n> > ```", "a > b\n"),
    (">> ```\n>> a\n>> ```", "a\n"),
    ("> ```\n> >>> f(1)\n> ```", ">>> f(1)\n"),
    ("> ```\n> a > b", "a > b"),
    ("> ```\n> a > b\n\nNo more.", "a > b\n"),
    ("> ```\na > b\n> ```", "a > b\n"),
    ("```\n> a\n> b -> c\n```", "a\nb -> c\n"),
    ("```\n>>> f(1)\n>>> g(2)\n```", ">>> f(1)\n>>> g(2)\n"),
]


@pytest.mark.parametrize(("text", "body"), QUOTED)
def test_a_quotation_gives_its_text_exactly(text: str, body: str) -> None:
    assert [block.body for block in inner_blocks(text)] == [body]


CHANNEL = "<|channel|>analysis<|message|>Two and two.<|end|><|start|>assistant"
TEMPLATES = [
    ("<|im_start|>assistant\n42<|im_end|>\n", "42\n", False, "tokens around a message"),
    ("42<|im_end|>\n<|im_start|>user\nWhy?", "42\n", False, "a turn written for the user"),
    ("42<end_of_turn>\n<start_of_turn>user\nWhy?", "42", False, "the same in another template"),
    ("42</s>[INST] Why? [/INST] So", "42", False, "and another"),
    ("<|im_start|>user\nHow many?<|im_end|>\n<|im_start|>assistant\n42", "user\nHow many?\n42", False, "an echo"),
    ("<s>[/INST] 42</s>", "42", False, "what the prompt ended with"),
    ("<start_of_turn>model\n42<end_of_turn>", "42", False, "the model's own turn"),
    (f"{CHANNEL}<|channel|>final<|message|>4<|return|>", "4", False, "a final channel"),
    (f"{CHANNEL}<|channel|>commentary<|message|>4", "\ncommentary\n4", False, "a channel of reasoning before others"),
    ("<|channel|>analysis<|message|>Two and", "", True, "nothing but reasoning"),
    ("f<｜tool▁sep｜>g<|tool▁call▁end|>", "f\ng\n", False, "tokens that separate"),
]


@pytest.mark.parametrize(("text", "visible", "truncated", "why"), TEMPLATES)
def test_a_template_is_no_part_of_the_answer(text: str, visible: str, truncated: bool, why: str) -> None:
    assert visible_text(text) == (visible, truncated), why


@given(
    st.lists(st.sampled_from(["</s>", "<a", "</a>", ">", " ", "\n", "```", '"""', "[/X]", "[INST]", "<|"])).map("".join)
)
def test_any_text_is_read(text: str) -> None:
    for read in (without_end_marks, until_end_mark):
        assert text.startswith(read(text))
    assert all(len(block.body) <= len(text) for block in inner_blocks(text))


@pytest.mark.parametrize(
    "piece",
    [
        "</s>",
        "<a ",
        "</a>x\n",
        '"""</a>\n',
        "</s> x",
        "\n\n ",
        "<|channel|>analysis<|message|>",
        "[INST]",
        "> > ",
        "<|x ",
    ],
)
def test_long_texts_take_linear_time(piece: str) -> None:
    started = time.process_time()
    visible_text(piece * 50_000)
    inner_blocks("> ```\n" + piece * 50_000)
    assert time.process_time() - started < 3
