"""Values crossing between a program and whoever judges it: plain data only, never pickles.

Exact builtin values become tagged JSON and come back as pristine builtin values; subclasses lose their class, because
the methods of a class that a program defined must never run in the process that compares. Everything else becomes an
opaque handle. The reader trusts nothing: depth, tags and hashability are checked.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Any

MAX_DEPTH = 200
_SMALL = 1 << 53

ToHandle = Callable[[Any], tuple[int, str]]
FromHandle = Callable[[int, str], Any]


class PlainError(ValueError):
    """A value cannot be sent (too deep), or what arrived is not in the format."""


def encode(value: Any, to_handle: ToHandle) -> Any:
    """``value`` as a JSON value; ``to_handle`` names what is no plain data as (number, type name)."""
    return _Encoder(to_handle).encode(value, 0)


def decode(data: Any, from_handle: FromHandle) -> Any:
    """The value that ``encode`` described. Raises PlainError on anything malformed."""
    try:
        return _Decoder(from_handle).decode(data, 0)
    except PlainError:
        raise
    except (TypeError, ValueError, KeyError, IndexError, OverflowError, ArithmeticError) as error:
        raise PlainError(f"malformed value: {type(error).__name__}") from None


def dumps(message: Any) -> bytes:
    """A message as ASCII JSON; lone surrogates survive."""
    return json.dumps(message, separators=(",", ":")).encode("ascii")


def loads(raw: bytes) -> Any:
    """A message back from bytes. Raises PlainError when it is no JSON or nested too deeply."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise PlainError(f"malformed message: {type(error).__name__}") from None


class _Encoder:
    def __init__(self, to_handle: ToHandle) -> None:
        self.to_handle = to_handle

    def encode(self, value: Any, depth: int) -> Any:
        """Scalars as they are, containers as ``[tag, ...]``; base classes decide for subclasses."""
        if depth > MAX_DEPTH:
            raise PlainError("the value is nested too deeply")
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind in _EXACT:
            return _EXACT[kind](self, value, depth)
        for base, encoder in _EXACT.items():
            if isinstance(value, base):
                return encoder(self, value, depth)
        if isinstance(value, str):
            return str.__str__(value)
        return self.foreign(value, depth)

    def foreign(self, value: Any, depth: int) -> Any:
        """numpy scalars by their item, the rest as a handle."""
        if (type(value).__module__ or "").partition(".")[0] == "numpy" and getattr(value, "shape", None) == ():
            item = value.item()
            if type(item) in (bool, int, float, complex, str, bytes):
                return self.encode(item, depth + 1)
        return ["o", *self.to_handle(value)]

    def integer(self, value: int, depth: int) -> Any:
        value = int.__index__(value)
        return value if -_SMALL < value < _SMALL else ["i", hex(value)]

    def real(self, value: float, depth: int) -> Any:
        value = float.__float__(value)
        return value if math.isfinite(value) else ["f", repr(value)]

    def complex_number(self, value: complex, depth: int) -> Any:
        return ["c", self.real(value.real, depth), self.real(value.imag, depth)]

    def binary(self, value: bytes, depth: int) -> Any:
        return ["b", base64.b64encode(value).decode("ascii")]

    def mutable_binary(self, value: bytearray, depth: int) -> Any:
        return ["B", base64.b64encode(value).decode("ascii")]

    def items(self, tag: str, value: Iterable[Any], depth: int) -> Any:
        return [tag, *[self.encode(item, depth + 1) for item in value]]

    def sequence(self, value: list[Any], depth: int) -> Any:
        return self.items("l", list.__iter__(value), depth)

    def fixed(self, value: tuple[Any, ...], depth: int) -> Any:
        return self.items("t", tuple.__iter__(value), depth)

    def unordered(self, value: set[Any], depth: int) -> Any:
        return self.items("s", set.__iter__(value), depth)

    def frozen(self, value: frozenset[Any], depth: int) -> Any:
        return self.items("z", frozenset.__iter__(value), depth)

    def mapping(self, value: dict[Any, Any], depth: int) -> Any:
        pairs = dict.items(value)
        return ["d", *[[self.encode(key, depth + 1), self.encode(item, depth + 1)] for key, item in pairs]]

    def span(self, value: range, depth: int) -> Any:
        return ["r", *[self.integer(part, depth) for part in (value.start, value.stop, value.step)]]

    def fraction(self, value: Fraction, depth: int) -> Any:
        return ["q", self.integer(value.numerator, depth), self.integer(value.denominator, depth)]

    def decimal(self, value: Decimal, depth: int) -> Any:
        return ["n", Decimal.__str__(value)]


_EXACT: dict[type, Callable[[_Encoder, Any, int], Any]] = {
    int: _Encoder.integer,
    float: _Encoder.real,
    list: _Encoder.sequence,
    tuple: _Encoder.fixed,
    dict: _Encoder.mapping,
    set: _Encoder.unordered,
    frozenset: _Encoder.frozen,
    complex: _Encoder.complex_number,
    bytes: _Encoder.binary,
    bytearray: _Encoder.mutable_binary,
    range: _Encoder.span,
    Fraction: _Encoder.fraction,
    Decimal: _Encoder.decimal,
}


class _Decoder:
    def __init__(self, from_handle: FromHandle) -> None:
        self.from_handle = from_handle

    def decode(self, data: Any, depth: int) -> Any:
        if depth > MAX_DEPTH + 2:
            raise PlainError("the value is nested too deeply")
        if not isinstance(data, list):
            if isinstance(data, dict):
                raise PlainError("malformed value: an object")
            return data
        if not data or not isinstance(data[0], str):
            raise PlainError("malformed value: no tag")
        tag, rest = data[0], data[1:]
        if tag in _BUILD:
            return _BUILD[tag]([self.decode(item, depth + 1) for item in rest])
        return self.special(tag, rest, depth)

    def special(self, tag: str, rest: list[Any], depth: int) -> Any:
        if tag == "d":
            return {self.decode(key, depth + 1): self.decode(item, depth + 1) for key, item in rest}
        if tag == "i":
            return int(rest[0], 16)
        if tag == "f":
            return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[rest[0]]
        if tag in ("b", "B"):
            raw = base64.b64decode(rest[0])
            return raw if tag == "b" else bytearray(raw)
        if tag == "n":
            return Decimal(rest[0])
        if tag == "o" and type(rest[0]) is int and isinstance(rest[1], str):
            return self.from_handle(rest[0], rest[1][:200])
        raise PlainError(f"malformed value: tag {tag[:5]!r}")


_BUILD: dict[str, Callable[[list[Any]], Any]] = {
    "l": list,
    "t": tuple,
    "s": set,
    "z": frozenset,
    "c": lambda parts: complex(float(parts[0]), float(parts[1])),
    "r": lambda parts: range(*parts),
    "q": lambda parts: Fraction(parts[0], parts[1]),
}
