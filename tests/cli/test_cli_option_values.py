"""Odd values of options: one line that names the option, exit 2, and nothing created or called."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.lic_command import SMALL, Lic

from lic_pipeline.cli import _call

ONE = ("-m", "sim/lost", "-t", "math", "-k", "1", "-n", "1", "-s", "FULL")
HUGE = "9" * 25
REFUSED = [
    *(("--temperature", value) for value in ("nan", "inf", "-1", "2.1", "warm", "")),
    *(("--max-connections", value) for value in ("0", "-3", "99999", HUGE, "1.5", "many")),
    *(("--budget-usd", value) for value in ("nan", "inf", "1e400", "-0.01", HUGE, "ten")),
    *(("--budget-tokens", value) for value in ("-5", HUGE, "1.5", "nan", "lots")),
    *(("--runs", value) for value in ("0", "-1", "1001", HUGE)),
    *(("--limit", value) for value in ("0", "-1", "x")),
    *(("--seed", value) for value in ("-1", HUGE, "1.5")),
    ("--simulator", "somebody"),
    ("--system-prompt", "no such file"),
]


@pytest.mark.parametrize(("option", "value"), REFUSED, ids=lambda part: part or "empty")
def test_an_odd_value_is_refused_in_one_line(
    option: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LIC_HOME", str(tmp_path / "home"))
    code = _call(["run", *ONE, option, value])
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("lic: ")
    assert err.count("\n") == 1
    assert option.strip("-").replace("runs", "run") in err
    assert not (tmp_path / "home" / "ledger").exists() or not any((tmp_path / "home" / "ledger").iterdir())


@pytest.mark.parametrize(
    ("content", "says"),
    [
        pytest.param(b"", "no text", id="empty"),
        pytest.param(b" \n\t ", "no text", id="blank"),
        pytest.param(b"\xff\xfe", "no UTF-8", id="not UTF-8"),
        pytest.param(b"x" * 100_001, "at most 100,000", id="too long"),
        pytest.param(None, "Is a directory", id="a folder"),
    ],
)
def test_a_system_prompt_that_cannot_be_used(content: bytes | None, says: str, lic: Lic, tmp_path: Path) -> None:
    file = tmp_path / "prompt.txt"
    file.mkdir() if content is None else file.write_bytes(content)
    line = lic.error("plan", *ONE, "--system-prompt", str(file))
    assert str(file) in line
    assert says in line


def test_a_system_prompt_makes_other_conversations_and_is_sent(finished: Lic, tmp_path: Path) -> None:
    file = tmp_path / "prompt.txt"
    file.write_text("Réponds poliment.\n", encoding="utf-8")
    document = finished("plan", *SMALL, "--system-prompt", str(file), "--json").document
    assert all(row["done"] == 0 for row in document["rows"])
    finished("run", *SMALL, "--system-prompt", str(file))
    again = finished("plan", *SMALL, "--system-prompt", str(file), "--json").document
    assert again["total"]["missing"] == {}
    files = finished.home.glob("lake/conversations/**/*.parquet")
    prompts = [text for one in files for text in pq.read_table(one, columns=["system_prompt"])[0].to_pylist()]
    assert sum(text.endswith("\n\nRéponds poliment.") for text in prompts) == again["total"]["conversations"] == 12
    assert len(prompts) == 24
    report = (finished.home / "report" / "report.md").read_text(encoding="utf-8")
    assert report.count("system\\_prompt:") > report.count("system\\_prompt:none") > 0


def test_the_largest_values_are_taken(lic: Lic) -> None:
    most = ("--seed", str(2**63 - 1), "--budget-usd", "1e9", "--budget-tokens", "1000000000000000", "-C", "4096")
    done = lic("run", *ONE, *most, "--temperature", "2")
    assert "1 conversations wanted" in done.err


@pytest.mark.parametrize(
    ("roles", "says"),
    [
        (("--user-model", "sim/lost", "--system-model", "gpt-4o"), "sim/lost is a calibration persona"),
        (("--user-model", "gpt-4o", "--system-model", "nobody"), "unknown model 'nobody'"),
        (("--simulator", "scripted", "--judge-model", "sim/lost"), "sim/lost is a calibration persona"),
    ],
)
@pytest.mark.parametrize("command", ["run", "plan"])
def test_models_that_cannot_play_a_role_are_refused_before_anything_is_prepared(
    command: str, roles: tuple[str, ...], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("LIC_HOME", str(tmp_path / "home"))
    consent = ("--yes",) if command == "run" else ()
    assert _call([command, "-m", "gpt-4o-mini", *roles, *consent]) == 2
    err = capsys.readouterr().err
    assert says in err
    assert err.count("\n") == 1
