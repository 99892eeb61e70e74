"""What label and extraction both read of a reply is read once, however many conversations are held at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lic_pipeline.records import Instruction, Reply
from lic_pipeline.tasks import reading_cache as memo
from lic_pipeline.tasks.actions import task as actions
from lic_pipeline.tasks.code import extract_program as code
from lic_pipeline.tasks.database import extract_query as database
from lic_pipeline.tasks.math import extract_number as maths
from lic_pipeline.tasks.reading_cache import LONGEST, Kept, Same
from lic_pipeline.tasks.registry import get_task

IN_FLIGHT = 96
FUNCTIONS = [{"name": "f", "description": "", "parameters": {"type": "dict", "properties": {"n": {"type": "integer"}}}}]
READERS: dict[str, tuple[Kept[..., Any], str, dict[str, Any], dict[str, Any]]] = {
    "math": (maths.read, "So there are {} of them.", {}, {"answer": "3"}),
    "database": (database.find, "```sql\nSELECT {}\n```", {}, {"reference_sql": "SELECT 1"}),
    "actions": (actions._found, "[f(n={})]", {"functions": FUNCTIONS}, {"calls": [{"f": {"n": [1]}}]}),
    "code": (code._read, "```python\ndef f(n):\n    return {}\n```", {}, {"entry_point": "f", "prompt": "def f(n):\n"}),
}


def counted(reader: Kept[..., Any], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that a reader really reads from now on."""
    read: list[str] = []
    original: Callable[..., Any] = reader._read

    def counting(text: str, *args: Any, **kwargs: Any) -> Any:
        read.append(text)
        return original(text, *args, **kwargs)

    fresh: Kept[..., Any] = Kept(counting)
    monkeypatch.setattr(reader, "_read", fresh._read)
    monkeypatch.setattr(reader, "_kept", fresh._kept)
    return read


@pytest.mark.parametrize("name", READERS)
def test_a_reply_is_read_once_among_many_conversations(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, reply, context, reference = READERS[name]
    read = counted(reader, monkeypatch)
    task = get_task(name)
    instructions = [
        Instruction(instruction_id=f"t/{n}", task=name, benchmark="t", text="", context=context, reference=reference)
        for n in range(IN_FLIGHT)
    ]
    replies = [Reply(text=reply.format(n)) for n in range(IN_FLIGHT)]
    for each in (task.label, task.extract):
        for one, instruction in zip(replies, instructions, strict=True):
            each(one, instruction)
    assert len(read) == IN_FLIGHT


def test_long_texts_are_not_kept_and_no_more_than_the_latest() -> None:
    read: list[str] = []
    length = Kept(lambda text: read.append(text) or len(text))
    for text in ["a" * LONGEST, "a" * (LONGEST + 1)] * 2:
        assert length(text) == len(text)
    assert len(read) == 3
    for n in range(memo.MOST):
        length(str(n))
    length("a" * LONGEST)
    assert len(read) == 4 + memo.MOST
    length.cache_clear()
    length("1023")
    assert len(read) == 5 + memo.MOST


def test_readings_for_other_functions_are_others() -> None:
    one, other = [{"name": "f"}], [{"name": "f"}]
    assert Same(one) == Same(one)
    assert hash(Same(one)) == hash(Same(one))
    assert Same(one) != Same(other)
    assert Same(one) != one
    task = get_task("actions")
    prose = Reply(text="I would call g(n=1) here.")
    known, unknown = (
        Instruction(
            instruction_id="t/0",
            task="actions",
            benchmark="t",
            text="",
            context={"functions": [{"name": name, "parameters": {}}]},
            reference={},
        )
        for name in ("g", "h")
    )
    assert task.extract(prose, known).answer == "[g(n=1)]"
    assert task.extract(prose, unknown).answer is None
