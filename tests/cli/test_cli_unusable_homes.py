"""Homes that cannot be used and data that cannot be read: one clear line, the right exit code, nothing lost."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.lic_command import PROGRAM, SMALL, Lic

from lic_pipeline.benchmarks.registry import samples_folder
from lic_pipeline.cli.shared.error_messages import error_message
from lic_pipeline.lake.tables import read_partition
from lic_pipeline.tables.items import INSTRUCTIONS


@pytest.mark.parametrize("command", [("run", "-m", "sim/lost", "-t", "math"), ("plan", "-m", "sim/lost")], ids=" ".join)
def test_a_home_below_a_file_cannot_be_written(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "file").write_text("not a folder", encoding="utf-8")
    line = Lic(tmp_path / "file" / "home").error(*command)
    assert "cannot be written" in line
    assert "LIC_HOME" in line
    assert (tmp_path / "file").read_text(encoding="utf-8") == "not a folder"


def _as_nobody(lic: Lic, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command as another user, who may read everything of the home and write nothing."""
    environment = {**lic.environment(), "HOME": "/"}
    return subprocess.run(
        [str(PROGRAM), *arguments], env=environment, cwd="/", capture_output=True, text=True, check=False,
        user=65534, group=65534, extra_groups=[],
    )  # fmt: skip


def test_a_read_only_home_of_another_user_is_said_so(finished: Lic) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become another user")
    try:
        able = _as_nobody(finished, "--help").returncode == 0
    except PermissionError:
        able = False
    if not able:
        pytest.skip("another user cannot start this installation")
    for folder in (finished.home, *finished.home.parents[:3]):
        folder.chmod(0o755)
    done = _as_nobody(finished, "run", *SMALL)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1
    assert "cannot be written" in done.stderr


def test_too_low_a_limit_of_open_files_is_told_before_anything_runs(lic: Lic) -> None:
    command = f"ulimit -n 24 && '{PROGRAM}' run {' '.join(SMALL)}"
    done = subprocess.run(["bash", "-c", command], env=lic.environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert done.stderr.startswith("lic: the limit of open files is too low: 24, and a run needs ")
    assert "ulimit -n 1024" in done.stderr
    assert not (lic.home / "ledger" / "ledger.sqlite").exists()


def test_files_that_run_out_in_the_middle_are_no_fault_of_lic() -> None:
    try:
        raise RuntimeError("a step failed") from OSError(errno.EMFILE, "Too many open files")
    except RuntimeError as error:
        message, code = error_message(error)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert code == 2
    assert message.startswith(f"the limit of open files is too low ({limit}); raise it with `ulimit -n")


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: file.write_bytes(file.read_bytes()[: file.stat().st_size // 2]),
        lambda file: file.write_bytes(b"SQLite format 3\x00" + b"\xff" * 5000),
        lambda file: file.write_bytes(b"no database at all, but longer than a header of one hundred bytes " * 3),
    ],
    ids=["half written", "garbage after the header", "not a database"],
)
def test_a_damaged_ledger_is_named_and_left_alone(finished: Lic, damage: object) -> None:
    file = finished.home / "ledger" / "ledger.sqlite"
    for rest in (file.with_name(file.name + "-wal"), file.with_name(file.name + "-shm")):
        rest.unlink(missing_ok=True)
    damage(file)  # type: ignore[operator]
    content = file.read_bytes()
    for command in (("status",), ("ledger", "totals"), ("plan", *SMALL)):
        line = finished.error(*command)
        assert "The file is damaged" in line
        assert "lic ledger rebuild" in line
    assert file.read_bytes() == content
    failing = [row for row in finished("doctor", "--json", code=1).document["lines"] if row["status"] == "fail"]
    assert [row["area"] for row in failing] == ["ledger"]


def test_a_run_on_a_damaged_ledger_calls_nothing(finished: Lic) -> None:
    (finished.home / "ledger" / "ledger.sqlite").write_bytes(b"x" * 5000)
    assert "The file is damaged" in finished.error("run", "-m", "sim/lost", "-t", "math", "-k", "2", "-n", "3")


@pytest.fixture
def spoilt_data(tmp_path: Path) -> Path:
    """A LIC_DATA whose GSM8K file has a broken third line and a fifth line without an answer."""
    source = samples_folder() / "gsm8k" / "test.jsonl"
    lines = source.read_text(encoding="utf-8").splitlines()
    lines[2] = lines[2][: len(lines[2]) // 2]
    lines[4] = json.dumps({"question": "Nobody knows?"})
    folder = tmp_path / "data" / "gsm8k"
    folder.mkdir(parents=True)
    (folder / "test.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder.parent


def test_bad_rows_are_named_and_good_rows_survive(lic: Lic, spoilt_data: Path) -> None:
    options = ("run", "-m", "sim/steady", "-t", "math", "-n", "2", "-s", "FULL", "-s", "SHARDED")
    few = {"LIC_DATA": str(spoilt_data)}
    blocked = lic.error(*options, env=few)
    assert "rows_readable of gsm8k" in blocked
    assert "test.jsonl, line 3" in blocked
    assert "LIC_TOLERATED_SHARE" in blocked

    # The samples' shards belong to the samples only, so these rows are good but nothing can be held of them yet.
    done = lic(*options, code=1, env={**few, "LIC_TOLERATED_SHARE": "0.5"})
    assert "gsm8k/test.jsonl:3" in done.err
    assert "gsm8k/test.jsonl:5" in done.err
    assert "no item can be evaluated" in done.err
    rows = read_partition(lic.home / "lake", INSTRUCTIONS, {"task": "math"}) or []
    good = len((spoilt_data / "gsm8k" / "test.jsonl").read_text(encoding="utf-8").splitlines()) - 2
    assert len([row for row in rows if row["status"] == "ok"]) == good


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 6 MB of its own, where mounting one is permitted."""
    place = tmp_path / "disk"
    place.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    command = [mount or "mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(place)]
    if mount is None or umount is None or subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting a small tmpfs is not permitted here")
    yield place
    subprocess.run([umount, str(place)], check=True)


@pytest.mark.slow
def test_a_full_disk_ends_in_one_line_and_the_run_goes_on_elsewhere(small_disk: Path, tmp_path: Path) -> None:
    options = ("run", "-m", "sim/lost", "-t", "math", "-k", "4", "-n", "200", "-s", "FULL", "-s", "SHARDED")
    lic = Lic(small_disk / "home")
    line = lic.error(*options)
    assert any(words in line.lower() for words in ("full", "space")), line
    shutil.copytree(small_disk / "home", tmp_path / "larger")
    moved = Lic(tmp_path / "larger")
    with moved.ledger() as connection:
        stored = connection.execute("SELECT count(*) FROM calls").fetchone()[0]
    done = moved(*options)
    assert "1,600 conversations wanted" in done.err
    total = moved("ledger", "totals", "--json").document["overall"]["calls"]
    assert f"{total - stored:,} calls made" in done.err


def test_a_published_file_that_is_no_database_names_itself_and_the_way_on(finished: Lic) -> None:
    finished("run", *SMALL)  # published as it stands in this copy, so that the next run only reads
    warehouse = finished.home / "lic.duckdb"
    warehouse.write_bytes(b"no database at all " * 200)
    line = finished.error("run", *SMALL)
    assert "lic.duckdb cannot be opened as a DuckDB file" in line
    assert "move it away" in line
    warehouse.unlink()
    finished("run", *SMALL)
    assert warehouse.is_file()


@pytest.mark.parametrize("table", ["scores", pytest.param("manifests", marks=pytest.mark.slow)])
def test_the_advice_for_a_damaged_table_brings_it_back(finished: Lic, table: str) -> None:
    finished("run", *SMALL)  # published as it stands in this copy
    before = {path.name: path.read_bytes() for path in (finished.home / "report").iterdir()}
    (file,) = (finished.home / "lake" / table).rglob("part.parquet")
    file.write_bytes(b"damaged")
    line = finished.error("run", *SMALL)
    assert str(file) in line
    assert "remove that file and run the command again" in line
    file.unlink()
    assert "0 calls made, 12 conversations wanted" in finished("run", *SMALL).err
    assert {path.name: path.read_bytes() for path in (finished.home / "report").iterdir()} == before
