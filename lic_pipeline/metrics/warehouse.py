"""Publishing and reading ``lic.duckdb``.

Contract: one publisher at a time (a file lock) copies the current file, changes the copy, closes and flushes it, and
renames it over the old one. Readers take no lock and never wait: who opened the old file keeps it as a snapshot. A
kill at any moment leaves the old file; what it left behind is removed by the next publisher. Everything in the file
can be rebuilt from the lake. No metric is computed here.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
from filelock import FileLock, Timeout

from lic_pipeline.config import Home
from lic_pipeline.errors import StorageError
from lic_pipeline.lake.files import write_text
from lic_pipeline.tables import registered

LOCK_TIMEOUT = 600.0
"""Seconds a publisher waits for another one; publishing takes seconds."""

Change = Callable[[duckdb.DuckDBPyConnection], None]


def publish_warehouse(home: Home, tables: Mapping[str, pa.Table], change: Change | None = None) -> Path:
    """Replace ``tables`` in the published file, then let ``change`` work on the same copy; returns the file's path.

    Tables not named stay as they are. An exception from ``change`` leaves the published file untouched. Raises
    StorageError when the folder cannot be written, the disk is full, or the current file is no database.
    """
    with publication(home) as connection:
        for name, table in tables.items():
            store(connection, name, table)
        if change is not None:
            change(connection)
    return home.warehouse


def store(connection: duckdb.DuckDBPyConnection, name: str, table: pa.Table) -> None:
    """Create or replace the table ``name`` with these rows."""
    connection.register("stored_rows", table)
    try:
        connection.execute(f"CREATE OR REPLACE TABLE {quoted(name)} AS SELECT * FROM stored_rows")
    finally:
        connection.unregister("stored_rows")


@contextmanager
def publication(home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to a private copy of the warehouse, published when the block ends without an exception."""
    target = home.warehouse
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{target}.lock", timeout=LOCK_TIMEOUT):
            _clean(target)
            copy = target.with_name(f"{target.name}.{uuid.uuid4().hex}.tmp")
            try:
                if target.exists():
                    shutil.copyfile(target, copy)
                with _opened(copy, target) as connection:
                    yield connection
                _flush(copy)
                copy.replace(target)
                _flush(target.parent)
            finally:
                _clean(target)
    except Timeout as error:
        raise StorageError(
            f"another process has been publishing {target} for over {LOCK_TIMEOUT:.0f} s; wait for it or end it"
        ) from error
    except (OSError, duckdb.IOException) as error:
        said = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise StorageError(
            f"{target} cannot be published ({said}); the old file is unchanged. "
            "Make the folder writable and free some space, then run the command again"
        ) from error


@contextmanager
def _opened(copy: Path, target: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    try:
        connection = duckdb.connect(str(copy))
    except duckdb.Error as error:
        raise _unreadable(target, error) from error
    try:
        yield connection
        connection.execute("CHECKPOINT")
    finally:
        connection.close()


@contextmanager
def open_warehouse(home: Home) -> Iterator[duckdb.DuckDBPyConnection]:
    """A read-only connection to the published file as it is now. Raises StorageError when there is none to read."""
    if not home.warehouse.is_file():
        raise StorageError(f"{home.warehouse} does not exist yet; run `lic run` or `lic demo` first")
    try:
        connection = duckdb.connect(str(home.warehouse), read_only=True)
    except duckdb.Error as error:
        raise _unreadable(home.warehouse, error) from error
    try:
        yield connection
    finally:
        connection.close()


def export_csv(connection: duckdb.DuckDBPyConnection, table: str, path: Path) -> None:
    """Write a table as CSV: rows by key (all columns where no spec is registered), floats with 6 decimals, no times.

    Reproducible byte for byte from equal rows; written atomically. Raises ValueError on NaN or infinity, and
    StorageError when the file cannot be written.
    """
    write_text(path, csv_text(connection, table))


def csv_text(connection: duckdb.DuckDBPyConnection, table: str) -> str:
    """The CSV document ``export_csv`` writes: RFC 4180 quoting, ``\\n`` line ends, NULL empty, an empty text ``""``."""
    described = connection.execute(f"DESCRIBE {quoted(table)}").fetchall()
    kept = [
        (str(row[0]), str(row[1])) for row in described if not str(row[1]).startswith(("TIMESTAMP", "DATE", "TIME"))
    ]
    spec = registered().get(table)
    names = [name for name, _ in kept]
    order = [name for name in (spec.key if spec else names) if name in names]
    by_key = ", ".join(quoted(name) for name in [*order, *(name for name in names if name not in order)])
    rows = connection.execute(
        f"SELECT {', '.join(map(quoted, names))} FROM {quoted(table)} ORDER BY {by_key}"
    ).fetchall()
    lines = [",".join(_cell(name) for name in names), *(",".join(_cell(value) for value in row) for row in rows)]
    return "\n".join(lines) + "\n"


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if value - value != 0:
            raise ValueError("a table to be exported holds NaN or infinity")
        text = f"{value:.6f}"
        return "0.000000" if text == "-0.000000" else text
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if text == "" or any(c in text for c in ',"\r\n') else text


def quoted(name: str) -> str:
    """An identifier quoted for SQL."""
    return '"' + name.replace('"', '""') + '"'


def _unreadable(path: Path, error: Exception) -> StorageError:
    return StorageError(
        f"{path} cannot be opened as a DuckDB file ({str(error).splitlines()[0]}); "
        "move it away and publish again: everything in it is rebuilt from the lake"
    )


def _clean(target: Path) -> None:
    """Remove copies left behind; only called while holding the lock, so none of them is in use."""
    for left in target.parent.glob(f"{target.name}.*.tmp*"):
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
