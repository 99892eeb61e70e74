"""Decoding of LiveCodeBench test cases: plain JSON, or base64(zlib(pickle(JSON string))).

The pickle is data from a download, so it is read by an unpickler that knows strings and nothing else, after size
limits. What a test means is not decided here.
"""

from __future__ import annotations

import base64
import binascii
import io
import json
import pickle
import zlib
from typing import Any

from lic_pipeline.errors import RecordError

FIELD = "private_test_cases"
MAX_ENCODED = 64 * 1024 * 1024
MAX_DECODED = 512 * 1024 * 1024
_TYPES = ("functional", "stdin")


class _StringsOnly(pickle.Unpickler):
    """An unpickler that refuses every global, so that no code of a pickle can run."""

    def find_class(self, module: str, name: str) -> Any:
        raise RecordError(f"the pickle asks for {module}.{name}; only a string is allowed", field=FIELD)

    def persistent_load(self, pid: Any) -> Any:
        raise RecordError("the pickle asks for a persistent object; only a string is allowed", field=FIELD)


def decode_private_tests(text: str) -> list[dict[str, Any]]:
    """The test cases ``[{input, output, testtype}]`` that a public or private test field holds.

    An empty text is an empty list. Raises RecordError when the text is too large, not decodable, holds anything but
    a string inside its pickle, or test cases of another shape.
    """
    if not isinstance(text, str):
        raise RecordError(f"must be a string, is {type(text).__name__}", field=FIELD)
    if len(text) > MAX_ENCODED:
        raise RecordError(f"{len(text)} characters are more than the limit of {MAX_ENCODED}", field=FIELD)
    stripped = text.strip()
    if not stripped:
        return []
    return _cases(_parse(stripped if stripped[0] in "[{" else _unpack(stripped)))


def _unpack(text: str) -> str:
    """base64 → zlib → restricted pickle → string."""
    try:
        packed = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise RecordError(f"neither JSON nor base64: {error}", field=FIELD) from None
    try:
        inflater = zlib.decompressobj()
        raw = inflater.decompress(packed, MAX_DECODED)
    except zlib.error as error:
        raise RecordError(f"not zlib data: {error}", field=FIELD) from None
    if inflater.unconsumed_tail:
        raise RecordError(f"inflates to more than {MAX_DECODED} bytes", field=FIELD)
    if not inflater.eof:
        raise RecordError("the zlib data is cut off", field=FIELD)
    try:
        value = _StringsOnly(io.BytesIO(raw)).load()
    except RecordError:
        raise
    except Exception as error:  # an unpickler raises nearly anything on garbage
        raise RecordError(f"not a readable pickle: {type(error).__name__}", field=FIELD) from None
    if not isinstance(value, str):
        raise RecordError(f"the pickle holds a {type(value).__name__}, not a string", field=FIELD)
    return value


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordError(f"not JSON: {error}", field=FIELD) from None


def _cases(value: Any) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise RecordError(f"must be a list of test cases, is {type(value).__name__}", field=FIELD)
    return [_case(number, item) for number, item in enumerate(value, 1)]


def _case(number: int, item: Any) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise RecordError(f"test case {number} is no object", field=FIELD)
    for key in ("input", "output"):
        if not isinstance(item.get(key), str):
            raise RecordError(f"test case {number} has no text {key!r}", field=FIELD)
    kind = item.get("testtype", "stdin")
    if kind not in _TYPES:
        raise RecordError(f"test case {number} has testtype {kind!r}, not one of {', '.join(_TYPES)}", field=FIELD)
    return {"input": item["input"], "output": item["output"], "testtype": kind}
