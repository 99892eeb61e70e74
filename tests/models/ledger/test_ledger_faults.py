"""Damaged, foreign, read-only and full places: always a StorageError that says what to do, never a hang."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from lic_pipeline.errors import ConfigError, LicError, StorageError
from lic_pipeline.models.ledger import CallKey, Ledger, database

WORKER = Path(__file__).with_name("ledger_worker.py")


def _fill(folder: Path, reply: dict[str, Any], calls: int = 300) -> Path:
    async def work() -> None:
        with Ledger.open(folder) as ledger:
            await asyncio.gather(*(ledger.record_call("c", CallKey("user", n), "h", {}, reply) for n in range(calls)))

    asyncio.run(work())
    return folder / "ledger.sqlite"


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    file.write_bytes(b"this is not a database, it is a note of some length" * 40)
    before = file.read_bytes()
    with pytest.raises(StorageError, match=r"ledger\.sqlite.*move it.*lic ledger rebuild"):
        Ledger.open(tmp_path)
    assert file.read_bytes() == before


@pytest.mark.parametrize("damage", ["half", "middle", "header"])
def test_a_damaged_file(tmp_path: Path, reply: dict[str, Any], damage: str) -> None:
    file = _fill(tmp_path, reply)
    content = bytearray(file.read_bytes())
    if damage == "half":
        del content[len(content) // 2 :]
    elif damage == "middle":
        content[8192 : len(content) - 4096] = os.urandom(len(content) - 12288)
    else:
        content[:64] = bytes(64)
    file.write_bytes(bytes(content))
    with pytest.raises(StorageError, match=r"ledger\.sqlite.*damaged.*lic ledger rebuild"):
        Ledger.open(tmp_path)


def test_a_large_truncated_file(tmp_path: Path, reply: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "_CHECKED_BYTES", 0)
    file = _fill(tmp_path, reply)
    os.truncate(file, file.stat().st_size // 2)
    with pytest.raises(StorageError, match=r"damaged.*lic ledger rebuild"):
        Ledger.open(tmp_path)


def test_damage_met_while_reading_is_named_too(tmp_path: Path, reply: dict[str, Any]) -> None:
    file = _fill(tmp_path, reply)
    with Ledger.open(tmp_path) as ledger:
        size = file.stat().st_size
        with file.open("r+b") as stream:
            stream.seek(4096)
            stream.write(os.urandom(size - 4096))
        with pytest.raises(StorageError, match=r"damaged.*lic ledger rebuild"):
            ledger.load(["c"])


def test_an_interrupted_log_is_recovered(tmp_path: Path, reply: dict[str, Any]) -> None:
    """Copying a live ledger with its log is what a killed process leaves behind."""
    live, left = tmp_path / "live", tmp_path / "left"
    left.mkdir()

    async def work() -> None:
        with Ledger.open(live) as ledger:
            for turn in range(20):
                await ledger.record_call("c", CallKey("user", turn), "h", {}, reply)
            for name in ("ledger.sqlite", "ledger.sqlite-wal"):
                shutil.copy(live / name, left / name)

    asyncio.run(work())
    log = left / "ledger.sqlite-wal"
    log.write_bytes(log.read_bytes()[:-1500])  # The last frame was being written.
    with Ledger.open(left) as ledger:
        assert len(ledger.load(["c"])["c"].calls) == 19


def test_an_empty_file_becomes_a_ledger(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").touch()
    with Ledger.open(tmp_path) as ledger:
        assert ledger.totals().conversations == {}


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    with pytest.raises(StorageError, match=r"not a ledger.*recipes"):
        Ledger.open(tmp_path)


@pytest.mark.parametrize(("version", "message"), [("99", "newer version"), ("soon", "schema version")])
def test_an_unknown_version_is_refused(tmp_path: Path, version: str, message: str) -> None:
    Ledger.open(tmp_path).close()
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        connection.execute("UPDATE ledger_meta SET value = ? WHERE name = 'schema_version'", (version,))
    connection.close()
    with pytest.raises(StorageError, match=message):
        Ledger.open(tmp_path)


@pytest.mark.parametrize(
    "target",
    [
        "mysql://me:hunter22@host/db",
        "sqlite://",
        "sqlite:///:memory:",
        "postgresql://me:hunter22@127.0.0.1:1/none",
        "://",
    ],
)
def test_a_target_that_cannot_be_used(target: str) -> None:
    with pytest.raises(LicError) as caught:
        Ledger.open(target)
    assert isinstance(caught.value, (ConfigError, StorageError))
    assert "hunter22" not in str(caught.value)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match=r"cannot be made.*LIC_HOME"):
        Ledger.open(tmp_path / "file" / "ledger")
    (tmp_path / "ledger.sqlite").mkdir()
    with pytest.raises(StorageError, match="folder where the ledger file should be"):
        Ledger.open(tmp_path)


def test_a_read_only_folder(tmp_path: Path) -> None:
    """Permissions do not bind root, so root tries it as another user."""
    folder = tmp_path / "home"
    folder.mkdir()
    folder.chmod(0o555)
    script = (
        "import os, sys\n"
        "from lic_pipeline.errors import StorageError\n"
        "from lic_pipeline.models.ledger import Ledger\n"
        "if os.geteuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "try: Ledger.open(sys.argv[1])\n"
        "except StorageError as error: print(error)\n"
    )
    for parent in folder.parents:
        if os.geteuid() == 0 and parent.owner() == "root" and parent.is_relative_to(tmp_path.parent.parent):
            parent.chmod(0o755)
    done = subprocess.run([sys.executable, "-c", script, str(folder)], capture_output=True, text=True, check=False)
    assert "writable LIC_HOME" in done.stdout, done.stderr
    assert list(folder.iterdir()) == []


def test_a_full_disk_reaches_everyone_waiting_and_keeps_what_was_stored(tmp_path: Path) -> None:
    command = [sys.executable, str(WORKER), "full", str(tmp_path), str(400_000)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    told = json.loads(done.stdout.splitlines()[0])
    assert told["stored"] > 30
    assert told["errors"] == ["StorageError"] * 5
    assert "free space" in told["message"]
    with Ledger.open(tmp_path) as ledger:
        assert len(ledger.load(["c"])["c"].calls) == told["stored"]


def test_sqlite_saying_full_fails_the_batch_and_all_later_calls(tmp_path: Path, reply: dict[str, Any]) -> None:
    async def work() -> None:
        ledger = Ledger.open(tmp_path)
        with ledger._database.writer.connect() as connection:  # The writer takes this very connection from the pool.
            connection.exec_driver_sql("PRAGMA max_page_count=60")
        await ledger.record_call("c", CallKey("user", 0), "h", {}, reply)
        large = {**reply, "text": "x" * 50_000}
        calls = (ledger.record_call("c", CallKey("user", turn), "h", {}, large) for turn in range(1, 30))
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [StorageError] * 29
        for later in (ledger.flush(), ledger.claim(["z"]), ledger.record_call("c", CallKey("user", 1), "h", {}, reply)):
            with pytest.raises(StorageError, match="free space"):
                await later
        with pytest.raises(StorageError, match="free space"):
            ledger.record_decision("c", "label", 1, "hedging", "1")
        ledger.close()

    asyncio.run(work())
    with Ledger.open(tmp_path) as again:
        assert list(again.load(["c"])["c"].calls) == [CallKey("user", 0)]


def test_a_ledger_held_by_another_process(
    tmp_path: Path, reply: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.2)
    ledger = Ledger.open(tmp_path)
    holder = sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match="Another process"):
        asyncio.run(ledger.record_call("c", CallKey("user", 1), "h", {}, reply))
    holder.close()
    ledger.close()


def test_a_commit_waits_for_readers_where_there_is_no_write_ahead_log(
    tmp_path: Path, reply: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on file systems without shared memory, where SQLite keeps its old journal whatever it is asked for."""
    monkeypatch.setattr(database, "_use_wal", lambda connection: False)
    with Ledger.open(tmp_path) as ledger:
        reader = sqlite3.connect(tmp_path / "ledger.sqlite", isolation_level=None, check_same_thread=False)
        assert reader.execute("PRAGMA journal_mode").fetchone() == ("delete",)
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM calls").fetchone()
        threading.Timer(0.4, reader.close).start()
        assert asyncio.run(ledger.record_call("c", CallKey("user", 1), "h", {}, reply)) is True


def test_a_fault_of_queued_rows_is_told_when_closing(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path)
    with sqlite3.connect(tmp_path / "ledger.sqlite") as connection:
        connection.execute("DROP TABLE decisions")
    connection.close()
    ledger.record_decision("c", "label", 1, "hedging", "1")
    with pytest.raises(StorageError, match="decisions"):
        ledger.close()
