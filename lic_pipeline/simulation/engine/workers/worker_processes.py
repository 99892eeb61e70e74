"""The other processes of a run, as its first process sees them: started, heard, ended."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lic_pipeline import errors
from lic_pipeline.errors import InterruptedRunError, LicError
from lic_pipeline.models.budget import Budget
from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.simulation.engine.outcome import Progress
from lic_pipeline.simulation.engine.workers.worker_assignment import WorkerAssignment
from lic_pipeline.simulation.plan.conversation_plan import Plan

SECONDS_TO_END = 4.0
"""How long an interrupted process may take to store what it has before it is killed."""

COMMAND = (sys.executable, "-P", "-m", "lic_pipeline.simulation.engine.workers.worker_main")
STOPS_ALL = ("BudgetReachedError", "ProviderStoppedError", "DriftError", "StorageError", "ConfigError")
"""Errors of one process that are met by the others too: the whole run stops with them."""

logger = logging.getLogger("lic")


class WorkerProcesses:
    """The processes beside this one. ``own_share``: connections of this one; ``fatal``: what stopped another."""

    def __init__(self, assignments: list[WorkerAssignment], own_share: int) -> None:
        self.own_share = own_share
        self.fatal: LicError | None = None
        self._assignments = assignments
        self._workers: list[subprocess.Popen[bytes]] = []
        self._readers: list[threading.Thread] = []
        self._ended = False

    @classmethod
    def of(
        cls, plan: Plan, ledger: Ledger, lake: Path, connections: int, budget: Budget | None, processes: int
    ) -> WorkerProcesses:
        """Worker processes for ``processes`` in all, which share the connections; none beside this one for 1."""
        shares = [connections // processes + (number < connections % processes) for number in range(processes)]
        assignments = [
            WorkerAssignment.of(plan, ledger.address, lake.absolute(), share, budget) for share in shares[1:]
        ]
        return cls(assignments, shares[0])

    @contextmanager
    def running(self, progress: Progress) -> Iterator[None]:
        """Have the workers work while the block lasts; its counts go to ``progress.beside``.

        At the end of the block they finish what is under way; an interrupt ends them at once, then as well.
        """
        try:
            for number, assignment in enumerate(self._assignments):
                self._start(number, assignment, progress)
            yield
            self._finish()
        except InterruptedRunError:
            raise
        except Exception:
            self._finish()
            raise
        finally:
            self._end()

    def _start(self, number: int, assignment: WorkerAssignment, progress: Progress) -> None:
        # The process is this program again and signs its own calls, so it has our environment, keys included.
        # It imports from where we do: a system of the user's own may stand where only our caller has told us to look.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
        # A session of its own: Ctrl-C reaches the first process alone, which then ends the others in order.
        try:
            worker = subprocess.Popen(
                COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
            )
        except OSError as error:
            why = error.strerror or error
            logger.warning("a process of the run could not be started (%s); the others go on for it", why)
            return
        self._workers.append(worker)
        reader = threading.Thread(target=self._read_reports, args=(number, worker, assignment, progress), daemon=True)
        reader.start()
        self._readers.append(reader)

    def _read_reports(
        self, number: int, worker: subprocess.Popen[bytes], assignment: WorkerAssignment, progress: Progress
    ) -> None:
        assert worker.stdin is not None
        assert worker.stdout is not None
        with suppress(BrokenPipeError, ValueError):  # it has died, or the run is over already
            worker.stdin.write(assignment.model_dump_json().encode() + b"\n")
            worker.stdin.flush()
        why = ""
        for line in worker.stdout:
            message = json.loads(line)
            if "counts" in message:
                progress.beside[number] = Progress(progress.label, progress.total, **message["counts"])
            elif message["error"] in STOPS_ALL:
                self.fatal = self.fatal or getattr(errors, message["error"])(*message["with"])
            else:
                why = f"{message['error']}: {message['with'][0]}"
        if worker.wait() and not self._ended and self.fatal is None:
            why = why or f"exit code {worker.returncode}"
            logger.warning("a process of the run has ended (%s); the others go on for it", why)

    def _end(self) -> None:
        self._ended = True
        for worker in self._workers:
            worker.terminate()
        try:
            for worker in self._workers:
                with suppress(subprocess.TimeoutExpired):
                    worker.wait(SECONDS_TO_END)
        finally:
            # Also when a second Ctrl-C cuts the waiting short.
            for worker in self._workers:
                worker.kill()
        self._finish()

    def _finish(self) -> None:
        for worker in self._workers:
            assert worker.stdin is not None
            with suppress(BrokenPipeError):
                worker.stdin.close()
        for reader in self._readers:
            reader.join()
