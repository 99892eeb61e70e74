"""Hostile SQL: every statement is contained, in time, and the database file stays as it was."""

from __future__ import annotations

import hashlib
import sqlite3
import time
from pathlib import Path

import pytest

from lic_pipeline.sandbox.sql import Limits, Source, file_source, run_query

LIMITS = Limits(seconds=0.5, max_rows=1000, max_bytes=1_000_000)
NUMBERS = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r{}) "
LONG = "WITH t AS (SELECT replace(hex(zeroblob(3900000)), '00', 'a') AS x) "

HOSTILE = [
    ("DROP TABLE t", {"denied"}),
    ("DELETE FROM t", {"denied"}),
    ("DELETE FROM t RETURNING a", {"denied"}),
    ("WITH d AS (SELECT 1) DELETE FROM t RETURNING a", {"denied"}),
    ("UPDATE t SET a = 0 RETURNING a", {"denied"}),
    ("INSERT INTO t VALUES (1) RETURNING a", {"denied"}),
    ("REPLACE INTO t VALUES (1)", {"denied"}),
    ("CREATE TABLE u AS SELECT * FROM t", {"denied"}),
    ("CREATE TEMP VIEW v AS SELECT 1", {"denied"}),
    ("ALTER TABLE t RENAME TO u", {"denied"}),
    ("ATTACH ':memory:' AS other", {"denied"}),
    ("ATTACH 'file:stolen.db?mode=rwc' AS other", {"denied"}),
    ("DETACH main", {"denied"}),
    ("PRAGMA user_version = 3", {"denied"}),
    ("PRAGMA query_only = OFF", {"denied"}),
    ("PRAGMA hard_heap_limit = 0", {"denied"}),
    ("PRAGMA table_info(t)", {"denied"}),
    ("SELECT * FROM pragma_table_info('t')", {"denied"}),
    ("VACUUM", {"denied"}),
    ("VACUUM INTO 'copy.db'", {"denied"}),
    ("REINDEX", {"denied"}),
    ("ANALYZE", {"denied"}),
    ("BEGIN IMMEDIATE", {"denied"}),
    ("SAVEPOINT s", {"denied"}),
    ("SELECT load_extension('evil')", {"denied"}),
    ("SELECT \"load_extension\"('evil')", {"denied"}),
    ("SELECT printf('%.*c', 900000000, 'x')", {"denied"}),
    ("SELECT format('%.*c', 900000000, 'x')", {"denied"}),
    ("SELECT PRINTF('%d', 1)", {"denied"}),
    ("SELECT fts3_tokenizer('simple')", {"denied", "error"}),
    ("SELECT readfile('/etc/passwd')", {"denied", "error"}),
    ("SELECT 1; DROP TABLE t", {"error"}),
    ("SELECT a\0FROM t", {"error"}),
    ("SELECT ?", {"error"}),
    ("SELECT " + "(" * 5000 + "1" + ")" * 5000, {"error"}),
    ("SELECT 1" + " UNION ALL SELECT 1" * 600, {"error"}),
    ("SELECT " + "1+" * 60_000 + "1", {"error"}),
    ("SELECT '" + "x" * 300_000 + "'", {"error"}),
    ("\ud800", {"error"}),
    (NUMBERS.format("") + "SELECT count(*) FROM r", {"timeout"}),
    (NUMBERS.format("") + "SELECT x FROM r", {"ok"}),
    (NUMBERS.format("") + "SELECT x FROM r ORDER BY x DESC", {"timeout", "memory"}),
    ("SELECT count(*) FROM " + ", ".join(f"t AS t{i}" for i in range(30)), {"timeout"}),
    ("SELECT * FROM " + ", ".join(f"t AS t{i}" for i in range(30)), {"ok"}),
    ("SELECT zeroblob(1000000000)", {"error"}),
    ("SELECT randomblob(1000000000)", {"error"}),
    ("SELECT hex(zeroblob(7000000))", {"error"}),
    (NUMBERS.format(" LIMIT 10000000") + "SELECT group_concat(hex(zeroblob(500)) || x) FROM r",
     {"error", "memory", "timeout"}),
    ("WITH RECURSIVE r(x) AS (SELECT hex(zeroblob(1000000)) UNION ALL SELECT x FROM r LIMIT 5000) "
     "SELECT x FROM r ORDER BY x", {"memory", "too_large", "timeout"}),
    ("WITH RECURSIVE r(x) AS (SELECT zeroblob(900000) UNION ALL SELECT x FROM r) SELECT x FROM r", {"too_large"}),
    (LONG + "SELECT count(*) FROM t, t u WHERE instr(t.x, substr(u.x, 1, 3500000) || 'b')", {"timeout"}),
    ("SELECT 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' LIKE '" + "%a" * 200 + "b'", {"ok", "timeout"}),
    ("SELECT 'a' LIKE '" + "%a" * 5000 + "'", {"error"}),
]  # fmt: skip


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "target.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript("CREATE TABLE t(a); INSERT INTO t VALUES (1), (2), (3), (4), (5);")
    connection.close()
    return path


@pytest.fixture(scope="module")
def source(database: Path) -> Source:
    return file_source(database)


@pytest.mark.parametrize(("sql", "allowed"), HOSTILE, ids=[sql[:40] for sql, _ in HOSTILE])
def test_hostile_sql_is_contained(source: Source, database: Path, sql: str, allowed: set[str]) -> None:
    before = hashlib.sha256(database.read_bytes()).hexdigest()
    started = time.monotonic()
    result = run_query(source, sql, LIMITS)
    assert result.status in allowed, result.message
    assert time.monotonic() - started < LIMITS.wall_seconds + 1
    assert len(result.rows) <= LIMITS.max_rows
    assert hashlib.sha256(database.read_bytes()).hexdigest() == before
    assert [entry.name for entry in database.parent.iterdir()] == [database.name]
    assert run_query(source, "SELECT count(*) FROM t", LIMITS).rows == ((5,),), "the next query is served as ever"


def test_a_database_that_carries_its_own_trap_is_contained(tmp_path: Path) -> None:
    path = tmp_path / "trap.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE t(a);"
        "CREATE VIEW endless AS WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x FROM r) "
        "SELECT count(*) AS n FROM r;"
        "CREATE VIEW loading AS SELECT load_extension('evil') AS n;"
    )
    connection.close()
    assert run_query(file_source(path), "SELECT n FROM endless", LIMITS).status == "timeout"
    assert run_query(file_source(path), "SELECT n FROM loading", LIMITS).status in {"denied", "error"}
