"""What a conversation id hangs on and what not: a changed id is money spent again, an unchanged one a mix-up."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.items import sample_items
from support.scripted_assistant import FAKE, pens, plan_of

from lic_pipeline.models.registry import ModelEntry, get_model
from lic_pipeline.records import Setting
from lic_pipeline.simulation.plan import conversation_ids as identity
from lic_pipeline.simulation.plan.conversation_plan import Approved, make_plan
from lic_pipeline.simulation.plan.experiment import Experiment

GOLDEN = Path(__file__).with_name("golden_ids.json")
ROLES = {"simulator": "llm", "user_model": "gpt-4o-mini", "system_model": "gpt-4o-mini"}

Base = dict[str, Any]


def ids(setting: Setting = Setting.SHARDED, item: Approved | None = None, **fields: Any) -> list[str]:
    settings = (Setting.SHARDED, setting) if setting in (Setting.RECAP, Setting.RETRY) else (setting,)
    plan = plan_of(*settings, items=[item or pens()], **fields)
    return [spec.conversation_id for spec in plan.specs if spec.setting is setting]


def entry(**changes: Any) -> ModelEntry:
    return ModelEntry.model_validate({**FAKE.model_dump(exclude_unset=True), **changes})


def changed(part: str, **changes: Any) -> Approved:
    item = pens()
    if part == "instruction":
        return Approved(item.instruction.model_copy(update=changes), item.sharded, item.approval)
    return Approved(item.instruction, item.sharded.model_copy(update=changes), item.approval)


def golden_configurations() -> dict[str, list[str]]:
    """Ids of configurations whose inputs are all of our own making."""
    found = {f"scripted {setting}": ids(setting, runs=2) for setting in Setting}
    found |= {
        "seed 2": ids(seed=2),
        "exhausted": ids(stop="exhausted"),
        "paper": ids(preset="paper"),
        "temperature 0": ids(temperature=0.0),
        "system prompt": ids(Setting.FULL, system_prompt="Be brief."),
        "recap of shards": ids(Setting.RECAP, recap_of="shards"),
        "recap with notice": ids(Setting.RECAP, recap_notice="on"),
        "reasoning": ids(Setting.FULL, model=entry(reasoning=True), preset="paper"),
        "fixed temperature": ids(Setting.FULL, model=entry(temperature="fixed")),
        "completion tokens": ids(Setting.FULL, model=entry(output_limit="max_completion_tokens")),
        "parameters": ids(Setting.FULL, model=entry(parameters={"reasoning_effort": "low"})),
        "developer": ids(Setting.FULL, model=entry(chat={"system": "developer"})),
        "eight shards": ids(Setting.SHUFFLE_CONCAT, pens(shards=8), runs=3),
    }
    return found


def test_the_ids_of_twenty_configurations_stay_what_they_are() -> None:
    """Regenerate on purpose only (a changed prompt or ENGINE_SEMANTICS): every held conversation is orphaned by it."""
    found = golden_configurations()
    assert len(found) == 20
    assert found == json.loads(GOLDEN.read_text(encoding="utf-8"))
    everything = [name for names in found.values() for name in names]
    assert len(set(everything)) == len(everything)


@pytest.mark.parametrize(
    ("what", "setting", "fields"),
    [
        ("run seed", Setting.FULL, {"seed": 2}),
        ("temperature", Setting.FULL, {"temperature": 0.5}),
        ("preset", Setting.FULL, {"preset": "paper"}),
        ("system prompt", Setting.FULL, {"system_prompt": "Be brief."}),
        ("model id", Setting.FULL, {"model": entry(id="local/other")}),
        ("model parameters", Setting.FULL, {"model": entry(parameters={"top_p": 0.9})}),
        ("chat style", Setting.FULL, {"model": entry(chat={"alternate": "strict"})}),
        ("instruction text", Setting.FULL, {"item": changed("instruction", text="Another text with 50 pens")}),
        ("instruction id", Setting.FULL, {"item": changed("instruction", instruction_id="own/00")}),
        ("stop rule", Setting.SHARDED, {"stop": "exhausted"}),
        ("simulator", Setting.SHARDED, ROLES),
        ("shards", Setting.SHARDED, {"item": changed("sharded", shards=pens().sharded.shards[:3])}),
        ("shard order", Setting.SHARDED, {"item": changed("sharded", shards=pens().sharded.shards[::-1])}),
        ("shards in CONCAT", Setting.CONCAT, {"item": changed("sharded", shards=pens().sharded.shards[:3])}),
        ("recap form", Setting.RECAP, {"recap_of": "shards"}),
        ("notice", Setting.RECAP, {"recap_notice": "on"}),
        ("parent of a retry", Setting.RETRY, {"temperature": 0.5}),
    ],
)
def test_what_shapes_a_transcript_changes_its_id(what: str, setting: Setting, fields: Base) -> None:
    assert ids(setting, **fields) != ids(setting), what


@pytest.mark.parametrize(
    ("what", "setting", "fields"),
    [
        ("judge", Setting.SHARDED, {"judge_model": "gpt-4o-mini"}),
        ("turns that are judged", Setting.SHARDED, {"judge_every_turn": True}),
        ("reference", Setting.SHARDED, {"item": changed("instruction", reference={"answer": "42", "solution": "x"})}),
        ("metadata", Setting.SHARDED, {"item": changed("instruction", metadata={"level": "hard"})}),
        ("benchmark", Setting.SHARDED, {"item": changed("instruction", benchmark="other", source="elsewhere")}),
        ("provenance", Setting.SHARDED, {"item": changed("sharded", provenance="reviewed")}),
        ("address", Setting.SHARDED, {"model": entry(base_url="http://127.0.0.1:8/v1")}),
        ("display name", Setting.SHARDED, {"model": entry(alias="new-name", published_as="New Name")}),
        ("key variable", Setting.SHARDED, {"model": entry(key_variable="MY_API_KEY")}),
        ("price", Setting.SHARDED, {"model": entry(price={"prompt": 1.0, "completion": 2.0})}),
        ("limits", Setting.SHARDED, {"model": entry(limits={"concurrency": 2, "rpm": 5})}),
        ("patience", Setting.SHARDED, {"model": entry(patience={"attempt_s": 7.0, "attempts": 3})}),
        ("window", Setting.SHARDED, {"model": entry(context_window=8192)}),
        ("opt-in", Setting.SHARDED, {"model": entry(auto={"roles": ["assistant"], "budget_usd": 1.0})}),
        ("skipped tasks", Setting.SHARDED, {"model": entry(skip_tasks=["code"])}),
        ("name of the experiment", Setting.SHARDED, {"name": "other", "description": "another"}),
        ("stop rule in FULL", Setting.FULL, {"stop": "exhausted"}),
        ("simulator in FULL", Setting.FULL, ROLES),
        ("shards in FULL", Setting.FULL, {"item": changed("sharded", shards=pens().sharded.shards[:3])}),
        ("notice in SHARDED", Setting.SHARDED, {"recap_notice": "on"}),
        ("recap form in RETRY", Setting.RETRY, {"recap_of": "shards"}),
    ],
)
def test_what_shapes_no_transcript_changes_no_id(what: str, setting: Setting, fields: Base) -> None:
    assert ids(setting, **fields) == ids(setting), what


def test_more_runs_and_more_settings_keep_the_ids_there_were() -> None:
    few = plan_of(Setting.FULL, Setting.SHARDED, runs=2)
    many = plan_of(*Setting, runs=5, items=[pens(0), pens(1)])
    assert {s.conversation_id for s in few.specs} < {s.conversation_id for s in many.specs}


def test_a_smaller_limit_is_a_subset(tmp_path: Path) -> None:
    items = [pens(n) for n in range(30)]
    ten, twenty = (plan_of(Setting.FULL, items=items, limit=k) for k in (10, 20))
    assert list(twenty.items)[:10] == list(ten.items)
    assert {s.conversation_id for s in ten.specs} < {s.conversation_id for s in twenty.specs}


def test_purpose_keeps_verification_apart_from_evaluation() -> None:
    one, other = (make_plan(plan_of(Setting.FULL).experiment, "math", FAKE, [pens()], p) for p in ("eval", "verify"))
    assert not {s.conversation_id for s in one.specs} & {s.conversation_id for s in other.specs}


@pytest.mark.parametrize("fields", [{"user_model": "gpt-4o"}, {"fidelity": "flag"}, {"system_model": "gpt-4o"}])
def test_roles_count_where_they_speak(fields: Base) -> None:
    assert ids(**ROLES) != ids(**{**ROLES, **fields})
    item = sample_items("data2text")[0]
    refinement: Callable[..., list[str]] = lambda **more: ids(item=item, task="data2text", **more)  # noqa: E731
    assert refinement(**ROLES) == refinement(**{**ROLES, **fields}) == refinement()


def test_scorer_code_and_engine_semantics(monkeypatch: pytest.MonkeyPatch) -> None:
    before = ids()
    monkeypatch.setattr(type(plan_of(Setting.FULL).task), "scorer_version", 999, raising=False)
    assert ids() == before
    monkeypatch.setattr(identity, "ENGINE_SEMANTICS", 999)
    assert ids() != before


def test_a_persona_is_its_table() -> None:
    item = sample_items("math")[0]
    lost, steady = (ids(item=item, model=get_model(f"sim/{name}"), simulator="auto") for name in ("lost", "steady"))
    assert lost != steady


def test_experiments_made_before_a_field_was_added_keep_their_names() -> None:
    one = Experiment(name="one")
    assert one.varied(runs=2).name == "adhoc-eca73a96"
    assert one.varied(runs=2, judge_every_turn=True).name != one.varied(runs=2).name
