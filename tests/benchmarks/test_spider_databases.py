"""Databases of Spider: where rows come from, what of the schema is shown, and what cannot be used."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lic_pipeline.benchmarks.spider_databases import Databases, statements
from lic_pipeline.errors import RecordError

SCRIPT = """-- a zoo; with a semicolon
CREATE TABLE animal (id INTEGER, name TEXT DEFAULT ';');
/* rows; */ INSERT INTO animal VALUES (1, 'CREATE TABLE x (y);');
create view names as select name from animal;
CREATE INDEX i ON animal (id);
INSERT INTO animal VALUES (2, 'b')"""


def _place(tmp_path: Path) -> Path:
    place = tmp_path / "database" / "zoo"
    place.mkdir(parents=True)
    return place


def _sqlite(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE animal (id INTEGER PRIMARY KEY AUTOINCREMENT)")
        connection.execute("INSERT INTO animal VALUES (1)")
        connection.commit()


def test_schema_text_is_cut_into_statements_and_only_creates_are_shown(tmp_path: Path) -> None:
    (_place(tmp_path) / "schema.sql").write_text(SCRIPT)
    assert len(list(statements(SCRIPT))) == 5
    database = Databases(tmp_path).get("zoo")
    assert database.schema_sql == (
        "CREATE TABLE animal (id INTEGER, name TEXT DEFAULT ';');\ncreate view names as select name from animal;"
    )
    assert database.reference == {"schema": SCRIPT}


def test_sqlite_files_win_all_of_them_count_and_nothing_is_written(tmp_path: Path) -> None:
    place = _place(tmp_path)
    (place / "schema.sql").write_text(SCRIPT)
    for name in ("a_other.sqlite", "zoo.sqlite"):
        _sqlite(place / name)
    place.chmod(0o555)
    try:
        before = sorted(os.listdir(place))
        database = Databases(tmp_path).get("zoo")
        assert sorted(os.listdir(place)) == before
    finally:
        place.chmod(0o755)
    assert database.schema_sql == "CREATE TABLE animal (id INTEGER PRIMARY KEY AUTOINCREMENT);"
    assert [Path(path).name for path in database.reference["databases"]] == ["zoo.sqlite", "a_other.sqlite"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (None, b"", "no_database: zoo"),
        ("zoo.sqlite", b"no database" * 100, "cannot be read"),
        ("zoo.sqlite", b"", "holds no table"),
        ("schema.sql", b"INSERT INTO a VALUES (1);", "creates no table"),
        ("schema.sql", b"", "creates no table"),
        ("schema.sql", b"CREATE TABLE a (b); -- \xff", "cannot be read"),
    ],
)
def test_an_unusable_database_says_why_each_time_it_is_asked_for(
    tmp_path: Path, name: str | None, content: bytes, said: str
) -> None:
    place = _place(tmp_path)
    if name is not None:
        (place / name).write_bytes(content)
    databases = Databases(tmp_path)
    for _ in range(2):
        with pytest.raises(RecordError, match=said) as caught:
            databases.get("zoo")
        assert caught.value.field == "db_id"


@pytest.mark.parametrize("db_id", ["..", "../zoo", "a/b", "", ".hidden", "a\0b"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, db_id: str) -> None:
    with pytest.raises(RecordError, match="is no database name"):
        Databases(tmp_path).get(db_id)


def test_without_any_folder_there_is_no_database() -> None:
    with pytest.raises(RecordError, match="no_database: zoo"):
        Databases(None).get("zoo")
