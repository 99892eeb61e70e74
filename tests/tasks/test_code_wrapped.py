"""Programs between marks that are no fence, and fences that are not closed as they were opened."""

# ruff: noqa: E501 - a table reads best with one case a line

from __future__ import annotations

import html
import time

import pytest

from lic_pipeline.records import Instruction, Reply, Rung, Strategy
from lic_pipeline.tasks.code import TASK
from lic_pipeline.tasks.fenced_blocks import inner_blocks

RAISE = Instruction(
    instruction_id="humaneval/0",
    task="code",
    benchmark="humaneval",
    text="Raise each value to a floor",
    reference={
        "format": "humaneval",
        "entry_point": "raised",
        "prompt": 'def raised(values, floor):\n    """No value below the floor."""\n',
        "canonical_solution": "    return [max(value, floor) for value in values]\n",
        "test": "def check(candidate):\n    assert candidate([1, 5], 3) == [3, 5]\n",
    },
)
GOOD = "def raised(values, floor) -> list:\n    out = []\n    for v in values:\n        out.append(v if v > floor else floor)\n    return out"
OTHER = GOOD.replace("v > floor", "v < floor")
LINE = "def raised(values, floor): return [max(v, floor) for v in values]"
DOC = 'def raised(values, floor):\n    """Example:\n\n    ```\n    raised([1], 2)\n    ```\n    """\n    return [max(v, floor) for v in values]'

TAGGED_DOC = DOC.replace("```\n    raised", "```python\n    raised")


def quoted(text: str, mark: str = "> ") -> str:
    return "\n".join((mark + line).rstrip() for line in text.split("\n"))


REPLIES: dict[str, tuple[str, str, Rung]] = {
    "back-ticks": (f"`{LINE}`", LINE, Rung.LOOSE),
    "back-ticks in a sentence": (f"You may use `{LINE}` for it.", LINE, Rung.LOOSE),
    "two back-ticks": (f"**``{LINE}``**", LINE, Rung.LOOSE),
    "three on one line": (f"```python {LINE}```", LINE, Rung.LOOSE),
    "back-ticks around several lines": (f"`{GOOD}`", GOOD, Rung.LOOSE),
    "the last of several": (f"Not `{LINE.replace('max', 'min')}` but `{LINE}`.", LINE, Rung.LOOSE),
    "a lambda": ("`raised = lambda values, floor: [max(v, floor) for v in values]`", "raised = lambda values, floor: [max(v, floor) for v in values]", Rung.LOOSE),
    "an element": (f"<code>{GOOD}</code>", GOOD, Rung.LOOSE),
    "an element of a page": (f'<pre><code class="language-python">{html.escape(GOOD)}</code></pre>', GOOD, Rung.LOOSE),
    "an element that never ends": (f"<answer>{GOOD}", GOOD, Rung.LOOSE),
    "back-ticks around an import and more": (f"`import math\n\n{GOOD}`", f"import math\n\n{GOOD}", Rung.LOOSE),
    "an element around an import and more": (f"<code>import math\n\n{GOOD}</code>", f"import math\n\n{GOOD}", Rung.LOOSE),
    "an element that starts with a value": (f"<pre>LOW = 1\n\n{GOOD}</pre>", f"LOW = 1\n\n{GOOD}", Rung.LOOSE),
    "an element in a fence": (f"```xml\n<code>\n{GOOD}\n</code>\n```", GOOD, Rung.BLOCK),
    "brackets": (f"[PYTHON]{GOOD}[/PYTHON]", GOOD, Rung.LOOSE),
    "quoted lines": (f"Here:\n\n{quoted(GOOD)}\n\nDone.", GOOD, Rung.LOOSE),
    "a quoted fence": (f"Here:\n\n{quoted(f'```python{chr(10)}{GOOD}{chr(10)}```')}\n\nDone.", GOOD, Rung.BLOCK),
    "a quoted fence in a quotation": (quoted(f"```python\n{GOOD}\n```", "> > "), GOOD, Rung.BLOCK),
    "an end token without a fence": (f"{GOOD}</s>", GOOD, Rung.WHOLE),
    "a tag and prose behind an open fence": (f"```python\n{GOOD}\n</code>\nThis keeps the floor.", GOOD, Rung.BLOCK),
    "a fence closed on a line of code": (f"```python\n{GOOD}```\nThis keeps the floor.", GOOD, Rung.BLOCK),
    "a fence cut while it closes": (f"```python\n{GOOD}\n``", GOOD, Rung.BLOCK),
    "a fence closed by fewer marks": (f"````python\n{GOOD}\n```", GOOD, Rung.BLOCK),
    "a second fence after an open one": (f"```python\n{OTHER}\n\nBetter:\n```python\n{GOOD}\n```", GOOD, Rung.BLOCK),
    "a fence in a docstring": (f"```python\n{DOC}\n```", DOC, Rung.BLOCK),
    "a fence with a language in a docstring": (f"```python\n{TAGGED_DOC}\n```", TAGGED_DOC, Rung.BLOCK),
    "a next turn": (f"```python\n{GOOD}\n```<|im_end|>\n<|im_start|>user\nOr:\n```python\n{OTHER}\n```", GOOD, Rung.BLOCK),
}  # fmt: skip


@pytest.mark.parametrize("form", REPLIES)
def test_a_program_is_read_from_its_marks(form: str) -> None:
    text, program, rung = REPLIES[form]
    extraction = TASK.extract(Reply(text=text), RAISE)
    assert (extraction.answer, extraction.rung) == (program, rung)
    assert TASK.label(Reply(text=text), RAISE) is Strategy.ANSWER_ATTEMPT


@pytest.mark.parametrize(
    "text", ["`def raised(values, floor):` is its head.", "`raised([1], 2)` gives `[2]`.", "> a\n> b"]
)
def test_names_and_calls_between_marks_are_no_program(text: str) -> None:
    assert TASK.extract(Reply(text=text), RAISE).answer is None


def test_a_program_between_marks_is_graded() -> None:
    assert TASK.score(TASK.extract(Reply(text=f"`{LINE}`"), RAISE).answer or "", RAISE).correct


def test_a_reopened_fence_gives_each_block_its_place() -> None:
    text = "```sql\na\n```sql\nb\n</sql>\n```sql\nc\n```\nd"
    blocks = inner_blocks(text)
    assert [(block.body, block.closed) for block in blocks] == [("a\n", False), ("b", False), ("c\n", True)]
    assert [text[block.start : block.start + 8] for block in blocks] == ["```sql\na", "```sql\nb", "```sql\nc"]
    assert text[blocks[-1].end :] == "\nd"


@pytest.mark.parametrize(
    "piece", ["`def x`", "<a>def f(): pass\n", "> def f(): pass\n", "```python\nx\n", "x``` y\n", "[A]import a\n"]
)
def test_long_replies_take_bounded_time(piece: str) -> None:
    started = time.process_time()
    TASK.extract(Reply(text=piece * (90_000 // len(piece))), RAISE)
    assert time.process_time() - started < 5
