"""The front door: quick help, one-line errors with their exit codes, output that can be piped."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.lic_command import Lic, Output

HEAVY = ("dagster", "pyarrow", "sqlalchemy", "pandas", "duckdb", "litellm", "openai", "pydantic", "sqlglot")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom lic_pipeline.cli import main\nsys.argv[1:] = ['--help']\ntry:\n    main()\n"
        f"except SystemExit as end:\n    loaded = [name for name in {HEAVY!r} if name in sys.modules]\n"
        "    print(end.code, loaded, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == "0 []\n"
    assert "Usage: lic" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["bogus"], "No such command 'bogus'"),
        (["run", "--bogus"], "No such option: --bogus"),
        (["run", "-m", "sim/lost", "-n", "0"], "'--runs' / '-n'"),
        (["run", "-m", "sim/lost", "--simulator", "actor"], "'--simulator'"),
        (["run"], "name a model"),
        (["run", "-m", "sim/nobody"], "unknown model 'sim/nobody'; known: "),
        (["run", "-m", "sim/lost", "-t", "poetry"], "unknown task 'poetry'; known: actions, "),
        (["run", "-m", "sim/lost", "-s", "HALF"], "unknown setting 'HALF'; known: CONCAT, FULL, "),
        (["run", "-m", "sim/lost", "-e", "none"], "unknown experiment 'none'; known: "),
        (["run", "-m", "sim/lost", "-e", "../../etc/passwd"], "unknown experiment"),
        (["plan", "-m", "gpt-4o-mini"], "--user-model and --system-model"),
        (["retry"], "--errors"),
        (["retry", "--errors", "-m", "sim/nobody"], "unknown model"),
        (["retry", "--errors", "-t", "poetry"], "unknown task"),
        (["status", "-e", "none"], "unknown experiment"),
        (["ledger", "totals"], "there is no ledger under"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_wrong_command_ends_in_one_line_and_2(lic: Lic, arguments: list[str], named: str) -> None:
    line = lic.error(*arguments)
    assert named in line
    assert not (lic.home / "ledger" / "ledger.sqlite").exists()


def test_a_named_data_folder_that_is_none_is_said_so(lic: Lic) -> None:
    assert "LIC_DATA=" in lic.error("run", "-m", "sim/lost", "-t", "math", env={"LIC_DATA": str(lic.home / "no")})


@pytest.mark.parametrize("name", ["LIC_PROCESSES", "LIC_MAX_CONNECTIONS"])
def test_a_cap_of_the_environment_that_is_none_is_said_before_anything_is_launched(lic: Lic, name: str) -> None:
    output = lic("run", "-m", "sim/lost", "-t", "math", env={name: "0"}, code=2)
    assert output.err == f"lic: {name}=0 is too small\n"


@pytest.mark.parametrize(
    "command", [("run", "-m", "sim/lost", "-t", "math"), ("status",), ("ledger", "totals")], ids=" ".join
)
def test_an_address_of_the_ledger_that_is_none_is_said_before_anything_is_made(
    lic: Lic, command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "LIC_LEDGER_URL" in lic.error(*command, env={"LIC_LEDGER_URL": "word"})
    assert not (tmp_path / "word").exists()
    assert not (lic.home / "lake" / "instructions").exists()


@pytest.mark.parametrize("arguments", [("ledger", "export"), ("status",)], ids=" ".join)
def test_a_reader_that_leaves_early_is_no_fault(finished: Lic, arguments: tuple[str, ...]) -> None:
    process = finished.start(*arguments)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.wait(timeout=60) in (0, 1)
    assert process.stderr.read() in ("", "30 calls exported\n")


def test_without_a_terminal_there_are_no_control_codes(finished_run: tuple[Path, Output]) -> None:
    printed = finished_run[1]
    assert "SHARDED" in printed.out
    assert not any(mark in printed.out + printed.err for mark in ("\x1b", "\r"))


def test_no_colour_is_honoured_even_where_colour_is_forced(finished: Lic) -> None:
    forced = finished("status", env={"FORCE_COLOR": "1", "TERM": "xterm-256color", "NO_COLOR": "1"})
    colours = ("\x1b[3", "\x1b[38", "\x1b[9")
    assert not any(colour in forced.out for colour in colours)


def test_tables_go_to_stdout_and_messages_to_stderr(finished_run: tuple[Path, Output]) -> None:
    printed = finished_run[1]
    assert "preparing math" in printed.err
    assert "preparing" not in printed.out
    assert "calls made, 12 conversations wanted" in printed.err
