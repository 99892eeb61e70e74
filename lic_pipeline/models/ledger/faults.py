"""What a fault of the database means: in words that say what to do, and by kind, for those who may try again.

Errors come as SQLAlchemy's or, where the driver is asked itself, as the driver's own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from lic_pipeline.errors import StorageError
from lic_pipeline.models.redaction import redact_message


@contextmanager
def storage_errors(place: str) -> Iterator[None]:
    """Turn database and file errors into StorageError with advice."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise explain(error, place) from error


def explain(error: BaseException, place: str) -> StorageError:
    """The StorageError for a database error: what happened at ``place`` and what to do."""
    origin = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    said = redact_message(" ".join(str(origin).split()))
    lowered = said.lower()
    for signs, advice in _ADVICE:
        if any(sign in lowered for sign in signs):
            return StorageError(f"the ledger {place}: {said}. {advice}")
    return StorageError(f"the ledger {place} failed: {said}. Everything reported as stored is stored; run again.")


def is_transient(error: BaseException) -> bool:
    """True for errors that a repeated transaction may not meet: deadlock, serialization, a lost server connection."""
    if not isinstance(error, DBAPIError):
        return False
    if isinstance(error.orig, sqlite3.Error):
        return False
    code = getattr(error.orig, "pgcode", None)
    lost = code is None and type(error.orig).__name__ in {"OperationalError", "InterfaceError"}
    return lost or error.connection_invalidated or code in {"40P01", "40001", "57P01", "57P03"}


def is_storage_fault(error: BaseException) -> bool:
    """True for faults of the place itself (full, damaged, gone), which no other transaction would survive either."""
    origin = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(origin, sqlite3.Error):
        return isinstance(origin, sqlite3.OperationalError) or type(origin) is sqlite3.DatabaseError
    if isinstance(error, DBAPIError):
        return error.connection_invalidated or type(origin).__name__ in {"OperationalError", "InterfaceError"}
    return isinstance(error, (OSError, StorageError, MemoryError))


_ADVICE: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("malformed", "not a database", "corrupt", "file is encrypted"),
        "The file is damaged. Nothing was changed: move it (with its -wal and -shm files) away and run "
        "`lic ledger rebuild`, or restore a copy.",
    ),
    (
        ("full", "no space", "disk i/o error", "file too large", "quota"),
        "The disk is full or failing: free space and run again; everything reported as stored is stored.",
    ),
    (
        ("readonly", "read-only", "unable to open", "permission denied"),
        "It cannot be written: choose a writable LIC_HOME or fix the permissions.",
    ),
    (("locked",), "Another process has held it for over a minute: end that process and run again."),
    (
        ("connection", "could not translate", "password authentication", "does not exist"),
        "Check that the server runs and that the URL, user and database name are right.",
    ),
)
