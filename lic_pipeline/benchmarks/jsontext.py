"""JSON as benchmark files hold it: strict values, and arrays read element by element with places.

Strict means what every later stage relies on: no NaN, no NUL characters, no half surrogate pairs, nothing nested too
deeply. Files and rows are the business of ``rawfiles``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from lic_pipeline.errors import RecordError, plain_words
from lic_pipeline.records import Json

_SUSPECT = re.compile(r"\\u(0000|[dD][89a-fA-F])")
_HALF = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(r"\s*")


@dataclass(frozen=True)
class Element:
    """One element of an array (``index`` from 0, ``line`` from 1) or what is wrong there (``fault``)."""

    index: int
    line: int
    value: Json = None
    fault: str = ""


def parse_json(data: bytes | str) -> Json:
    """One JSON value. Raises RecordError for broken JSON, NaN, invalid UTF-8, NUL characters and lone surrogates."""
    try:
        text = data.decode() if isinstance(data, bytes) else data
        value = json.loads(text, parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise RecordError(f"is not UTF-8 (byte {error.start} of the line)") from error
    except (ValueError, RecursionError) as error:
        raise RecordError(f"broken JSON: {_short(error)}") from error
    _refuse_bad_text(text, value)
    return value


def array_elements(text: str) -> Iterator[Element]:
    """The elements of a JSON array; a bad value is a fault, after broken syntax the rest is one last fault."""
    place, index, lines = _skip(text, _skip(text, 0) + 1), 0, _Lines(text)
    while text[place : place + 1] not in ("]", ""):
        line = lines.at(place)
        try:
            value, end = _DECODER.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            at = error.lineno if isinstance(error, json.JSONDecodeError) else line
            yield Element(index, at, fault=f"broken JSON, the rest is lost: {_short(error)}")
            return
        yield _checked(index, line, text[place:end], value)
        place = _skip(text, end)
        match text[place : place + 1]:
            case ",":
                place, index = _skip(text, place + 1), index + 1
            case "]":
                break
            case _:
                yield Element(index, lines.at(place), fault="',' or ']' is missing after it, the rest is lost")
                return
    if place >= len(text):
        yield Element(index, lines.at(place), fault="the file ends inside the array")
    elif text[place + 1 :].strip():
        yield Element(index, lines.at(place), fault="the file holds more after the array; that part is not read")


class _Lines:
    """Line numbers of rising places, counted once."""

    def __init__(self, text: str) -> None:
        self.text, self.place, self.line = text, 0, 1

    def at(self, place: int) -> int:
        self.line += self.text.count("\n", self.place, place)
        self.place = place
        return self.line


def _checked(index: int, line: int, text: str, value: Json) -> Element:
    try:
        _refuse_bad_text(text, value)
    except RecordError as error:
        return Element(index, line, fault=error.reason)
    return Element(index, line, value)


def _refuse_bad_text(text: str, value: Json) -> None:
    if not _SUSPECT.search(text):
        return
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            waiting += [*item, *item.values()]
        elif isinstance(item, list):
            waiting += item
        elif isinstance(item, str) and "\0" in item:
            raise RecordError("holds a NUL character")
        elif isinstance(item, str) and _HALF.search(item):
            raise RecordError("holds half of a surrogate pair, which is no character")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _short(error: BaseException) -> str:
    return plain_words(error)[:200]


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
