"""Publishing beside readers, kills in the middle, unusable folders, and CSV bytes."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from lic_pipeline.config import Home
from lic_pipeline.errors import StorageError
from lic_pipeline.metrics.warehouse import export_csv, open_warehouse, publication, publish_warehouse


def numbers(*values: int) -> pa.Table:
    return pa.table({"n": list(values)})


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def content(home: Home, table: str = "t") -> list[int]:
    with open_warehouse(home) as connection:
        return [row[0] for row in connection.execute(f"SELECT n FROM {table} ORDER BY n").fetchall()]


def files(home: Home) -> set[str]:
    return {path.name for path in home.root.iterdir()} - {"lic.duckdb.lock"}


def test_tables_not_named_stay(home: Home) -> None:
    publish_warehouse(home, {"t": numbers(1), "kept": numbers(7)})
    publish_warehouse(home, {"t": numbers(2, 3)}, lambda c: c.execute("CREATE TABLE made AS SELECT 5 AS n") and None)
    assert (content(home), content(home, "kept"), content(home, "made")) == ([2, 3], [7], [5])
    assert files(home) == {"lic.duckdb"}


def test_an_open_reader_keeps_its_snapshot(home: Home) -> None:
    publish_warehouse(home, {"t": numbers(1)})
    script = (
        "import duckdb, sys\n"
        f"c = duckdb.connect({str(home.warehouse)!r}, read_only=True)\n"
        "print('open', flush=True); sys.stdin.readline()\n"
        "print(c.execute('SELECT n FROM t').fetchall(), flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        assert reader.stdout.readline() == "open\n"
        publish_warehouse(home, {"t": numbers(2)})  # neither waits for the reader nor disturbs it
        assert content(home) == [2]
        reader.stdin.write("\n")
        reader.stdin.flush()
        assert reader.stdout.readline() == "[(1,)]\n"


def test_an_error_in_the_change_publishes_nothing(home: Home) -> None:
    publish_warehouse(home, {"t": numbers(1)})

    def fail(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute("DROP TABLE t")
        raise RuntimeError("stop here")

    with pytest.raises(RuntimeError, match="stop here"):
        publish_warehouse(home, {"t": numbers(2)}, fail)
    assert content(home) == [1]
    assert files(home) == {"lic.duckdb"}


def test_a_kill_in_the_middle_leaves_the_old_file_and_no_lock(home: Home) -> None:
    publish_warehouse(home, {"t": numbers(1)})
    script = (
        "import pathlib, pyarrow, time\n"
        "from lic_pipeline.config import Home\n"
        "from lic_pipeline.metrics.warehouse import publication, store\n"
        f"with publication(Home(pathlib.Path({str(home.root)!r}))) as c:\n"
        "    store(c, 't', pyarrow.table({'n': [9]}))\n"
        "    print('changed', flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "changed\n"
        writer.kill()
    assert content(home) == [1]
    assert len(files(home)) > 1  # what the killed one left
    publish_warehouse(home, {"u": numbers(4)})
    assert (content(home), content(home, "u")) == ([1], [4])
    assert files(home) == {"lic.duckdb"}


def test_publishers_wait_for_each_other(home: Home) -> None:
    script = (
        "import pathlib, pyarrow, sys\n"
        "from lic_pipeline.config import Home\n"
        "from lic_pipeline.metrics.warehouse import publish_warehouse\n"
        f"home = Home(pathlib.Path({str(home.root)!r}))\n"
        "publish_warehouse(home, {'t' + sys.argv[1]: pyarrow.table({'n': [1]})})\n"
    )
    publishers = [subprocess.Popen([sys.executable, "-c", script, str(i)]) for i in range(2)]
    assert [publisher.wait(timeout=60) for publisher in publishers] == [0] * 2
    assert [content(home, f"t{i}") for i in range(2)] == [[1]] * 2


def test_a_busy_publisher_is_named_after_the_wait(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lic_pipeline.metrics.warehouse.LOCK_TIMEOUT", 0.1)
    with publication(home):
        script = (
            "import pathlib\n"
            "from lic_pipeline.config import Home\n"
            "from lic_pipeline.errors import StorageError\n"
            "from lic_pipeline.metrics import warehouse\n"
            "warehouse.LOCK_TIMEOUT = 0.1\n"
            "try:\n"
            f"    warehouse.publish_warehouse(Home(pathlib.Path({str(home.root)!r})), {{}})\n"
            "except StorageError as error: print(error)\n"
        )
        said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "another process has been publishing" in said


def test_no_file_and_no_database_say_what_to_do(home: Home) -> None:
    with pytest.raises(StorageError, match="does not exist yet"), open_warehouse(home):
        pass
    home.root.mkdir()
    home.warehouse.write_bytes(b"this is no database" * 1000)
    for attempt in (lambda: publish_warehouse(home, {}), lambda: content(home)):
        with pytest.raises(StorageError, match="rebuilt from the lake"):
            attempt()


def test_an_unwritable_folder_is_named(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    with pytest.raises(StorageError, match="cannot be published"):
        publish_warehouse(Home(blocked / "home"), {"t": numbers(1)})


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_leaves_the_old_file(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    publish_warehouse(home, {"t": numbers(1)})

    def full(source: object, target: object) -> None:
        with open("/dev/full", "wb") as handle:
            handle.write(b"x" * 100_000)

    monkeypatch.setattr("shutil.copyfile", full)
    with pytest.raises(StorageError, match="No space left"):
        publish_warehouse(home, {"t": numbers(2)})
    assert content(home) == [1]
    assert files(home) == {"lic.duckdb"}


def test_csv_is_ordered_fixed_and_without_times(tmp_path: Path) -> None:
    made = []
    for order in ("ASC", "DESC"):
        with duckdb.connect() as connection:
            connection.execute(
                "CREATE TABLE x AS SELECT * FROM (VALUES "
                "('b', 1.0::DOUBLE, NULL, true, now()), ('a,\"', -0.0::DOUBLE, 'two\nlines', false, now()), "
                "('c', 0.1::DOUBLE + 0.2::DOUBLE, '', NULL, now())) AS t(name, value, text, flag, made) "
                f"ORDER BY name {order}"
            )
            export_csv(connection, "x", tmp_path / f"{order}.csv")
            made.append((tmp_path / f"{order}.csv").read_bytes())
    assert made[0] == made[1]
    assert made[0].decode() == (
        'name,value,text,flag\n"a,""",0.000000,"two\nlines",false\nb,1.000000,,true\nc,0.300000,"",\n'
    )


def test_csv_refuses_nan(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE x AS SELECT 'nan'::DOUBLE AS v")
        with pytest.raises(ValueError, match="NaN"):
            export_csv(connection, "x", tmp_path / "x.csv")
    assert not (tmp_path / "x.csv").exists()


def test_publishing_takes_little_time(home: Home) -> None:
    start = time.perf_counter()
    publish_warehouse(home, {"t": numbers(*range(10_000))})
    assert time.perf_counter() - start < 5
