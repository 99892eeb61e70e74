"""Table files that are not what their specification says: named, with the way on."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from lic_pipeline.errors import StorageError
from lic_pipeline.lake.files import write_parquet
from lic_pipeline.lake.tables import partition_path, read_all, read_partition, write_partition
from lic_pipeline.tables import Column, TableSpec

SPEC = TableSpec("things", "Things.", (Column("name", "string", "Name"), Column("n", "int", "Count")), ("name",))
PARTITION = {"task": "math"}


def test_partitions_come_back_as_written(tmp_path: Path) -> None:
    assert read_partition(tmp_path, SPEC, PARTITION) is None
    assert read_all(tmp_path, SPEC).num_rows == 0
    rows = [{"name": "a", "n": 1}, {"name": "b", "n": 2}]
    write_partition(tmp_path, SPEC, PARTITION, rows)
    assert read_partition(tmp_path, SPEC, PARTITION) == rows
    assert read_all(tmp_path, SPEC).to_pylist() == rows


def test_a_nullable_column_that_came_later_is_null_in_older_files(tmp_path: Path) -> None:
    later = TableSpec("things", "Things.", (SPEC.columns[0], Column("why", "string", "Why", nullable=True),
                                            SPEC.columns[1]), ("name",))  # fmt: skip
    write_partition(tmp_path, SPEC, PARTITION, [{"name": "a", "n": 1}])
    write_partition(tmp_path, later, {"task": "code"}, [{"name": "b", "why": "so", "n": 2}])
    assert read_partition(tmp_path, later, PARTITION) == [{"name": "a", "why": None, "n": 1}]
    expected = [{"name": "b", "why": "so", "n": 2}, {"name": "a", "why": None, "n": 1}]
    assert read_all(tmp_path, later).to_pylist() == expected


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (None, "cannot be read as Parquet"),
        (pa.table({"name": ["a"]}), "holds other columns than things has now"),
        (pa.table({"name": ["a"], "n": ["no number"]}), "holds other columns than things has now"),
        (pa.table({"other": ["a"], "n": [1]}), "holds other columns than things has now"),
    ],
    ids=["no Parquet", "a column less", "another type", "another name"],
)
def test_a_file_that_does_not_fit_is_named_with_the_way_on(tmp_path: Path, table: pa.Table | None, says: str) -> None:
    path = partition_path(tmp_path, SPEC.name, PARTITION)
    if table is None:
        path.parent.mkdir(parents=True)
        path.write_bytes(b"PAR1 and nothing else")
    else:
        write_parquet(path, table)
    with pytest.raises(StorageError, match=says) as caught:
        read_all(tmp_path, SPEC)
    assert str(path) in str(caught.value)
    assert "remove that file and run the command again" in str(caught.value)
    assert "\n" not in str(caught.value)
