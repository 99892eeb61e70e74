"""The measurement artefact from rows with known numbers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lic_pipeline.logs.tables import STEP_SCORES
from lic_pipeline.metrics.measurement_artefact import artefact_rows
from lic_pipeline.metrics.measurement_artefact_table import ALL, MEASUREMENT_ARTEFACT

Row = dict[str, Any]


def log_row(setting: str, instruction: str, scores: list[float | None], model: str = "m", **fields: Any) -> Row:
    """A row of imported_logs as far as the artefact reads it; ``scores`` are those of the steps in order."""
    best = scores[-1]
    return {
        "experiment": "logs-x",
        "condition": "{}",
        "task": "actions",
        "model": model,
        "setting": setting,
        "instruction_id": instruction,
        **dict(zip(STEP_SCORES, scores, strict=True)),
        **dict.fromkeys(("recorded_max", "reference_max"), scores[0]),
        **dict.fromkeys(("grade_all", "label_only", "rule_gate"), best),
        "score_cumulative": None,
        "moves": json.dumps({"comparison": [1, 0], "extraction": [2, 1], "reference": [0, 0], "gate": [0, 0]}),
        "signature": f"task:actions|assistant:{model}",
        **fields,
    }


def find(rows: list[Row], setting: str, kind: str, name: str, model: str = ALL) -> Row:
    return next(
        row for row in rows if (row["setting"], row["kind"], row["name"], row["model"]) == (setting, kind, name, model)
    )


WRONG, RIGHT = [0.0] * 6, [100.0] * 6
EXTRACTED = [0.0, 0.0, 0.0, 100.0, 100.0, 100.0]
LOST = [100.0, 100.0, 100.0, 0.0, 0.0, 0.0]


def test_rows_fit_their_spec_and_keep_their_key() -> None:
    rows = artefact_rows([log_row("FULL", "a", RIGHT), log_row("SHARDED", "a", EXTRACTED)])
    MEASUREMENT_ARTEFACT.arrow_table(rows)
    keys = [tuple(row[name] for name in MEASUREMENT_ARTEFACT.key) for row in rows]
    assert len(set(keys)) == len(keys)
    assert artefact_rows([]) == []


def test_steps_add_up_and_count_both_directions() -> None:
    rows = artefact_rows([log_row("FULL", "a", EXTRACTED), log_row("FULL", "b", LOST), log_row("FULL", "c", EXTRACTED)])
    step = find(rows, "FULL", "step", "extraction")
    assert step["change"] == pytest.approx(100 / 3)
    assert (step["conversations_up"], step["conversations_down"]) == (2, 1)
    assert (step["attempts_up"], step["attempts_down"]) == (6, 3)
    assert find(rows, "FULL", "step", "last_to_max")["attempts_up"] is None
    total = sum(row["change"] for row in rows if row["kind"] == "step" and row["model"] == ALL)
    assert total == pytest.approx(find(rows, "FULL", "total", "max")["change"])


def test_models_weigh_equally_whatever_their_number_of_runs() -> None:
    lines = [log_row("FULL", "a", RIGHT, "one")] + [log_row("FULL", "a", WRONG, "two") for _ in range(9)]
    rows = artefact_rows(lines)
    assert find(rows, "FULL", "level", "robust_max")["value"] == 50.0
    assert find(rows, "FULL", "level", "robust_max", "two")["value"] == 0.0


def test_difference_from_full_uses_instructions_of_both() -> None:
    lines = [log_row("FULL", "a", RIGHT), log_row("FULL", "b", RIGHT), log_row("SHARDED", "a", EXTRACTED)]
    drop = find(artefact_rows(lines), "SHARDED-FULL", "step", "extraction")
    assert (drop["value"], drop["change"], drop["n_instructions"], drop["few"]) == (0.0, 100.0, 1, True)
    assert drop["n_conversations"] == 3


def test_intervals_are_paired_over_instructions() -> None:
    lines = [log_row("FULL", str(n), EXTRACTED if n % 2 else RIGHT) for n in range(40)]
    step = find(artefact_rows(lines), "FULL", "step", "extraction")
    assert step["change"] == 50.0
    assert step["change_low"] < 50.0 < step["change_high"]
    assert step["change_method"] == "bootstrap over instructions"
    assert not step["few"]
    assert artefact_rows(lines) == artefact_rows(lines)


def test_conversations_with_an_unknown_score_are_left_out_of_every_step_and_counted() -> None:
    unknown: list[float | None] = [None, *WRONG[1:]]
    rows = artefact_rows([log_row("FULL", "a", RIGHT), log_row("FULL", "a", unknown)])
    step = find(rows, "FULL", "step", "comparison")
    assert (step["value"], step["n_conversations"], step["n_left_out"]) == (100.0, 1, 1)


def test_incremental_answers_are_right_together_and_wrong_alone() -> None:
    lines = [
        log_row("SHARDED", "a", WRONG, score_cumulative=100.0),
        log_row("SHARDED", "b", RIGHT, score_cumulative=100.0),
        log_row("SHARDED", "c", WRONG, score_cumulative=0.0),
        log_row("SHARDED", "d", WRONG, score_cumulative=None),
    ]
    rows = artefact_rows(lines)
    assert find(rows, "SHARDED", "level", "incremental")["value"] == pytest.approx(100 / 3)
    assert find(rows, "SHARDED", "level", "cumulative")["value"] == pytest.approx(200 / 3)


def test_signature_of_several_cells_is_a_hash_over_theirs() -> None:
    rows = artefact_rows([log_row("FULL", "a", RIGHT, "one"), log_row("FULL", "a", RIGHT, "two")])
    assert find(rows, "FULL", "level", "robust_max", "one")["signature"] == "task:actions|assistant:one"
    assert len(find(rows, "FULL", "level", "robust_max")["signature"]) == 16
