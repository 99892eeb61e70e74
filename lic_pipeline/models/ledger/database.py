"""Opening the database behind a ledger: SQLite file or PostgreSQL URL, durable settings.

No table is known here. Two engines stand on one database: ``writer`` begins every transaction as a writer (so that a
lock is waited for, never found out half-way), ``reader`` never blocks it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import QueuePool

from lic_pipeline.errors import ConfigError, StorageError
from lic_pipeline.models.ledger.faults import storage_errors

FILE_NAME = "ledger.sqlite"
BUSY_SECONDS = 60.0
_LOOK_AGAIN_SECONDS = 0.0005
_CHECKED_BYTES = 32 * 1024 * 1024
"""Files up to this size are checked in full when opened (about 0.1 s); larger ones by their page count."""


@dataclass(frozen=True)
class Database:
    """The two engines of one ledger; ``place`` names it in messages (never with a password)."""

    writer: Engine
    reader: Engine
    place: str
    file: Path | None

    @property
    def address(self) -> str:
        """File or URL to open the same ledger by, password included."""
        return str(self.file) if self.file else self.writer.url.render_as_string(hide_password=False)

    def dispose(self) -> None:
        """Close all connections."""
        self.writer.dispose()
        self.reader.dispose()


def open_database(target: Path | str) -> Database:
    """Engines for a folder, a .sqlite file or a SQLAlchemy URL. Raises StorageError or ConfigError; makes no tables."""
    if isinstance(target, str) and "://" in target:
        url = _parse(target)
        if url.get_backend_name() == "postgresql":
            return _open_postgresql(url)
        if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
            raise ConfigError("the ledger is kept in a SQLite file or in PostgreSQL; name a folder or postgresql://...")
        return _open_sqlite(Path(url.database))
    path = Path(target).expanduser()
    return _open_sqlite(path if path.suffix in {".sqlite", ".db"} else path / FILE_NAME)


def _parse(target: str) -> URL:
    try:
        return make_url(target)
    except ArgumentError as error:
        raise ConfigError("the ledger URL cannot be read; write postgresql://user:password@host:port/name") from error


def _open_sqlite(file: Path) -> Database:
    file = file.resolve()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"the ledger folder {file.parent} cannot be made ({error.strerror}); choose a writable LIC_HOME"
        ) from error
    if file.is_dir():
        raise StorageError(f"{file} is a folder where the ledger file should be; move it away")
    # Who writes waits in its own way, and only where a transaction begins.
    writer, reader = _sqlite_engine(file, _begin_writing, 0.0), _sqlite_engine(file, _begin_reading, BUSY_SECONDS)
    database = Database(writer, reader, str(file), file)
    try:
        with storage_errors(database.place):
            _check_file(file)
    except BaseException:
        database.dispose()
        raise
    return database


def _sqlite_engine(file: Path, begin: Callable[[Connection], None], busy_s: float) -> Engine:
    engine = create_engine(
        URL.create("sqlite", database=str(file)),
        poolclass=QueuePool,
        connect_args={
            "timeout": BUSY_SECONDS,
            "check_same_thread": False,
            "isolation_level": None,
            "cached_statements": 512,
        },
    )

    @event.listens_for(engine, "connect")
    def _configure(connection: sqlite3.Connection, _record: object) -> None:
        # Without a write-ahead log a commit waits for readers too.
        waits = busy_s if _use_wal(connection) else BUSY_SECONDS
        for pragma in ("synchronous=FULL", "wal_autocheckpoint=4000", "temp_store=MEMORY", "cache_size=-32000"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute(f"PRAGMA busy_timeout={waits * 1000:.0f}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        begin(connection)

    return engine


def _begin_reading(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN")


def _begin_writing(connection: Connection) -> None:
    """Begin as soon as another process has ended its transaction.

    SQLite's own waiting sleeps for up to 0.1 s, in which whoever has just written writes again: the other one starves.
    """
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            execute(connection, "BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(_LOOK_AGAIN_SECONDS)


def execute(connection: Connection, statement: str, values: tuple[Any, ...] = ()) -> Any:
    """Run a statement as the driver writes it; what comes back has ``rowcount`` and ``fetchone``.

    SQLite is asked itself: for a small statement SQLAlchemy's way there costs more than what is done at its end.
    """
    if connection.dialect.name == "sqlite":
        driver: Any = connection.connection.driver_connection
        return driver.execute(statement, values)
    return connection.exec_driver_sql(statement, values)


def _use_wal(connection: sqlite3.Connection) -> bool:
    """Switch to WAL; False where the file system has none.

    That does not wait for other openers by itself, so it is tried again until they are done.
    """
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return str(connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]).lower() == "wal"
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)


def _check_file(file: Path) -> None:
    """Find damage when opening, not after hours. A write-ahead log is first recovered by opening the file."""
    if not file.exists() or file.stat().st_size == 0:
        return
    connection = sqlite3.connect(file, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if file.stat().st_size <= _CHECKED_BYTES:
            found = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
            if found != "ok":
                raise sqlite3.DatabaseError(f"malformed: {found}")
    finally:
        connection.close()


def _open_postgresql(url: URL) -> Database:
    # SQLAlchemy's default driver for postgresql:// changed between versions; ours is fixed.
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg2")
    place = url.render_as_string(hide_password=True)
    try:
        options: dict[str, Any] = {"paramstyle": "format", "pool_pre_ping": True}
        writer, reader = create_engine(url, **options), create_engine(url, **options)
    except ImportError as error:
        raise ConfigError("PostgreSQL needs one more package: pip install 'lic-pipeline[postgres]'") from error

    @event.listens_for(writer, "connect")
    def _durable(connection: Any, _record: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET synchronous_commit = on")
        connection.commit()

    return Database(writer, reader, place, None)
