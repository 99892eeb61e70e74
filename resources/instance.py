"""The Dagster instance under LIC_HOME for runs carried out in this process: the usual files, kept open.

Dagster's SQLite storages open a fresh connection for every statement and wait for the disk at every commit, some seven
times an event. Here connections stay open for the life of the instance and commits do not wait (WAL, so a power cut
may lose the last events but never a whole file; results and money live in the lake and the ledger, which do wait).
The files are Dagster's own, so the UI reads them with the storages of ``dagster.yaml`` while a run goes on.

Dagster makes them without regard to other processes doing the same, so here one process at a time looks whether they
are whole, mends them (``repair``) or makes them; every process that only opens them finds them made.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._core.instance.ref import InstanceRef
from dagster._core.storage.event_log import SqlEventLogStorageMetadata
from dagster._core.storage.event_log.sqlite.sqlite_event_log import SqliteEventLogStorage
from dagster._core.storage.local_compute_log_manager import LocalComputeLogManager
from dagster._core.storage.noop_compute_log_manager import NoOpComputeLogManager
from dagster._core.storage.runs.schema import RunStorageSqlMetadata
from dagster._core.storage.runs.sql_run_storage import SqlRunStorage
from dagster._core.storage.runs.sqlite.sqlite_run_storage import SqliteRunStorage
from dagster._core.storage.schedules.schema import ScheduleStorageSqlMetadata
from dagster._core.storage.schedules.sql_schedule_storage import SqlScheduleStorage
from dagster._core.storage.schedules.sqlite.sqlite_schedule_storage import SqliteScheduleStorage
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage
from sqlalchemy import create_engine, event
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.pool import QueuePool

from lic_pipeline.lake.locks import locked
from resources.repair import repair

INDEX = "index"
"""Shard of the event log that all runs share; every other shard is one run's."""


def open_instance(folder: Path) -> dg.DagsterInstance:
    """The instance whose DAGSTER_HOME is ``folder``; storages named in its own dagster.yaml are left as they are.

    Nor is what is printed captured: the helper processes that would mirror it to the terminal answer a Ctrl-C there
    with tracebacks of their own.
    """
    usual = InstanceRef.from_dir(str(folder))
    overrides: dict[str, Any] = {}
    if usual.storage_data is not None and usual.storage_data.class_name == DagsterSqliteStorage.__name__:
        base = usual.storage_data.config_dict["base_dir"]
        ours = {"module": __name__, "class": KeptOpenStorage.__name__, "config": {"base_dir": base}}
        overrides["storage"] = {"custom": ours}
    if usual.compute_logs_data.class_name == LocalComputeLogManager.__name__:
        overrides["compute_logs"] = {
            "module": NoOpComputeLogManager.__module__,
            "class": NoOpComputeLogManager.__name__,
        }
    instance = dg.DagsterInstance.from_ref(InstanceRef.from_dir(str(folder), overrides=overrides))
    if "storage" in overrides:
        _note_indexed(instance)
    return instance


def _note_indexed(instance: dg.DagsterInstance) -> None:
    """What Dagster does after it has stamped the version; whoever was killed in between never did."""
    for storage in (instance.run_storage, instance.schedule_storage):
        if isinstance(storage, SqlRunStorage | SqlScheduleStorage):
            storage.migrate()
            storage.optimize()
    instance.event_log_storage.reindex_events()
    instance.event_log_storage.reindex_assets()


class KeptOpenRunStorage(SqliteRunStorage):
    """Dagster's table of runs over connections that stay open."""

    _engine: Engine | None = None

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """A transaction, committed when the block ends."""
        if self._engine is None:
            self._engine = _engine(self._conn_string)
        with self._engine.begin() as connection:
            yield connection

    def dispose(self) -> None:
        """Close every connection."""
        if self._engine is not None:
            self._engine.dispose()


class KeptOpenEventLogStorage(SqliteEventLogStorage):
    """Dagster's event log over connections that stay open: the shared shard's, and those of the run written last."""

    def __init__(self, base_dir: str) -> None:
        self._engines: dict[str, Engine] = {}
        self._empty_shard: bytes | None = None
        super().__init__(base_dir)

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        with self._db_lock:
            engine = self._engine_of(shard)
            with engine.begin() as connection:
                yield connection
            if shard != INDEX:
                # The UI follows a live run by changes of this file, which WAL itself touches only now and then.
                os.utime(self.path_for_shard(shard))

    def dispose(self) -> None:
        """Close every connection."""
        super().dispose()
        while self._engines:
            self._engines.popitem()[1].dispose()

    def _engine_of(self, shard: str) -> Engine:
        if shard not in self._engines:
            for other in [name for name in self._engines if INDEX not in (name, shard)]:
                self._engines.pop(other).dispose()
            self._prepare(shard)
            self._engines[shard] = _engine(self.conn_string_for_shard(shard))
        return self._engines[shard]

    def _prepare(self, shard: str) -> None:
        """Create the tables of a shard. Those of a run are a copy of empty ones, so that nobody sees a part of them."""
        if shard in self._initialized_dbs:
            return
        path = Path(self.path_for_shard(shard))
        if shard != INDEX and path.exists():
            with locked(path.parent / "shards", "mending"):
                repair(path, SqlEventLogStorageMetadata)
        if shard != INDEX and not path.exists():
            self._empty_shard = self._empty_shard or self._made_apart()
            _write_once(path, self._empty_shard)
        else:
            engine = _engine(self.conn_string_for_shard(shard))
            self._initdb(engine)
            engine.dispose()
        self._initialized_dbs.add(shard)

    def _made_apart(self) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "empty.db"
            engine = _engine(f"sqlite:///{path}")
            self._initdb(engine)
            engine.dispose()
            return _content(path)


class KeptOpenStorage(DagsterSqliteStorage):
    """Runs and events as above; schedules, which no run in this process touches, as Dagster keeps them."""

    def __init__(self, base_dir: str, inst_data: Any = None) -> None:
        # Not the parent's own: it would open storages only to have them thrown away.
        super(DagsterSqliteStorage, self).__init__()  # type: ignore[no-untyped-call]
        self.base_dir = base_dir
        self._inst_data = inst_data
        with locked(Path(base_dir) / "storage", "making"):
            self._make()

    def _make(self) -> None:
        """Open the three storages on files that are whole. Only one process at a time may be here."""
        history, schedules = os.path.join(self.base_dir, "history"), os.path.join(self.base_dir, "schedules")
        for path, schema in (
            (Path(schedules, "schedules.db"), ScheduleStorageSqlMetadata),
            (Path(history, "runs.db"), RunStorageSqlMetadata),
            (Path(history, "runs", f"{INDEX}.db"), SqlEventLogStorageMetadata),
        ):
            repair(path, schema)
        self._schedule_storage = SqliteScheduleStorage.from_local(schedules)
        self._run_storage = KeptOpenRunStorage.from_local(os.path.join(history, ""))
        self._event_log_storage = KeptOpenEventLogStorage(os.path.join(history, "runs", ""))

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Any) -> KeptOpenStorage:
        """As Dagster builds a storage that a dagster.yaml names."""
        return cls(inst_data=inst_data, **config_value)


def _engine(conn_string: str) -> Engine:
    engine = create_engine(
        conn_string, poolclass=QueuePool, pool_size=2, connect_args={"timeout": SQLITE_BUSY_TIMEOUT_SECONDS}
    )
    event.listen(engine, "connect", _relax)
    return engine


def _relax(connection: sqlite3.Connection, _record: object) -> None:
    connection.execute("PRAGMA synchronous=NORMAL")


def _content(path: Path) -> bytes:
    connection = sqlite3.connect(path)
    try:
        return connection.serialize()
    finally:
        connection.close()


def _write_once(path: Path, content: bytes) -> None:
    temporary = path.with_name(f".{uuid.uuid4().hex}.tmp")
    temporary.write_bytes(content)
    temporary.replace(path)
