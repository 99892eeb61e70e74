"""Design randomness: every draw derived from a hash, none global (measurement: randomness).

No model and no prompt enters, so that all models meet the same permutations, seeds and item order.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


def derived_seed(*parts: str | int) -> int:
    """A 63-bit seed from the given parts; the same parts give the same seed on every machine."""
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") >> 1


def uniform(*parts: str | int) -> float:
    """A number in [0, 1) from the given parts."""
    return (derived_seed(*parts) >> 10) / float(1 << 53)


def shuffled(items: Sequence[Item], *parts: str | int) -> list[Item]:
    """A permutation of ``items`` drawn from the given parts."""
    order = list(items)
    random.Random(derived_seed(*parts)).shuffle(order)
    return order


def seeded_order(ids: Sequence[str], seed: int, task: str) -> list[str]:
    """One order of the items of a task: the first K are a subset of the first K + 1, whatever else is present."""
    return sorted(ids, key=lambda name: (derived_seed("item-order", seed, task, name), name))
