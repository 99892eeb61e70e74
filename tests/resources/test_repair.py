"""Dagster's files as a race, a kill or a disk left them: mended when opened, or one line that says what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import dagster as dg
import pytest

from lic_pipeline.config import instance_settings
from lic_pipeline.errors import StorageError
from resources.instance import open_instance

FILES = ("history/runs.db", "history/runs/index.db", "schedules/schedules.db")
OLD = "5771160a95ad"
"""The version Dagster stamps where it finds tables without one."""


@dg.asset
def thing() -> None: ...


def _sql(*statements: str) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            for statement in statements:
                connection.execute(statement)

    return damage


def _half_created(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        listed = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        for (name,) in sorted(listed.fetchall())[1:]:
            connection.execute(f"DROP TABLE {name}")
        connection.execute("DROP TABLE IF EXISTS alembic_version")


MENDED = {
    "two heads": _sql(f"INSERT INTO alembic_version VALUES ('{OLD}')"),
    "no row": _sql("DELETE FROM alembic_version"),
    "no table": _sql("DROP TABLE alembic_version"),
    "an old version on new tables": _sql(f"UPDATE alembic_version SET version_num = '{OLD}'"),
    "the same row twice": _sql(
        "CREATE TABLE copied (version_num TEXT)",
        "INSERT INTO copied SELECT version_num FROM alembic_version UNION ALL SELECT version_num FROM alembic_version",
        "DROP TABLE alembic_version",
        "ALTER TABLE copied RENAME TO alembic_version",
    ),
    "nothing noted as indexed": _sql("DELETE FROM secondary_indexes"),
}
MADE_ANEW = {
    "half created": _half_created,
    "empty": lambda path: path.write_bytes(b""),
    "no database": lambda path: path.write_bytes(b"not a database at all" * 100),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "dagster.yaml").write_bytes(instance_settings().read_bytes())
    with open_instance(tmp_path) as instance:
        dg.materialize([thing], instance=instance)
    return tmp_path


def _damage(folder: Path, file: str, how: Callable[[Path], object]) -> None:
    path = folder / file
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for beside in (path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        beside.unlink(missing_ok=True)
    how(path)


def _runs_seen(folder: Path) -> int:
    """As many runs as are known after one more, as Dagster itself tells; it raises where a file is not whole."""
    with open_instance(folder) as instance:
        dg.materialize([thing], instance=instance)
    with dg.DagsterInstance.from_config(str(folder)) as usual:
        assert usual.get_latest_materialization_event(dg.AssetKey("thing")) is not None
        assert usual.schedule_storage is not None
        for storage in (usual.run_storage, usual.event_log_storage, usual.schedule_storage):
            version, head = storage.alembic_version() or (None, None)
            assert version == head
        return len(usual.get_runs())


@pytest.mark.parametrize("how", MENDED)
def test_a_broken_version_is_mended_and_the_history_stays(folder: Path, how: str) -> None:
    for file in FILES:
        _damage(folder, file, MENDED[how])
    assert _runs_seen(folder) == 2
    assert list(folder.rglob("*.damaged-*")) == []


@pytest.mark.parametrize("how", MADE_ANEW)
def test_what_cannot_be_read_is_made_anew(folder: Path, how: str, caplog: pytest.LogCaptureFixture) -> None:
    for file in FILES:
        _damage(folder, file, MADE_ANEW[how])
    assert _runs_seen(folder) == 1
    kept = list(folder.rglob("*.damaged-*"))
    assert len(kept) == len(caplog.messages) == (3 if how == "no database" else 0)


def test_a_run_whose_own_file_is_broken_does_not_break_the_rest(folder: Path) -> None:
    with open_instance(folder) as instance:
        run = instance.get_runs()[0]
    path = next(folder.rglob(f"{run.run_id}.db"))
    MENDED["two heads"](path)
    with open_instance(folder) as instance:
        assert len(instance.all_logs(run.run_id)) > 5
        instance.report_run_failed(run)


def test_a_file_of_a_newer_dagster_is_left_alone_and_said_so(folder: Path) -> None:
    _damage(folder, FILES[0], _sql("UPDATE alembic_version SET version_num = 'ffffffffffff'"))
    with pytest.raises(StorageError, match=r"runs\.db carries version 'ffffffffffff'.*update lic, or move runs\.db"):
        open_instance(folder)
