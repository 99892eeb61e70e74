"""Untrusted SQL on SQLite: reading only, in a killable child, under limits. ``run_query`` is the way in.

What a result means for a score is the database task's business, not this package's.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from functools import cache

from lic_pipeline.sandbox.sql.pool import SqlPool
from lic_pipeline.sandbox.sql.result import Cell, Limits, QueryResult, Row
from lic_pipeline.sandbox.sql.source import Source, SourceError, file_source, find_databases, script_source

__all__ = [
    "Cell",
    "Limits",
    "QueryResult",
    "Row",
    "Source",
    "SourceError",
    "SqlPool",
    "file_source",
    "find_databases",
    "run_cached",
    "run_query",
    "script_source",
    "shared_pool",
]

DEFAULT_LIMITS = Limits()
_CACHE_CELLS = 4_000_000
_CACHED: OrderedDict[tuple[str, str, Limits], QueryResult] = OrderedDict()
_CACHED_CELLS = [0]
_LOCK = [threading.Lock()]


def _new_lock() -> None:
    _LOCK[0] = threading.Lock()


os.register_at_fork(after_in_child=_new_lock)


@cache
def shared_pool() -> SqlPool:
    """The pool of this process."""
    return SqlPool()


def run_query(source: Source, sql: str, limits: Limits = DEFAULT_LIMITS) -> QueryResult:
    """Run one statement on a database. Never raises for anything the statement does or is."""
    return shared_pool().query(source, sql, limits)


def run_cached(source: Source, sql: str, limits: Limits = DEFAULT_LIMITS) -> QueryResult:
    """As ``run_query``, but remembers results by (database identity, statement, limits); meant for gold queries.

    Trouble of the sandbox or of time is not remembered. The memory is bounded by cells, oldest out first.
    """
    key = (source.key, sql, limits)
    with _LOCK[0]:
        found = _CACHED.get(key)
        if found is not None:
            _CACHED.move_to_end(key)
            return found
    result = run_query(source, sql, limits)
    if result.status in ("ok", "error", "denied"):
        with _LOCK[0]:
            if key not in _CACHED:
                _CACHED[key] = result
                _CACHED_CELLS[0] += _cells(result)
            while _CACHED_CELLS[0] > _CACHE_CELLS and _CACHED:
                _CACHED_CELLS[0] -= _cells(_CACHED.popitem(last=False)[1])
    return result


def _cells(result: QueryResult) -> int:
    return 20 + len(result.rows) * max(1, len(result.columns))
