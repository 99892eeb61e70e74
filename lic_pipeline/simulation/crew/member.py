"""A process of a crew: ``python -m lic_pipeline.simulation.crew.member``, the order on stdin, reports on stdout.

Its stdin stays open as long as the first process lives; when it is closed, nothing new is begun and what is under way
is finished. SIGTERM ends it at once, as it ends every run.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

from lic_pipeline.errors import DriftError, LicError
from lic_pipeline.models.budget import METER
from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.records import Json
from lic_pipeline.simulation.crew.order import Order
from lic_pipeline.simulation.engine import run
from lic_pipeline.simulation.outcome import COUNTS, Progress
from lic_pipeline.simulation.progress import listening

REPORT_SECONDS = 0.2


class Reporter:
    """Tells the first process how far this one is: a line at most every ``REPORT_SECONDS``, and one at the end."""

    def __init__(self) -> None:
        self._last: Progress | None = None
        self._said = 0.0

    def heard(self, progress: Progress) -> None:
        """A listener to the run."""
        self._last = progress
        if time.monotonic() - self._said >= REPORT_SECONDS:
            self.say()

    def say(self) -> None:
        """Report the latest counts."""
        if self._last is not None:
            self._said = time.monotonic()
            self._last.unpriced_tokens = METER.unpriced_tokens
            _tell({"counts": {name: getattr(self._last, name) for name in COUNTS}})


def main() -> int:
    """Carry out the order; the exit code is that of the error, if one ended the run."""
    order = Order.model_validate_json(sys.stdin.buffer.readline())
    closed = threading.Event()
    threading.Thread(target=_until_closed, args=(closed,), daemon=True).start()
    reporter = Reporter()
    try:
        with Ledger.open(order.ledger) as ledger, listening(reporter.heard):
            run(
                order.plan(), ledger, order.lake,
                max_connections=order.connections, budget=order.budget, stopped=closed.is_set,
            )  # fmt: skip
    except DriftError as error:
        _tell({"error": "DriftError", "with": [error.conversation_id, error.key, error.field]})
        return error.exit_code
    except LicError as error:
        _tell({"error": type(error).__name__, "with": [str(error)]})
        return error.exit_code
    finally:
        reporter.say()
    return 0


def _until_closed(closed: threading.Event) -> None:
    # The descriptor itself: a thread that waits inside sys.stdin would keep the interpreter from ending.
    while os.read(0, 4096):
        continue
    closed.set()


def _tell(message: dict[str, Json]) -> None:
    try:
        os.write(1, json.dumps(message).encode() + b"\n")
    except OSError:
        return  # Nobody listens any more: what was done is in the ledger.


if __name__ == "__main__":
    raise SystemExit(main())
