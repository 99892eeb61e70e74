"""Streams nobody reads: a run ends with its exit code and its tables whatever became of the terminal."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest
from support.fault_server import FaultServer
from support.lic_command import PROGRAM, SMALL, Lic
from support.math_plans import entry_at, math_plan

from lic_pipeline.cli.shared import ascii_text
from lic_pipeline.cli.shared.progress_display import ProgressDisplay, line_of
from lic_pipeline.models.ledger import Ledger
from lic_pipeline.simulation.engine.engine import run
from lic_pipeline.simulation.engine.outcome import Progress


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


CHATTY = """
import atexit, os, sys

print("at import")
atexit.register(print, "at exit")
held = sys.__stdout__

async def reply(messages):
    print("in a call")
    held.write("past sys.stdout\\n")
    os.system("echo by a child")
    return "The answer is 7."
"""


def test_what_a_system_prints_goes_to_stderr_and_stdout_holds_one_document(lic: Lic, tmp_path: Path) -> None:
    (tmp_path / "chatty_system.py").write_text(CHATTY)
    lic.home.mkdir()
    (lic.home / "models.yaml").write_text("models:\n  - {alias: chatty, id: 'python:chatty_system.reply'}\n")
    where = {"PYTHONPATH": str(tmp_path)}
    options = ("-m", "chatty", "--simulator", "scripted", "-t", "math", "-k", "1", "-n", "1", "-s", "FULL")
    done = lic("run", *options, "--json", env=where)
    assert [row["setting"] for row in done.document["reliability_by_task"]] == ["FULL"]
    for said in ("at import", "in a call", "past sys.stdout", "by a child", "at exit"):
        assert done.err.count(f"{said}\n") == 1, said
    checked = lic("models", "check", "chatty", "--json", env=where)
    assert checked.document["checks"][0]["problem"] is None
    assert "at import\n" in checked.err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_an_encoding_without_our_letters_breaks_nothing(finished: Lic, encoding: str) -> None:
    table = _shell(finished, f"run {' '.join(SMALL)}", PYTHONIOENCODING=encoding)
    assert table.returncode == 0
    assert b"SHARDED" in table.stdout
    document = _shell(finished, "status --json", PYTHONIOENCODING=encoding)
    assert json.loads(document.stdout.decode(encoding))["schema"] == 1


def test_an_ascii_terminal_is_shown_ascii(finished: Lic, tmp_path: Path) -> None:
    shown = [_shell(finished, f"run {' '.join(SMALL)}", PYTHONIOENCODING="ascii")]
    (tmp_path / "own.jsonl").write_text('{"id": "né–x", "task": "math", "instruction": "a – b"}', encoding="utf-8")
    shown.append(_shell(finished, f"import-shards '{tmp_path / 'own.jsonl'}'", PYTHONIOENCODING="ascii"))
    for done in shown:
        assert (done.stdout + done.stderr).isascii()
        assert b"\\u20" not in done.stdout + done.stderr
    assert b"n\\xe9-x" in shown[1].stderr


@pytest.mark.parametrize(
    ("text", "encoding", "shown"),
    [
        ("5 – 7 — a−b…", "ascii", b"5 - 7 - a-b..."),
        ("±2 × 3 → x ≥ 1 ≤ 2 ≈", "ascii", b"+/-2 x 3 -> x >= 1 <= 2 ~"),
        ("±2 × 3 → x – 1", "latin-1", b"\xb12 \xd7 3 -> x - 1"),
        ("┌─┬╴│ ┃ ━╋╯═║╬", "ascii", b"+-+-| | -++-|+"),
        ("“it’s” • ✓ 10\u00a0km x² ½", "ascii", b'"it\'s" * ok 10 km x2 1/2'),
        ("é 家 \U0001f600", "ascii", b"\\xe9 \\u5bb6 \\U0001f600"),
        ("é – 家", "utf-8", "é – 家".encode()),
        ("\ud800", "utf-8", b"\\ud800"),
    ],
)
def test_typography_becomes_ascii_where_an_encoding_lacks_it(text: str, encoding: str, shown: bytes) -> None:
    assert text.encode(encoding, errors=ascii_text.NAME) == shown


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


@pytest.mark.parametrize(
    ("usd", "unpriced", "spend"),
    [
        (0.0, 0, ""),
        (1.25, 0, ", $1.25"),
        (0.0, 999, ", 999 tokens, price unknown"),
        (0.0, 12_345, ", 12.3k tokens, price unknown"),
        (1.25, 999_949, ", $1.25 + 999.9k tokens, price unknown"),
        (1.25, 999_950, ", $1.25 + 1.0M tokens, price unknown"),
    ],
)
def test_a_line_of_progress_says_calls_and_spend(usd: float, unpriced: int, spend: str) -> None:
    progress = Progress(label="math x m", total=10, already=2, finished=3, failed=1, calls=40, cost_usd=usd)
    told = line_of(progress, 4.0, unpriced)
    assert told == f"  math x m: 6/10, 1 in error, 10 calls/s{spend}, about 4 s left"


def test_the_processes_of_a_run_are_shown_as_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lic_pipeline.cli.shared.progress_display.QUIET_SECONDS", 0.0)
    progress = Progress("math x m", total=10, already=1, finished=2, calls=20, cost_usd=0.5)
    progress.beside[0] = Progress("math x m", 10, finished=3, failed=1, calls=30, cost_usd=0.75, unpriced_tokens=12)
    with ProgressDisplay() as display:
        display.show(progress)
    assert display.calls == 50
    assert "math x m: 7/10, 1 in error," in (line := capsys.readouterr().err)
    assert ", $1.25 + 12 tokens, price unknown," in line


def test_a_run_of_a_model_without_a_price_shows_its_tokens_on_plain_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lic_pipeline.cli.shared.progress_display.QUIET_SECONDS", 0.0)
    before = 0
    with FaultServer() as server, Ledger.open(tmp_path / "ledger") as ledger:
        for seed in (1, 2):  # a display knows nothing of what was spent before it
            plan = math_plan(entry_at(server.url), 2, seed=seed, settings=["FULL", "CONCAT"])
            with ProgressDisplay():
                run(plan, ledger, tmp_path / "lake")
            lines = [line for line in capsys.readouterr().err.splitlines() if "math x fake" in line]
            spent = server.prompt_tokens + server.completion_tokens - before
            before += spent
            assert ": 4/4, " in lines[-1]
            assert f", {spent} tokens, price unknown, about 0 s left" in lines[-1]
            assert not any(mark in line for line in lines for mark in ("$", "\x1b", "\r"))
