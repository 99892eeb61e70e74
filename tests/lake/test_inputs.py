"""Files people hand in: packed ones are unpacked, what is no UTF-8 text is named with what to do."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

from lic_pipeline.errors import InputError
from lic_pipeline.lake.inputs import input_lines, open_input, unpacked

TEXT = '{"id": 1, "täg": "…"}\n{"id": 2}\n'
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12\n"


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("content", [TEXT.encode(), b"\xef\xbb\xbf" + TEXT.encode(), b"", b"\n"])
def test_text_comes_back_byte_for_byte(tmp_path: Path, content: bytes, packed: bool) -> None:
    given = gzip.compress(content) if packed else content
    path = tmp_path / "file"
    path.write_bytes(given)
    with open_input(path) as stream:
        assert b"".join(input_lines(stream, "file")) == content
    assert b"".join(unpacked(io.BytesIO(given), "standard input")) == content


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (LFS, r"is a Git LFS pointer; .*git lfs pull"),
        (b"../../.git/annex/objects/ab/cd/MD5-s1--x\n", r"is a git-annex pointer; .*git annex get"),
        (b"/annex/objects/MD5E-s1--x\n", r"is a git-annex pointer"),
        (TEXT.encode("utf-16"), r"is UTF-16 text; save it as UTF-8 \(iconv -f UTF-16 "),
        (TEXT.encode("utf-16-le"), r"is UTF-16 text; .*iconv -f UTF-16LE"),
        (TEXT.encode("utf-16-be"), r"is UTF-16 text; .*iconv -f UTF-16BE"),
        (TEXT.encode("utf-32"), r"is UTF-32 text"),
        (b"PK\x03\x04rest", r"is a zip archive; unpack it first"),
        (b"PAR1rest", r"is a Parquet file; write it out as JSON Lines"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_another_kind_of_file_is_named(tmp_path: Path, content: bytes, said: str, packed: bool) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(InputError, match=rf"answers\.jsonl {said}"), open_input(path):
        pass


def test_a_packed_file_cut_short_is_said_so(tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(bytes(range(256)) * 4000)[:-200])
    with pytest.raises(InputError, match=r"cut\.gz cannot be read to its end: broken or truncated gzip"):  # noqa: SIM117
        with open_input(path) as stream:
            list(input_lines(stream, str(path)))
