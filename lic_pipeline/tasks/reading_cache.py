"""Keeping what a reply was read as: its label, its extraction and its score each ask for the same reading.

Between them come those of the other conversations in flight, so the latest thousand are kept. Long replies are read
anew each time, which bounds what is held however odd the replies are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

MOST = 1024
LONGEST = 20_000
_P = ParamSpec("_P")
_R = TypeVar("_R")


class Kept(Generic[_P, _R]):
    """A function of a text (and of hashable values beside it) that remembers its latest results. For many threads."""

    def __init__(self, read: Callable[Concatenate[str, _P], _R]) -> None:
        self.__doc__ = read.__doc__
        self._read = read
        self._kept = lru_cache(maxsize=MOST)(read)

    def __call__(self, text: str, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """The result, kept or read now."""
        if len(text) > LONGEST:
            return self._read(text, *args, **kwargs)
        return self._kept(text, *args, **kwargs)  # type: ignore[arg-type]

    def cache_clear(self) -> None:
        """Forget all results."""
        self._kept.cache_clear()


class Same:
    """An object as part of a key: equal to itself alone, and alive as long as the key is."""

    __slots__ = ("thing",)

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.thing is self.thing

    def __hash__(self) -> int:
        return id(self.thing)
