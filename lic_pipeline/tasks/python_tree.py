"""``ast.parse`` for use from many threads. What a tree means is the caller's business.

CPython 3.11 counts the nesting of a tree it builds in one place for all threads: a thread switch in the middle (the
garbage collector may cause one) raises SystemError in whoever comes second. Builds go one at a time here, and one
disturbed by somebody who does not use this module is repeated.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable
from typing import TypeVar

_ONE_AT_A_TIME = threading.Lock()
_ATTEMPTS = 20
_Tree = TypeVar("_Tree")


def parse_python(source: str) -> ast.Module:
    """The tree of a program. Raises SyntaxError, ValueError, RecursionError or MemoryError as ``ast.parse`` does."""
    return _build(lambda: ast.parse(source))


def parse_expression(source: str) -> ast.Expression:
    """The tree of one expression. Raises as ``parse_python`` does."""
    return _build(lambda: ast.parse(source, mode="eval"))


def _build(parse: Callable[[], _Tree]) -> _Tree:
    for _ in range(_ATTEMPTS):
        try:
            with _ONE_AT_A_TIME:
                return parse()
        except SystemError:
            continue
    raise RecursionError("the tree could not be built")
