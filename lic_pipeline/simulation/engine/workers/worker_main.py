"""A worker process: ``python -m lic_pipeline.simulation.engine.workers.worker_main``.

The order comes on stdin, reports go to stdout.

Its stdin stays open as long as the first process lives; when it is closed, nothing new is begun and what is under way
is finished. SIGTERM ends it at once, as it ends every run. Both pipes are the workers' alone: a system under test that
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
from lic_pipeline.simulation.engine.engine import run
from lic_pipeline.simulation.engine.outcome import COUNTS, Progress
from lic_pipeline.simulation.engine.progress_listeners import listening
from lic_pipeline.simulation.engine.workers.worker_assignment import WorkerAssignment

REPORT_SECONDS = 0.2


class Reporter:
    """Tells the first process how far this one is: a line at most every ``REPORT_SECONDS``, and one at the end."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._last: Progress | None = None
        self._said = 0.0

    def on_progress(self, progress: Progress) -> None:
        """A listener to the run."""
        self._last = progress
        if time.monotonic() - self._said >= REPORT_SECONDS:
            self.send_counts()

    def send_counts(self) -> None:
        """Report the latest counts."""
        if self._last is not None:
            self._said = time.monotonic()
            self._last.unpriced_tokens = METER.unpriced_tokens
            self.send({"counts": {name: getattr(self._last, name) for name in COUNTS}})

    def send(self, message: dict[str, Json]) -> None:
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
    assignment = WorkerAssignment.model_validate_json(told)
    closed = threading.Event()
    threading.Thread(target=_until_closed, args=(lifeline, closed), daemon=True).start()
    reporter = Reporter(pipe)
    try:
        with Ledger.open(assignment.ledger) as ledger, listening(reporter.on_progress):
            run(
                assignment.plan(), ledger, assignment.lake,
                max_connections=assignment.connections, budget=assignment.budget, stopped=closed.is_set,
            )  # fmt: skip
    except DriftError as error:
        reporter.send({"error": "DriftError", "with": [error.conversation_id, error.key, error.field]})
        return error.exit_code
    except LicError as error:
        reporter.send({"error": type(error).__name__, "with": [str(error)]})
        return error.exit_code
    finally:
        reporter.send_counts()
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
