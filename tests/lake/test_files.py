"""Atomic files and safe names."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lic_pipeline.errors import ConfigError, StorageError
from lic_pipeline.lake import files


def test_parquet_comes_back_and_partition_folders_add_no_columns(tmp_path: Path) -> None:
    path = tmp_path / "task=math" / "model=a" / "x.parquet"
    table = pa.table({"id": ["a", "b"], "score": [1.5, None]})
    files.write_parquet(path, table)
    assert files.read_parquet(path).equals(table)
    assert [entry.name for entry in path.parent.iterdir()] == ["x.parquet"]


def test_text_and_json_are_written_as_given(tmp_path: Path) -> None:
    files.write_text(tmp_path / "t.txt", "één\r\nzwei\n")
    assert (tmp_path / "t.txt").read_bytes() == "één\r\nzwei\n".encode()
    files.write_json(tmp_path / "v.json", {"b": 1, "a": [None, "ü"]})
    assert list(json.loads((tmp_path / "v.json").read_text())) == ["b", "a"]
    with pytest.raises(ValueError, match="JSON compliant"):
        files.write_json(tmp_path / "v.json", float("nan"))
    assert json.loads((tmp_path / "v.json").read_text()) == {"b": 1, "a": [None, "ü"]}


@pytest.mark.parametrize(
    ("number", "hint"), [(errno.ENOSPC, "free some space"), (errno.EROFS, "writable"), (errno.EIO, "writable")]
)
def test_a_failed_write_keeps_the_old_file_and_names_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, hint: str
) -> None:
    path = tmp_path / "t.txt"
    files.write_text(path, "old")

    def fail(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StorageError, match=hint) as caught:
        files.write_text(path, "new")
    assert str(path) in str(caught.value)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.txt"]


def test_an_interrupt_while_writing_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(files.pq, "write_table", interrupt)
    with pytest.raises(KeyboardInterrupt):
        files.write_parquet(tmp_path / "x.parquet", pa.table({"a": [1]}))
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_while_parquet_is_written_is_a_storage_error(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    table = pa.table({"a": list(range(100_000))})
    with pytest.raises(OSError, match="No space"), Path("/dev/full").open("wb", buffering=0) as full:
        files.pq.write_table(table, full)


@pytest.mark.parametrize("content", [None, b"", b"PAR1 not parquet"])
def test_an_unreadable_parquet_file_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "x.parquet"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StorageError, match=r"x\.parquet"):
        files.read_parquet(path)


def test_a_file_where_a_folder_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    with pytest.raises(StorageError, match="cannot be written"):
        files.write_text(tmp_path / "f" / "x", "")
    with pytest.raises(StorageError, match="cannot be read"):
        files.file_sha256(tmp_path / "none")


def test_sha256_is_that_of_the_bytes(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc")
    assert files.file_sha256(tmp_path / "f").startswith("ba7816bf8f01cfea414140de5dae2223")


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("openai/gpt-4o", "openai_2fgpt-4o"),
        ("Phi-4", "Phi-4_u1"),
        ("a|b,c", "a_7cb_2cc"),
        ("..", "_2e_2e"),
        (".hidden", "_2ehidden"),
        ("a...b", "a._2e_2eb"),
        ("end.", "end_2e"),
        ("3.5", "3.5"),
        ("", "_"),
        ("_", "_5f"),
        ("ü", "_c3_bc"),
        ("a\0", "a_00"),
    ],
)
def test_names_are_encoded_as_documented(name: str, part: str) -> None:
    assert files.safe_part(name) == part
    assert files.unsafe_part(part) == name


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=12), min_size=2, max_size=2, unique=True))
def test_any_two_names_stay_apart_even_without_case(names: list[str]) -> None:
    first, second = (files.safe_part(name) for name in names)
    assert first.lower() != second.lower()
    assert files.unsafe_part(first) == names[0]
    assert not set(first) & set("/|,\\ ")
    assert not first.startswith(".")
    assert ".." not in first


@pytest.mark.parametrize("part", ["", "a_", "a_zz", "_41", "a_u1", "A", "a..b", "_ff", "_u0", ".a"])
def test_a_part_that_was_never_encoded_is_refused(part: str) -> None:
    with pytest.raises(ConfigError, match="not an encoded name"):
        files.unsafe_part(part)


@pytest.mark.parametrize("name", ["x" * 201, "\ud800"])
def test_a_name_that_cannot_be_a_file_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigError):
        files.safe_part(name)
