"""Rows out of files: every fault is named by its place, the rows around it survive."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from lic_pipeline.benchmarks.rawfiles import Collector


def _read(tmp_path: Path, name: str, content: bytes) -> tuple[list[int], list[tuple[int, str]]]:
    (tmp_path / name).write_bytes(content)
    collector = Collector(tmp_path)
    rows = collector.rows(tmp_path / name)
    return [row.value["n"] for row in rows], [(problem.line, str(problem)) for problem in collector.problems]


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        (b'{"n": 2', "broken JSON"),
        (b'{"n": NaN}', "NaN is no JSON value"),
        (b'{"n": 1e999, "m": Infinity}', "Infinity is no JSON value"),
        (b"[1]", "must be a JSON object, is list"),
        (b'"text"', "must be a JSON object, is str"),
        (b"null", "must be a JSON object, is NoneType"),
        (b'{"n": "\xff"}', "is not UTF-8 (byte 7 of the line)"),
        (b'{"n": "a\x00b"}', "broken JSON"),
        (rb'{"n": "a\u0000b"}', "holds a NUL character"),
        (rb'{"a\u0000b": 1}', "holds a NUL character"),
        (rb'{"n": ["\ud83d"]}', "holds half of a surrogate pair"),
        (b'{"n":' * 100_000, "nested too deeply"),
        (b'{"n": 1} {"n": 2}', "broken JSON"),
        (b'{"n": ' + b"9" * 5000 + b"}", "broken JSON"),
    ],
)
def test_a_bad_line_is_named_and_its_neighbours_survive(tmp_path: Path, bad: bytes, said: str) -> None:
    numbers, problems = _read(tmp_path, "x.jsonl", b'{"n": 1}\n' + bad + b'\n{"n": 3}\n')
    assert numbers == [1, 3]
    assert [line for line, _ in problems] == [2]
    assert said in problems[0][1]


def test_bom_crlf_blank_lines_and_a_missing_last_line_end_are_no_fault(tmp_path: Path) -> None:
    content = b'\xef\xbb\xbf{"n": 1}\r\n\r\n  \r\n{"n": 2}'
    (tmp_path / "x.jsonl").write_bytes(content)
    collector = Collector(tmp_path)
    rows = collector.rows(tmp_path / "x.jsonl")
    assert [(row.value["n"], row.line, row.index) for row in rows] == [(1, 1, 0), (2, 4, 3)]
    assert collector.problems == []
    assert collector.files[0].rows == 2
    assert collector.files[0].bytes == len(content)


def test_escapes_of_real_characters_and_of_backslashes_are_kept(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_bytes(rb'{"n": "\ud83d\ude00 \\u0000 \\ud83d"}')
    collector = Collector(tmp_path)
    assert collector.rows(tmp_path / "x.jsonl")[0].value == {"n": "\U0001f600 \\u0000 \\ud83d"}
    assert collector.problems == []


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz"])
def test_gzip_is_known_by_its_content(tmp_path: Path, name: str) -> None:
    assert _read(tmp_path, name, gzip.compress(b'{"n": 1}\n')) == ([1], [])


@pytest.mark.parametrize("name", ["x.jsonl", "x.json", "x.json.gz"])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "it is a Git LFS pointer; "),
        ('[{"n": 1}]'.encode("utf-16"), "it is UTF-16 text; save it as UTF-8"),
    ],
)
def test_a_file_that_is_no_text_is_named_with_what_to_do(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    numbers, problems = _read(tmp_path, name, gzip.compress(content) if name.endswith("gz") else content)
    assert numbers == []
    assert len(problems) == 1
    assert problems[0][1].startswith(f"{name}: {said}")


def test_a_packed_array_is_read(tmp_path: Path) -> None:
    assert _read(tmp_path, "x.json", gzip.compress(b'[{"n": 1},\n{"n": 2}]')) == ([1, 2], [])
    assert "truncated gzip" in _read(tmp_path, "x.json", gzip.compress(b'[{"n": 1}]' * 999)[:-9])[1][0][1]


def test_rows_before_the_end_of_a_truncated_gzip_survive(tmp_path: Path) -> None:
    packed = gzip.compress(b"".join(b'{"n": %d}\n' % n for n in range(20_000)))
    numbers, problems = _read(tmp_path, "x.jsonl.gz", packed[: len(packed) // 2])
    assert numbers == list(range(len(numbers)))
    assert len(numbers) > 1000
    assert "truncated gzip" in problems[-1][1]


@pytest.mark.parametrize("content", [b"\x1f\x8bnot gzip at all", b"\x1f\x8b"])
def test_a_broken_gzip_is_a_problem(tmp_path: Path, content: bytes) -> None:
    numbers, problems = _read(tmp_path, "x.jsonl.gz", content)
    assert numbers == []
    assert "gzip" in problems[0][1]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"[]", b"[ ]\n"])
def test_a_file_without_rows_is_a_problem(tmp_path: Path, content: bytes) -> None:
    assert "holds no rows" in _read(tmp_path, "x.json" if b"[" in content else "x.jsonl", content)[1][0][1]


@pytest.mark.parametrize(
    ("content", "numbers", "line", "said"),
    [
        (b'[{"n": 1},\n {"n": 2},\n {"n": ', [1, 2], 3, "field '[2]': broken JSON, the rest is lost"),
        (b'[{"n": 1},\n 7,\n {"n": 3}]', [1, 3], 2, "field '[1]': must be a JSON object, is int"),
        (b'[{"n": 1}\n {"n": 2}]', [1], 2, "field '[0]': ',' or ']' is missing"),
        (b'[{"n": 1},\n {"n": 2}', [1, 2], 2, "',' or ']' is missing"),
        (b'[{"n": 1},', [1], 1, "ends inside the array"),
        (b'[{"n": 1}] tail', [1], 1, "holds more after the array"),
        (b'[{"n": 1},\n {"n": "\xff"}]', [], 2, "is not UTF-8"),
        (b'[{"n": 1},\r\n {"n": "\\u0000"},\r\n {"n": 3}]', [1, 3], 2, "field '[1]': holds a NUL"),
        (b'[{"n": 1},\n {"n": NaN}]', [1], 2, "NaN is no JSON value"),
    ],
)
def test_a_fault_in_an_array_is_named_by_element_and_line(
    tmp_path: Path, content: bytes, numbers: list[int], line: int, said: str
) -> None:
    found, problems = _read(tmp_path, "x.json", content)
    assert found == numbers
    assert problems[0][0] == line
    assert said in problems[0][1]


def test_elements_know_their_line_and_a_single_object_is_one_row(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'\xef\xbb\xbf\n[\n{"n":\n1},\n\n{"n": 2}\n]\n')
    (tmp_path / "b.json").write_bytes(b'{"n": 1}\n')
    collector = Collector(tmp_path)
    assert [(row.line, row.index) for row in collector.rows(tmp_path / "a.json")] == [(3, 0), (6, 1)]
    assert [row.value for row in collector.rows(tmp_path / "b.json")] == [{"n": 1}]
    assert collector.problems == []


def test_a_missing_file_is_a_problem_that_names_the_patterns(tmp_path: Path) -> None:
    collector = Collector(tmp_path)
    assert collector.find("a.jsonl", "a.jsonl.gz") == []
    assert "no file a.jsonl or a.jsonl.gz" in str(collector.problems[0])
    assert collector.rows(tmp_path / "gone.jsonl") == []
    assert "cannot be read" in str(collector.problems[1])
