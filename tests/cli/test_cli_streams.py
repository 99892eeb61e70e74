"""Streams nobody reads: a run ends with its exit code and its tables whatever became of the terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest
from support.lic_command import PROGRAM, SMALL, Lic

from lic_pipeline.cli.progress import line_of
from lic_pipeline.simulation.outcome import Progress


def _shell(lic: Lic, command: str, **env: str) -> subprocess.CompletedProcess[bytes]:
    full = f"'{PROGRAM}' {command}"
    return subprocess.run(["bash", "-c", full], env=lic.environment(env), capture_output=True, timeout=120, check=False)


@pytest.mark.parametrize("redirected", ["2>/dev/full", "2>&-", "0<&- 2>&-"])
def test_a_run_whose_messages_go_nowhere_still_gives_its_tables(lic: Lic, redirected: str) -> None:
    done = _shell(lic, f"run {' '.join(SMALL)} --json {redirected}")
    assert (done.returncode, done.stderr) == (0, b"")
    assert {row["setting"] for row in json.loads(done.stdout)["reliability_by_task"]} == {"FULL", "SHARDED", "RECAP"}


@pytest.mark.parametrize("redirected", [">/dev/full", ">/dev/full 2>/dev/full"])
def test_tables_that_cannot_be_written_are_no_success(finished: Lic, redirected: str) -> None:
    done = _shell(finished, f"status --json {redirected}")
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == (0 if "2>" in redirected else 1)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_an_encoding_without_our_letters_breaks_nothing(finished: Lic, encoding: str) -> None:
    table = _shell(finished, f"run {' '.join(SMALL)}", PYTHONIOENCODING=encoding)
    assert table.returncode == 0
    assert b"SHARDED" in table.stdout
    document = _shell(finished, "status --json", PYTHONIOENCODING=encoding)
    assert json.loads(document.stdout.decode(encoding))["schema"] == 1


@pytest.mark.parametrize(("term", "codes"), [("xterm", True), ("dumb", False)])
def test_a_terminal_that_is_closed_in_the_middle_of_a_run(lic: Lic, tmp_path: Path, term: str, codes: bool) -> None:
    ours, theirs = pty.openpty()
    with (tmp_path / "out").open("wb") as out:
        process = subprocess.Popen(
            [str(PROGRAM), "run", *SMALL], env=lic.environment({"TERM": term, "NO_COLOR": "1"}), stdout=out,
            stderr=theirs, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    os.close(theirs)
    seen = b""
    while b"math x" not in seen:
        seen += os.read(ours, 4096)
    os.close(ours)
    assert process.wait(timeout=120) == 0
    assert (b"\x1b" in seen) == codes
    assert b"\x1b[3" not in seen
    assert "SHARDED" in (tmp_path / "out").read_text(encoding="utf-8")


def test_a_line_of_progress_says_calls_and_spend() -> None:
    progress = Progress(label="math x m", total=10, already=2, finished=3, failed=1, calls=40, cost_usd=1.25)
    assert line_of(progress, 4.0) == "  math x m: 6/10, 1 in error, 10 calls/s, $1.25, about 4 s left"
