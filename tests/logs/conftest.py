"""Fixtures of the tests of log imports: raw benchmark files of our own, and a writer of log files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.log_lines import CALLS, FUNCTION, GOLD, QUESTION, REQUEST, Line


@pytest.fixture
def raw_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """LIC_DATA with one math problem (gsm8k/0) and one request (bfcl/parallel_0) of our own."""
    folder = tmp_path / "raw"
    (folder / "gsm8k").mkdir(parents=True)
    (folder / "bfcl" / "possible_answer").mkdir(parents=True)
    problem = {"question": QUESTION, "answer": f"3 * 12 - 4 = {GOLD}\n#### {GOLD}"}
    (folder / "gsm8k" / "test.jsonl").write_text(json.dumps(problem) + "\n")
    asked = {"id": "parallel_0", "question": [[{"role": "user", "content": REQUEST}]], "function": [FUNCTION]}
    for kind in ("parallel", "multiple"):
        row = asked if kind == "parallel" else {**asked, "id": "multiple_0"}
        (folder / "bfcl" / f"BFCL_v4_{kind}.json").write_text(json.dumps(row) + "\n")
        answer = {"id": row["id"], "ground_truth": CALLS}
        (folder / "bfcl" / "possible_answer" / f"BFCL_v4_{kind}.json").write_text(json.dumps(answer) + "\n")
    monkeypatch.setenv("LIC_DATA", str(folder))
    return folder


@pytest.fixture
def write_log(tmp_path: Path) -> Callable[..., Path]:
    """Writes lines (objects, or raw text) as a log file."""

    def write(*lines: Line | str, name: str = "log.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
        return path

    return write
