"""Dagster's SQLite files made whole again: two lics that made one at the same moment, or one killed while making it.

Dagster creates the tables first and stamps the version of its schema last, and takes tables without a stamp for those
of an old release: a second process at that moment leaves two versions, a kill none, and Dagster refuses such a file
for ever. A file that holds everything the present schema asks for is stamped anew; one that cannot be read is moved
aside, as it holds the history shown in the UI and nothing else. Files of older or newer releases are not touched.
The caller sees to it that no other process makes the file meanwhile.
"""

from __future__ import annotations

import logging
import sqlite3
import uuid
from contextlib import closing
from pathlib import Path

from alembic.command import stamp
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from dagster._core.storage.runs.sqlite import sqlite_run_storage
from dagster._core.storage.sql import get_alembic_config
from sqlalchemy import MetaData, create_engine
from sqlalchemy.engine import Engine
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import NullPool

from lic_pipeline.errors import StorageError

logger = logging.getLogger("lic")

_WAIT_SECONDS = 30.0


def repair(path: Path, schema: MetaData) -> None:
    """See to it that Dagster can open the file with these tables, if there is one, or make it anew.

    Raises StorageError for a file of a newer Dagster.
    """
    if not path.exists():
        return
    try:
        versions, lacking = _state(path, schema)
        scripts = ScriptDirectory.from_config(_config())
        newest = scripts.get_current_head()
        if versions == [newest] and not lacking:
            return
        if len(versions) == 1 and not _knows(scripts, versions[0]):
            raise _newer(path, versions[0])
        if len(versions) == 1 and versions != [newest] and lacking:
            return
        _complete(path, schema)
        if _state(path, schema) == ([newest], set()):
            return
        reason = "lacks columns"
    except (sqlite3.DatabaseError, DatabaseError) as error:
        if "locked" in str(error):
            raise
        reason = str(error).splitlines()[0]
    _set_aside(path, reason)


def _state(path: Path, schema: MetaData) -> tuple[list[str | None], set[str]]:
    """The versions stamped on a file, and the tables and columns of the schema that it lacks."""
    with closing(sqlite3.connect(path, timeout=_WAIT_SECONDS)) as connection:
        names = {str(row[0]) for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        stamped = "SELECT version_num FROM alembic_version" if "alembic_version" in names else "SELECT 0 WHERE 0"
        versions = [row[0] for row in connection.execute(stamped)]
        wanted = {f"{table.name}.{column.name}" for table in schema.tables.values() for column in table.columns}
        columns = "SELECT name FROM pragma_table_info(?)"
        found = {f"{name}.{row[0]}" for name in names for row in connection.execute(columns, (name,))}
        return versions, wanted - found


def _config() -> Config:
    """Of Dagster's migrations, which are the same for its three storages."""
    return get_alembic_config(str(sqlite_run_storage.__file__))


def _knows(scripts: ScriptDirectory, version: str | None) -> bool:
    try:
        return version is not None and scripts.get_revision(version) is not None
    except CommandError:
        return False


def _newer(path: Path, version: str | None) -> StorageError:
    return StorageError(
        f"{path} carries version {version!r}, which this release of Dagster does not know; update lic, or move "
        f"{path.name} away (it holds the history the UI shows; results and what was paid for lie elsewhere)"
    )


def _complete(path: Path, schema: MetaData) -> None:
    """Make the tables and indexes that are missing and stamp the present version in place of any other."""
    engine = _engine(path)
    schema.create_all(engine)
    for table in schema.tables.values():
        for index in table.indexes:
            index.create(engine, checkfirst=True)
    config = _config()
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        stamp(config, "head", purge=True)


def _engine(path: Path) -> Engine:
    return create_engine(f"sqlite:///{path}", poolclass=NullPool, connect_args={"timeout": _WAIT_SECONDS})


def _set_aside(path: Path, reason: str) -> None:
    ending = f"damaged-{uuid.uuid4().hex[:8]}"
    for part in (path, *(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))):
        if part.exists():
            part.rename(part.with_name(f"{part.name}.{ending}"))
    logger.warning(
        "lic: %s was unusable (%s) and is now %s.%s; the UI shows no runs from before, results and ledger are whole",
        path, reason, path.name, ending,
    )  # fmt: skip
