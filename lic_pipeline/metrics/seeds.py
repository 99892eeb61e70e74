"""Seeds of resampling, derived from what is computed, never from the order or number of other computations."""

from __future__ import annotations

import hashlib

import numpy as np


def seed_of(*identity: str) -> int:
    """A 128-bit seed from the parts of a cell's identity; another part, order or boundary gives another seed."""
    joined = "".join(f"{len(part)}:{part}" for part in identity)
    return int.from_bytes(hashlib.sha256(joined.encode()).digest()[:16], "big")


def generator(*identity: str) -> np.random.Generator:
    """A random generator of its own for the identity (PCG64, so the stream is the same on every platform)."""
    return np.random.Generator(np.random.PCG64(seed_of(*identity)))
