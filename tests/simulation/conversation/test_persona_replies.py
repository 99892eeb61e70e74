"""Menus of personas: faults are named, items without reference are missing, and no request ever holds the gold."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.items import sample_items
from support.scripted_assistant import held, plan_of, scores_csv

from lic_pipeline.errors import ConfigError
from lic_pipeline.models.ledger import Ledger
from lic_pipeline.models.registry import get_model
from lic_pipeline.models.request import ModelRequest
from lic_pipeline.records import Instruction, PersonaReply, Reply, Setting
from lic_pipeline.simulation.conversation import assistants as voices
from lic_pipeline.simulation.conversation.persona_replies import load_persona_replies
from lic_pipeline.simulation.engine import engine
from lic_pipeline.simulation.plan.conversation_plan import Approved, Plan
from lic_pipeline.tasks.registry import get_task

TASKS = ("code", "database", "actions", "math", "data2text", "summary")
ITEM = sample_items("math")[0].instruction


class PersonaReplies:
    """The math task with another menu, or without a reference for some items."""

    def __init__(self, change: Any = None, without: str = "") -> None:
        self._task = get_task("math")
        self._change = change or (lambda items: items)
        self._without = without

    def __getattr__(self, name: str) -> Any:
        return getattr(self._task, name)

    def persona_replies(self, instruction: Instruction) -> tuple[PersonaReply, ...]:
        return tuple(self._change(list(self._task.persona_replies(instruction))))

    def gold(self, instruction: Instruction) -> str | None:
        return None if instruction.instruction_id == self._without else self._task.gold(instruction)


def load(task: Any, home: Path) -> tuple[dict[str, Any], dict[str, str]]:
    with Ledger.open(home / "ledger") as ledger, ThreadPoolExecutor(2) as executor:
        return load_persona_replies(task, [ITEM], ledger, executor)


def swapped(kind: str, by: str) -> Any:
    """The menu with the first reply of one kind saying what a reply of another kind says."""

    def change(items: list[PersonaReply]) -> list[PersonaReply]:
        text = next(item.text for item in items if item.kind == by)
        place = next(place for place, item in enumerate(items) if item.kind == kind)
        return [*items[:place], items[place].model_copy(update={"text": text}), *items[place + 1 :]]

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (swapped("wrong", "right"), "a wrong menu reply scores 100"),
        (swapped("right", "wrong"), "a right menu reply scores 0, below its declared 100"),
        (lambda items: [item for item in items if item.kind != "hedge"], "the menu lacks"),
        (lambda items: [item for item in items if item.kind != "right"], "the menu lacks"),
        (lambda items: [], "the menu lacks"),
    ],
)
def test_a_menu_fault_is_an_error_naming_the_item(tmp_path: Path, change: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        load(PersonaReplies(change), tmp_path)
    assert ITEM.instruction_id in str(caught.value)


def test_a_menu_reply_that_cannot_be_scored_is_an_error_naming_the_item(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = PersonaReplies()
    monkeypatch.setattr(
        task, "score", lambda *_: task._task.score("1", ITEM).model_copy(update={"score": None, "error": "no_sandbox"}),
        raising=False,
    )  # fmt: skip
    with pytest.raises(ConfigError, match=r"cannot be scored \(no_sandbox\)") as caught:
        load(task, tmp_path)
    assert ITEM.instruction_id in str(caught.value)


def test_an_item_without_reference_is_missing_and_the_others_are_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = sample_items("math")[:3]
    plan = plan_of(Setting.FULL, Setting.SHARDED, items=items, model=get_model("sim/steady"), runs=2)
    task = PersonaReplies(without=items[0].instruction.instruction_id)
    plan = Plan(plan.experiment, task, plan.model, plan.items, plan.families, plan.signatures)  # type: ignore[arg-type]
    with Ledger.open(tmp_path / "ledger") as ledger:
        outcome = engine.run(plan, ledger, tmp_path / "lake")
    assert outcome.missing == {"no_reference": 4}
    assert len(held(plan, tmp_path)) == outcome.held == 8


def gold_answer(task: Any, instruction: Instruction) -> list[str]:
    """What would give an item away: the gold reply's answer, and long values of its reference."""
    gold = task.gold(instruction) or ""
    answer = task.extract(Reply(text=gold), instruction).answer or gold
    return [text for text in {answer.strip(), gold.strip()} if text]


@pytest.mark.parametrize("name", TASKS)
def test_no_request_holds_the_gold(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request body of a run in every setting, the persona's own earlier replies aside."""
    sent: list[tuple[str, ModelRequest]] = []
    real = voices.PersonaAssistant.reply

    async def noted(self: voices.PersonaAssistant, request: ModelRequest, turn_context: Any) -> Reply:
        sent.append((turn_context.spec.instruction_id, request))
        return await real(self, request, turn_context)

    monkeypatch.setattr(voices.PersonaAssistant, "reply", noted)
    items: tuple[Approved, ...] = sample_items(name)[:3]
    plan = plan_of(*Setting, items=items, model=get_model("sim/lost"), task=name)
    with Ledger.open(tmp_path / "ledger") as ledger:
        outcome = engine.run(plan, ledger, tmp_path / "lake", max_connections=8)
    assert outcome.complete
    assert len(sent) >= 3 * len(Setting)
    checked = 0
    for instruction_id, request in sent:
        item = plan.items[instruction_id]
        open_texts = [item.instruction.text, *(shard.text for shard in item.sharded.shards)]
        for secret in gold_answer(plan.task, item.instruction):
            # A bare number may stand in the item itself, or be a part of another number.
            if len(secret) < 4 or any(secret in text for text in open_texts):
                continue
            checked += 1
            asked = [message.content for message in request.messages if message.role != "assistant"]
            assert not any(secret in text for text in asked), instruction_id
    assert checked > 0


def test_a_request_has_no_field_a_menu_could_travel_in() -> None:
    assert set(ModelRequest.__dataclass_fields__) == {"model", "messages", "parameters"}


def test_scores_of_a_persona_do_not_change_with_the_order_of_items(tmp_path: Path) -> None:
    tables = set()
    for place, items in enumerate((sample_items("math")[:4], sample_items("math")[:4][::-1])):
        plan = plan_of(Setting.FULL, Setting.SHARDED, items=items, model=get_model("sim/lost"), runs=3)
        home = tmp_path / str(place)
        with Ledger.open(home / "ledger") as ledger:
            assert engine.run(plan, ledger, home / "lake").complete
        tables.add(scores_csv(plan, home))
    assert len(tables) == 1
