"""A process of a crew: ``python -m lic_pipeline.simulation.crew.member``, the order on stdin, reports on stdout.

Its stdin stays open as long as the first process lives; when it is closed, nothing new is begun and what is under way
is finished. SIGTERM ends it at once, as it ends every run. Both pipes are the crew's alone: a system under test that
prints writes to stderr, and one that reads finds nothing.
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

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
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
            self.tell({"counts": {name: getattr(self._last, name) for name in COUNTS}})

    def tell(self, message: dict[str, Json]) -> None:
        """Send one message."""
        try:
            os.write(self._pipe, json.dumps(message).encode() + b"\n")
        except OSError:
            return  # Nobody listens any more: what was done is in the ledger.


def main() -> int:
    """Carry out the order; the exit code is that of the error, if one ended the run."""
    told = sys.stdin.buffer.readline()
    if not told:
        return 0  # The run was over before it was told anything.
    lifeline, pipe = _take_pipes()
    order = Order.model_validate_json(told)
    closed = threading.Event()
    threading.Thread(target=_until_closed, args=(lifeline, closed), daemon=True).start()
    reporter = Reporter(pipe)
    try:
        with Ledger.open(order.ledger) as ledger, listening(reporter.heard):
            run(
                order.plan(), ledger, order.lake,
                max_connections=order.connections, budget=order.budget, stopped=closed.is_set,
            )  # fmt: skip
    except DriftError as error:
        reporter.tell({"error": "DriftError", "with": [error.conversation_id, error.key, error.field]})
        return error.exit_code
    except LicError as error:
        reporter.tell({"error": type(error).__name__, "with": [str(error)]})
        return error.exit_code
    finally:
        reporter.say()
    return 0


def _take_pipes() -> tuple[int, int]:
    """Both pipes under descriptors no child inherits; in their places stand an empty stdin and stderr."""
    lifeline, pipe = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return lifeline, pipe


def _until_closed(lifeline: int, closed: threading.Event) -> None:
    # The descriptor itself: a thread that waits inside a file object would keep the interpreter from ending.
    while os.read(lifeline, 4096):
        continue
    closed.set()


if __name__ == "__main__":
    raise SystemExit(main())
