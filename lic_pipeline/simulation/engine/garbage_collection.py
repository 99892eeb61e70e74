"""The interpreter's cycle collector during a run: rarer, and without a look at what stood before.

A run makes many short-lived objects and next to no cycles. With the default thresholds the collector goes through
everything that is alive hundreds of times, which costs a tenth of the engine's time.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_THRESHOLDS = (50_000, 20, 50)


@contextmanager
def rare_garbage_collection() -> Iterator[None]:
    """Collect rarely inside; the thresholds and what the collector looks at are as before afterwards."""
    before = gc.get_threshold()
    untouched = gc.get_freeze_count() == 0
    if untouched:
        gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if untouched:
            gc.unfreeze()
