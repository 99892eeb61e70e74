"""`lic metrics`: the document, odd input, exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from lic_pipeline.cli.commands.metrics import metrics

APP = typer.Typer()
APP.command()(metrics)


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(APP, list(arguments), input=stdin)


def row(run: int = 0, score: Any = 100, **other: Any) -> dict[str, Any]:
    return {
        "model": "m",
        "task": "math",
        "setting": "FULL",
        "instruction_id": "i0",
        "run": run,
        "score": score,
        **other,
    }


def write(path: Path, rows: Iterable[dict[str, Any] | str]) -> str:
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in rows), encoding="utf-8")
    return str(path)


def document(result: Result) -> dict[str, Any]:
    def refuse(name: str) -> float:
        raise AssertionError(f"{name} in the document")

    parsed = json.loads(result.stdout, parse_constant=refuse)
    assert isinstance(parsed, dict)
    return parsed


def full_input() -> list[dict[str, Any]]:
    rng = np.random.default_rng(2)
    return [
        row(r, 100 * int(rng.random() < chance), model=model, task=task, setting=setting, instruction_id=i)
        for model in ("a", "b")
        for task in ("math", "code, python")
        for setting, chance in (("FULL", 0.9), ("SHARDED", 0.5))
        for i in range(12)
        for r in range(10)
    ]


def test_document_of_a_complete_file(tmp_path: Path) -> None:
    rows = full_input()
    result = run(write(tmp_path / "rows.jsonl", rows), "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    made = document(result)
    assert made["schema"] == 1
    assert len(made["cells"]) == 8
    for cell in made["cells"]:
        matrix = np.array(
            [r["score"] for r in rows if all(r[k] == cell[k] for k in ("model", "task", "setting"))], dtype=float
        ).reshape(12, 10)
        high, low = np.percentile(matrix, [90, 10], axis=1)
        assert (cell["n_instructions"], cell["n_runs"], cell["missing"], cell["reason"]) == (12, 10, 0, None)
        assert cell["P"] == pytest.approx(matrix.mean())
        assert cell["A90"] == pytest.approx(high.mean())
        assert cell["U90_10"] == pytest.approx((high - low).mean())
        assert cell["R"] == pytest.approx(100 - cell["U90_10"])
        for name in ("P", "A90", "U90_10", "R"):
            assert cell["ci"][name][0] <= cell[name] <= cell["ci"][name][1]
        assert cell["signature"] == f"task:{cell['task']}|setting:{cell['setting']}|n:10|pct:linear"
    assert {(m["model"], m["setting"]) for m in made["models"]} == {(m, s) for m in "ab" for s in ("FULL", "SHARDED")}
    assert made["models"][0]["tasks"] == ["code, python", "math"]
    cells = {(c["model"], c["task"], c["setting"]): c["P"] for c in made["cells"]}
    for comparison in made["comparisons"]:
        ratios = [
            100 * cells[comparison["model"], t, "SHARDED"] / cells[comparison["model"], t, "FULL"]
            for t in comparison["tasks"]
        ]
        assert comparison["ratio_percent"] == pytest.approx(np.mean(ratios))
        assert comparison["ci"]["ratio_percent"][0] < comparison["ratio_percent"] < comparison["ci"]["ratio_percent"][1]
        assert comparison["p"] <= comparison["p_holm"]


def test_same_bytes_whatever_the_order(tmp_path: Path) -> None:
    rows = full_input()
    first = run(write(tmp_path / "a.jsonl", rows), "--json").stdout
    assert run(write(tmp_path / "b.jsonl", rows[::-1]), "--json").stdout == first


def test_stdin_tables_and_blank_lines(tmp_path: Path) -> None:
    lines = b"\xef\xbb\xbf" + b"\n\n".join(json.dumps(r).encode() for r in full_input())
    result = run("-", stdin=lines)
    assert result.exit_code == 0
    assert "Mean over tasks" in result.stdout
    assert "code, python" in result.stdout


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (row(1, 101), "score must lie in 0..100, got 101"),
        (row(1, -0.5), "score must lie in 0..100, got -0.5"),
        (row(1, 10**400), "score must lie in 0..100, got a huge number"),
        (
            '{"model":"m","task":"math","setting":"FULL","instruction_id":"i0","run":1,"score":NaN}',
            "NaN is no JSON number",
        ),
        ('{"model":"m","task":"math","setting":"FULL","instruction_id":"i0","run":1,"score":1e999}', "got inf"),
        (row(1, "100"), "score must be a number in 0..100 or null"),
        (row(1, True), "score must be a number in 0..100 or null"),
        (row(0, 0), "repeats an earlier row (m, math, FULL, i0, run 0)"),
        (row("0", 0), "repeats an earlier row"),
        ({k: v for k, v in row(1).items() if k != "setting"}, "setting is missing"),
        (row(1, model=""), "model must be a non-empty string"),
        (row(1, instruction_id=1.5), "instruction_id must be a non-empty string or an integer"),
        (row(True), "run must be a non-empty string or an integer"),
        (row(1, model="\ud800"), "surrogate"),
        ("[1, 2]", "not a JSON object"),
        ("{", "not a JSON object"),
        ("[" * 100_000, "not a JSON object"),
    ],
)
def test_a_bad_line_is_named_and_the_rest_counts(tmp_path: Path, bad: Any, reason: str) -> None:
    result = run(write(tmp_path / "rows.jsonl", [row(0), bad, row(2, 50)]), "--json")
    assert result.exit_code == 1
    assert "line 2: " in result.stderr
    assert reason in result.stderr
    made = document(result)
    assert made["bad_lines"] == 1
    assert made["bad"][0]["line"] == 2
    assert (made["cells"][0]["P"], made["cells"][0]["n_runs"]) == (75.0, 2)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(json.dumps(row(0)).encode() + b"\n\xff\xfe\n")
    result = run(str(path), "--json")
    assert result.exit_code == 1
    assert "line 2: not UTF-8 text" in result.stderr


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_an_empty_file_is_finished_without_rows(tmp_path: Path, content: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(content)
    for arguments in ([str(path), "--json"], [str(path)]):
        result = run(*arguments)
        assert result.exit_code == 1
        assert "no usable row" in result.stderr
    made = document(run(str(path), "--json"))
    assert (made["cells"], made["models"], made["comparisons"]) == ([], [], [])


def test_an_unreadable_file_is_usage(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.jsonl", tmp_path):
        result = run(str(path))
        assert result.exit_code == 2
        assert str(path) in result.stderr


def test_missing_runs_are_null_with_a_reason_never_zero(tmp_path: Path) -> None:
    rows = [row(r, 100, instruction_id=f"i{i}") for i in range(4) for r in range(10 if i else 6)]
    result = run(write(tmp_path / "rows.jsonl", rows), "--json")
    assert result.exit_code == 1
    cell = document(result)["cells"][0]
    assert cell["P"] is cell["A90"] is cell["U90_10"] is cell["R"] is None
    assert cell["ci"] == {"P": None, "A90": None, "U90_10": None, "R": None}
    assert (cell["missing"], cell["n_runs"]) == (4, 10)
    assert "fewer than 95%" in cell["reason"]
    assert cell["bounds"] == [90.0, 100.0]


def test_a_null_score_is_missing_not_zero(tmp_path: Path) -> None:
    rows = [row(r, 100, instruction_id=f"i{i}") for i in range(30) for r in range(4)]
    rows[0]["score"] = None
    result = run(write(tmp_path / "rows.jsonl", rows), "--json")
    cell = document(result)["cells"][0]
    assert (cell["P"], cell["missing"], cell["n_compared"]) == (100.0, 1, 29)
    assert "1 runs without a score" in result.stderr


def test_names_cannot_steer_the_terminal(tmp_path: Path) -> None:
    rows = [row(r, 50, model="[red]x\x1b[31m\n") for r in range(3)]
    result = run(write(tmp_path / "rows.jsonl", rows))
    assert "\x1b" not in result.stdout
    assert "[red]x\\x1b[31m\\n" in result.stdout


def test_one_run_one_instruction(tmp_path: Path) -> None:
    made = document(run(write(tmp_path / "rows.jsonl", [row(0, 70)]), "--json"))
    cell = made["cells"][0]
    assert (cell["P"], cell["A90"], cell["U90_10"]) == (70.0, 70.0, 0.0)
    assert cell["ci_runs"]["P"] is None


def test_no_room_for_temporary_files_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    result = run(write(tmp_path / "rows.jsonl", [row(0, 70)]), "--json")
    assert result.exit_code == 2
    assert "set TMPDIR" in result.stderr
