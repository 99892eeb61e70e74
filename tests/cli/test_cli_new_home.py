"""A home nobody has used yet, taken up by several commands at the same moment."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from support.lic_command import Lic

from lic_pipeline.cli.commands.dev import dev

TINY = ("run", "-m", "sim/steady", "-t", "math", "-k", "1", "-n", "1", "-s", "FULL", "--json")


def _all_succeed(lic: Lic, processes: int) -> None:
    started = [lic.start(*TINY) for _ in range(processes)]
    ended = [(*process.communicate(timeout=300), process.returncode) for process in started]
    assert [code for _, _, code in ended] == [0] * processes, [err for _, err, _ in ended]
    with lic.ledger() as connection:
        assert connection.execute("SELECT count(*) FROM conversations").fetchone() == (1,)
        assert connection.execute("SELECT count(*) FROM calls").fetchone() == (1,)


def test_several_runs_at_once_make_a_home(lic: Lic) -> None:
    _all_succeed(lic, 4)


@pytest.mark.slow
@pytest.mark.parametrize("time_of_ten", range(10))
def test_eight_runs_at_once_make_a_home_ten_times(lic: Lic, time_of_ten: int) -> None:
    _all_succeed(lic, 8)


@pytest.mark.slow
def test_the_ui_is_started_beside_runs(lic: Lic) -> None:
    ui = lic.start("dev", "--port", "38417")
    try:
        _all_succeed(lic, 3)
        time.sleep(10)
        assert ui.poll() is None
        _all_succeed(lic, 1)
    finally:
        ui.terminate()
        _, told = ui.communicate(timeout=60)
    assert "Traceback" not in told


def test_the_ui_finds_its_storage_made(lic_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executed: list[str] = []
    monkeypatch.setenv("DAGSTER_HOME", "")
    monkeypatch.setattr(os, "execv", lambda program, arguments: executed.extend(arguments))
    dev()
    assert executed[1:4] == ["dev", "-m", "lic_pipeline.definitions"]
    made = {path.name for path in (lic_home / "dagster").rglob("*.db")}
    assert made == {"index.db", "runs.db", "schedules.db"}


def test_models_added_at_once_are_all_kept(lic: Lic) -> None:
    names = [f"local/m{number}" for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda name: lic("models", "add", name, "--base-url", "http://127.0.0.1:9/v1"), names))
    held = yaml.safe_load((lic.home / "models.yaml").read_text(encoding="utf-8"))["models"]
    assert sorted(entry["id"] for entry in held) == names
