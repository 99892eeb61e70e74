"""Limits of a query and what came of it, checked as plain data when it arrives from the child."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

Cell = None | int | float | str | bytes
Row = tuple[Cell, ...]
Status = Literal["ok", "error", "denied", "timeout", "memory", "too_large", "crashed", "unavailable"]


@dataclass(frozen=True)
class Limits:
    """Limits of one query: CPU seconds, rows and bytes of the result. Wall time is four times the CPU time plus 2 s,
    so that a crowded machine does not turn a good query into a timeout."""

    seconds: float = 5.0
    max_rows: int = 100_000
    max_bytes: int = 32_000_000
    build_seconds: float = 30.0

    @property
    def wall_seconds(self) -> float:
        """Seconds after which the parent kills the child."""
        return 4 * self.seconds + 2


@dataclass(frozen=True)
class QueryResult:
    """Rows of a query (``ok``), or why there are none. ``more``: the row limit cut the result off.

    ``unavailable`` is trouble with the database or the sandbox, everything else is the query's own doing.
    """

    status: Status
    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    more: bool = False
    message: str = ""

    @property
    def ok(self) -> bool:
        """True when the query ran to its end or to the row limit."""
        return self.status == "ok"


def decode(body: bytes) -> QueryResult:
    """A child's reply as a result; anything that is not exactly of that form counts as a crash of the child."""
    try:
        message = json.loads(body)
        return _checked(message)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        return QueryResult("crashed", message=f"unreadable reply of the sandbox: {type(error).__name__}")


def _checked(message: Mapping[str, Any]) -> QueryResult:
    status = message["status"]
    if status not in get_args(Status):
        raise ValueError(status)
    if status != "ok":
        return QueryResult(status, message=str(message.get("message", ""))[:600])
    columns = tuple(str(name) for name in message["columns"])
    rows = tuple(tuple(_cell(cell) for cell in row) for row in message["rows"])
    if any(len(row) != len(columns) for row in rows):
        raise ValueError("ragged rows")
    return QueryResult("ok", columns, rows, message["more"] is True)


def _cell(value: Any) -> Cell:
    if value is None or type(value) in (int, float, str):
        return value  # type: ignore[no-any-return]
    if isinstance(value, list) and len(value) == 1:
        return base64.b64decode(value[0], validate=True)
    raise ValueError("not a cell")
