"""``lic import-logs`` as people meet it: exit codes, one JSON document, tables, the list of differences."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from support.log_lines import concat, full, sharded
from typer.testing import CliRunner

from lic_pipeline.cli.app import COMMANDS, build
from lic_pipeline.errors import ConfigError, InputError, UnknownNameError
from lic_pipeline.metrics.measurement_artefact_table import MEASUREMENT_ARTEFACT

Write = Callable[..., Path]
pytestmark = pytest.mark.usefixtures("raw_files", "lic_home")


def run(*arguments: str) -> tuple[int, str, str]:
    app: typer.Typer = build(["import-logs"])
    result = CliRunner().invoke(app, ["import-logs", *arguments], catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


def document(*arguments: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(run(*arguments, "--json")[1])
    return value


def test_command_is_listed() -> None:
    assert "import-logs" in COMMANDS


def test_all_lines_used_is_0_and_one_json_document(write_log: Write) -> None:
    code, out, err = run(str(write_log(full(), concat(), sharded())), "--json")
    found = json.loads(out)
    assert (code, err, found["schema"], found["conversations"]) == (0, "", 1, 3)
    assert [(row["setting"], row["recorded"], row["robust"]) for row in found["comparison"]] == [
        ("CONCAT", 100.0, 100.0),
        ("FULL", 100.0, 100.0),
        ("SHARDED", 100.0, 100.0),
    ]
    assert {row["kind"] for row in found["measurement_artefact"]} == {"level", "step", "total", "variant"}
    assert found["models"] == {"logs/model-x": ["model-x"]}


def test_a_line_that_cannot_be_used_is_1_and_named(write_log: Write) -> None:
    path = write_log(full(), "{", full(conv_id="t", task="translation"))
    code, _, err = run(str(path))
    assert code == 1
    assert f"{path}:2" in err
    assert "bad_line: 1 lines" in err
    assert "set aside 1 lines" in err


def test_problems_cannot_steer_a_terminal(write_log: Write) -> None:
    _, _, err = run(str(write_log(full(conv_id="\u001b[2J", task_id="\u001b[2J"))))
    assert "\u001b" not in err


def test_lines_set_aside_alone_are_no_fault_but_nothing_imported_is_said(write_log: Write) -> None:
    assert run(str(write_log(full(), full(conv_id="t", task="translation"))))[0] == 0
    code, _, err = run(str(write_log(full(task="translation"))))
    assert code == 1
    assert "no conversation could be imported" in err


def test_unreadable_input_and_wrong_options_are_2(write_log: Write, tmp_path: Path) -> None:
    assert InputError.exit_code == ConfigError.exit_code == 2
    path = str(write_log(full()))
    with pytest.raises(InputError, match="is no file"):
        run(str(tmp_path / "absent"))
    with pytest.raises(UnknownNameError, match="singing"):
        run(path, "--task", "singing")
    with pytest.raises(ConfigError, match="NAMED=NAME"):
        run(path, "--alias", "x")


def test_reasons_are_counted_with_examples(write_log: Write) -> None:
    lines = [full(conv_id=f"c{n}", answer="", right=False) for n in range(5)]
    found = document(str(write_log(*lines, full(conv_id="fine"))))["comparison"][0]
    assert found["reasons"] == {"empty_extraction+": {"n": 5, "examples": ["c0", "c1", "c2"]}}
    assert (found["n_up"], found["n_down"], found["reproduced"], found["attempts"]) == (5, 0, 6, 6)
    assert found["recorded"] == found["reference"] == pytest.approx(100 / 6)
    assert found["robust"] == 100.0


def test_differences_list_every_attempt_scored_otherwise(write_log: Write, tmp_path: Path) -> None:
    out = tmp_path / "differences.jsonl"
    lines = [full(conv_id="up", answer="", right=False), full(conv_id="down", text="Final answer: 31"), full()]
    assert run(str(write_log(*lines)), "--differences", str(out))[0] == 0
    listed = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(one["conv_id"], one["way"], one["recorded_score"], one["score"]) for one in listed] == [
        ("up", "up", 0.0, 100.0),
        ("down", "down", 100.0, 0.0),
    ]


def test_tables_show_levels_steps_and_escape_names(write_log: Write) -> None:
    _, out, _ = run(str(write_log(full(assistant_model="\u001b[31mred"), concat(assistant_model="\u001b[31mred"))))
    for word in ("Recorded and rescored", "Levels over all models", "last -> max", "CONCAT-FULL", "nothing moved"):
        assert word in out
    assert "\u001b" not in out


def test_artefact_rows_fit_their_spec_and_add_up(write_log: Write) -> None:
    lines = [full(conv_id="a", answer="", right=False), full(conv_id="b"), sharded()]
    rows = document(str(write_log(*lines)))["measurement_artefact"]
    MEASUREMENT_ARTEFACT.arrow_table(rows)
    steps = [row for row in rows if (row["model"], row["setting"], row["kind"]) == ("*", "FULL", "step")]
    assert [row["name"] for row in sorted(steps, key=lambda row: row["position"])] == [
        *("reference", "comparison", "extraction", "gate", "last_to_max"),
    ]
    level = {row["name"]: row["value"] for row in rows if (row["model"], row["setting"]) == ("*", "FULL")}
    assert sum(row["change"] for row in steps) == pytest.approx(level["robust_max"] - level["recorded_last"])
    extraction = next(row for row in steps if row["name"] == "extraction")
    assert (extraction["conversations_up"], extraction["conversations_down"], extraction["attempts_up"]) == (1, 0, 1)
    drop = next(r for r in rows if (r["model"], r["setting"], r["name"]) == ("*", "SHARDED-FULL", "extraction"))
    assert drop["change"] == -50.0
