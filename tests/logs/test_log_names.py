"""What the scripts called settings, tasks, items and models, in all their versions."""

from __future__ import annotations

from typing import Any

import pytest

from lic_pipeline.errors import ConfigError, RecordError
from lic_pipeline.logs.reading.reference_names import (
    SetAsideError,
    alias_table,
    instruction_id,
    kind_of,
    model_named,
    strategy_named,
    task_named,
)
from lic_pipeline.records import Setting, Strategy


@pytest.mark.parametrize(
    ("conv_type", "setting", "condition"),
    [
        ("full", Setting.FULL, {}),
        ("FULL", Setting.FULL, {}),
        ("concat", Setting.CONCAT, {}),
        ("shuffle-concat", Setting.SHUFFLE_CONCAT, {}),
        ("shuffle_concat", Setting.SHUFFLE_CONCAT, {}),
        ("sharded", Setting.SHARDED, {}),
        ("snowball", Setting.SNOWBALL, {}),
        ("recap-concat", Setting.RECAP, {"recap_of": "concat"}),
        ("recap-full", Setting.RECAP, {"recap_of": "full"}),
        ("full-t0.5", Setting.FULL, {"assistant_temperature": 0.5}),
        ("concat-t0", Setting.CONCAT, {"assistant_temperature": 0.0}),
        ("sharded-at1.0-ut0.5", Setting.SHARDED, {"assistant_temperature": 1.0, "user_temperature": 0.5}),
    ],
)
def test_conv_type_gives_setting_and_conditions(conv_type: str, setting: Setting, condition: dict[str, Any]) -> None:
    kind = kind_of(conv_type)
    assert (kind.setting, kind.condition) == (setting, condition)


@pytest.mark.parametrize("conv_type", ["", "sharded-at1.0", "full-t", "half", "full-t0.5-t1"])
def test_unknown_conv_type_is_named(conv_type: str) -> None:
    with pytest.raises(RecordError, match="conv_type"):
        kind_of(conv_type)


def test_older_task_names_and_other_tasks() -> None:
    assert [task_named(name) for name in ("python", "apis", "math")] == ["code", "actions", "math"]
    with pytest.raises(SetAsideError, match="translation"):
        task_named("translation")


@pytest.mark.parametrize(
    ("task_id", "task", "expected"),
    [
        ("sharded-GSM8K/728", "math", "gsm8k/728"),
        ("sharded-GSM8K-728", "math", "gsm8k/728"),
        ("sharded-BFCL-parallel_144", "actions", "bfcl/parallel_144"),
        ("sharded-HumanEval-0", "code", "humaneval/0"),
        ("sharded-spider-val-79-medium", "database", "spider/79"),
        ("sharded-totto_-12", "data2text", "totto/-12"),
        ("something else", "math", "released/something else"),
    ],
)
def test_task_id_gives_our_id(task_id: str, task: str, expected: str) -> None:
    assert instruction_id(task_id, task) == expected


def test_one_model_under_several_names() -> None:
    assert model_named("llama3.1-8b-instruct") == model_named("llama3.1-8b-inst") == "llama3.1-8b-inst"
    assert model_named("t-gpt-4o-mini") == "gpt-4o-mini"
    assert model_named(" new ", alias_table(["new=old"])) == "old"


@pytest.mark.parametrize("option", ["a", "=b", "a=", " = "])
def test_alias_of_another_form_is_refused(option: str) -> None:
    with pytest.raises(ConfigError, match="NAMED=NAME"):
        alias_table([option])


def test_labels_of_older_versions() -> None:
    assert strategy_named("hedge") is Strategy.HEDGING
    assert strategy_named("refuse") is Strategy.REFUSAL
    assert strategy_named("Answer_Attempt") is Strategy.ANSWER_ATTEMPT
    assert strategy_named("song") is None
    assert strategy_named(None) is None
