"""Seeds of resampling, derived from the values that are resampled: the same scores give the same digits, whatever the
experiment is called and however many others are computed beside it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

_DIGITS = 6
"""Sums of equal scores may differ in their last bits; no score differs from another by less than this."""


def seed_of(purpose: str, strata: Sequence[ArrayLike]) -> int:
    """A 128-bit seed from what is done and the values it is done to; another value, order or stratum gives another."""
    found = hashlib.sha256(purpose.encode())
    for stratum in strata:
        values = np.round(np.asarray(stratum, dtype=np.float64), _DIGITS) + 0.0  # no -0.0
        found.update(f"|{values.shape}|".encode())
        found.update(np.ascontiguousarray(values, dtype="<f8").tobytes())
    return int.from_bytes(found.digest()[:16], "big")


def generator(purpose: str, strata: Sequence[ArrayLike]) -> np.random.Generator:
    """A random generator of its own for these values (PCG64, so the stream is the same on every platform)."""
    return np.random.Generator(np.random.PCG64(seed_of(purpose, strata)))
