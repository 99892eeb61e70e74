"""The SQL sandbox as a reader of databases: values, paths, identity, threads, life and death of its workers."""

from __future__ import annotations

import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lic_pipeline.sandbox.sql import (
    Limits,
    SourceError,
    SqlPool,
    file_source,
    find_databases,
    run_cached,
    run_query,
    script_source,
)
from lic_pipeline.sandbox.sql.result import decode

QUICK = Limits(seconds=1.0)


def make_database(path: Path, script: str = "CREATE TABLE t(a, b); INSERT INTO t VALUES (1, 'x'), (2, NULL);") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()
    return path


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_until_gone(pids: list[int], seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end and any(alive(pid) for pid in pids):
        time.sleep(0.05)
    return not any(alive(pid) for pid in pids)


@pytest.fixture
def pool() -> Iterator[SqlPool]:
    made = SqlPool(2)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("NULL", None),
        ("''", ""),
        ("9223372036854775807", 9223372036854775807),
        ("-1", -1),
        ("0.1", 0.1),
        ("1e999", float("inf")),
        ("'a' || char(0) || 'b'", "a\0b"),
        ("x'00ff'", b"\x00\xff"),
        ("x''", b""),
        ("'é日本🎤'", "é日本🎤"),
        ("cast(x'ff41' AS TEXT)", "\udcffA"),
        ("'[1]'", "[1]"),
    ],
)
def test_every_kind_of_value_arrives_as_it_is(expression: str, value: object) -> None:
    result = run_query(script_source("SELECT 1;"), f"SELECT {expression}")
    assert result.ok
    assert result.rows == ((value,),)
    assert type(result.rows[0][0]) is type(value)


@pytest.mark.parametrize(
    "name",
    ["plain.sqlite", "with space.sqlite", "what?.sqlite", "a#b.sqlite", "100%25.sqlite", "ünï 日本.sqlite", "a;b&c.db"],
)
def test_odd_paths_open_and_nothing_changes_on_disk(tmp_path: Path, name: str) -> None:
    path = make_database(tmp_path / "dir %20 ?x#" / name)
    before = hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns
    assert run_query(file_source(path), "SELECT a FROM t ORDER BY a").rows == ((1,), (2,))
    assert run_query(file_source(path), "DELETE FROM t RETURNING a").status == "denied"
    assert (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns) == before
    assert [entry.name for entry in path.parent.iterdir()] == [name]


def test_a_read_only_folder_and_a_checkpointed_wal_database_open(tmp_path: Path) -> None:
    path = make_database(
        tmp_path / "ro" / "w.sqlite", "PRAGMA journal_mode=WAL; CREATE TABLE t(a); INSERT INTO t VALUES (7);"
    )
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        assert run_query(file_source(path), "SELECT a FROM t").rows == ((7,),)
        assert [entry.name for entry in path.parent.iterdir()] == ["w.sqlite"]
    finally:
        path.parent.chmod(0o755)


def test_unusable_files_are_the_harness_trouble(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        file_source(tmp_path / "missing.sqlite")
    with pytest.raises(SourceError, match="not a file"):
        file_source(tmp_path)
    (tmp_path / "empty.sqlite").touch()
    with pytest.raises(SourceError, match="empty"):
        file_source(tmp_path / "empty.sqlite")
    hot = make_database(tmp_path / "hot.sqlite")
    (tmp_path / "hot.sqlite-wal").write_bytes(b"pending")
    with pytest.raises(SourceError, match="unfinished"):
        file_source(hot)
    (tmp_path / "text.sqlite").write_text("this is no database, only a long enough line of text " * 30)
    assert run_query(file_source(tmp_path / "text.sqlite"), "SELECT 1").status == "unavailable"


def test_a_changed_file_is_read_anew(tmp_path: Path) -> None:
    path = make_database(tmp_path / "x.sqlite")
    assert run_cached(file_source(path), "SELECT count(*) FROM t").rows == ((2,),)
    connection = sqlite3.connect(path)
    connection.execute("DELETE FROM t WHERE a = 1")
    connection.commit()
    connection.close()
    assert run_cached(file_source(path), "SELECT count(*) FROM t").rows == ((1,),)


def test_databases_are_found_below_a_folder_and_nowhere_else(tmp_path: Path) -> None:
    one = make_database(tmp_path / "a" / "one.sqlite")
    two = make_database(tmp_path / "two.db")
    (tmp_path / "notes.txt").write_text("x")
    assert find_databases(tmp_path) == (one, two)
    assert find_databases(one) == (one,)
    assert find_databases(tmp_path / "nowhere") == ()


@pytest.mark.parametrize(
    ("script", "status", "rows"),
    [
        ("PRAGMA foreign_keys=OFF; BEGIN; CREATE TABLE t(a); INSERT INTO t VALUES (1); COMMIT;", "ok", ((1,),)),
        ("BEGIN; CREATE TABLE t(a); INSERT INTO t VALUES (5);", "ok", ((5,),)),
        ("CREATE TABLE t(a); INSERT INTO nowhere VALUES (1);", "unavailable", ()),
        ("CREATE TABLE t(a); ATTACH 'other.db' AS o;", "unavailable", ()),
        ("CREATE TABLE t(a); VACUUM INTO 'copy.db';", "unavailable", ()),
        ("CREATE TABLE t(a); INSERT INTO t WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x FROM r) "
         "SELECT x FROM r;", "unavailable", ()),
    ],
)  # fmt: skip
def test_schema_text_builds_a_database_or_says_why_not(script: str, status: str, rows: tuple[object, ...]) -> None:
    result = run_query(script_source(script), "SELECT a FROM t", Limits(seconds=1.0, build_seconds=0.5))
    assert (result.status, result.rows) == (status, rows)
    assert result.ok or "schema cannot be built" in result.message


def test_row_and_byte_limits(pool: SqlPool) -> None:
    numbers = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT x FROM r"
    cut = pool.query(script_source(";"), numbers, Limits(seconds=5.0, max_rows=10))
    assert cut.ok
    assert (len(cut.rows), cut.more) == (10, True)
    wide = pool.query(script_source(";"), f"SELECT hex(zeroblob(500)) FROM ({numbers})", Limits(5.0, 10**6, 10_000))
    assert wide.status == "too_large"
    exact = pool.query(script_source(";"), "SELECT 1 UNION SELECT 2", Limits(max_rows=2))
    assert (len(exact.rows), exact.more) == (2, False)


def test_many_threads_get_their_own_answers(pool: SqlPool) -> None:
    source = script_source("CREATE TABLE t(a); INSERT INTO t VALUES (1), (2), (3);")
    with ThreadPoolExecutor(12) as threads:
        answers = list(threads.map(lambda n: pool.query(source, f"SELECT a + {n} FROM t", QUICK).rows, range(200)))
    assert answers == [((n + 1,), (n + 2,), (n + 3,)) for n in range(200)]
    assert len(pool.pids()) <= 2


def test_a_worker_killed_from_outside_is_replaced(pool: SqlPool) -> None:
    source = script_source("CREATE TABLE t(a); INSERT INTO t VALUES (1);")
    assert pool.query(source, "SELECT a FROM t", QUICK).ok
    for pid in pool.pids():
        os.kill(pid, signal.SIGKILL)
    assert pool.query(source, "SELECT a FROM t", QUICK).rows == ((1,),)


def test_a_worker_killed_during_a_query_gets_a_second_try(pool: SqlPool) -> None:
    slow = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r LIMIT 1000000) SELECT count(*) FROM r"
    pool.query(script_source(";"), "SELECT 1", QUICK)
    (pid,) = pool.pids()
    timer = threading.Timer(0.05, os.kill, (pid, signal.SIGKILL))
    timer.start()
    result = pool.query(script_source(";"), slow, Limits(seconds=20.0))
    timer.join()
    assert result.rows == ((1_000_000,),)
    assert pid not in pool.pids()


def test_closing_ends_all_workers_and_the_pool_can_start_again(pool: SqlPool) -> None:
    pool.query(script_source(";"), "SELECT 1", QUICK)
    pids = list(pool.pids())
    pool.close()
    assert wait_until_gone(pids)
    assert pool.query(script_source(";"), "SELECT 2", QUICK).rows == ((2,),)


def test_workers_are_gone_when_their_parent_is_killed() -> None:
    program = textwrap.dedent(
        """
        import threading, time
        from lic_pipeline.sandbox.sql import Limits, SqlPool, script_source
        pool = SqlPool(2)
        endless = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT count(*) FROM r"
        ask = (script_source(";"), endless, Limits(seconds=60.0))
        for _ in range(2):
            threading.Thread(target=pool.query, args=ask, daemon=True).start()
        while len(pool.pids()) < 2:
            time.sleep(0.02)
        print(*pool.pids(), flush=True)
        time.sleep(60)
        """
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert len(pids) == 2
    assert wait_until_gone(pids)


def test_a_forked_child_uses_workers_of_its_own(pool: SqlPool) -> None:
    source = script_source("CREATE TABLE t(a); INSERT INTO t VALUES (1);")
    pool.query(source, "SELECT a FROM t", QUICK)
    mine = pool.pids()
    child = os.fork()
    if child == 0:
        fine = pool.query(source, "SELECT a FROM t", QUICK).rows == ((1,),) and not set(pool.pids()) & set(mine)
        pool.close()
        os._exit(0 if fine else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert pool.query(source, "SELECT a FROM t", QUICK).rows == ((1,),)
    assert pool.pids() == mine


def test_no_secret_reaches_a_worker(pool: SqlPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "canary-1234")
    pool.query(script_source(";"), "SELECT 1", QUICK)
    (pid,) = pool.pids()
    assert b"canary" not in Path(f"/proc/{pid}/environ").read_bytes()


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b'{"status": "fine"}', b'{"status": "ok"}',
     b'{"status": "ok", "columns": ["a"], "rows": [[{}]], "more": false}',
     b'{"status": "ok", "columns": ["a"], "rows": [[1, 2]], "more": false}', b"[" * 100_000,
     b'{"status": "ok", "columns": ["a"], "rows": [[true]], "more": false}', b"\xff\xfe"],
)  # fmt: skip
def test_a_garbled_reply_is_a_crash_and_no_result(body: bytes) -> None:
    assert decode(body).status == "crashed"
