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
from lic_pipeline.simulation.crew.order import Order
from lic_pipeline.simulation.outcome import Progress
from lic_pipeline.simulation.plan import Plan

SECONDS_TO_END = 4.0
"""How long an interrupted process may take to store what it has before it is killed."""

COMMAND = (sys.executable, "-P", "-m", "lic_pipeline.simulation.crew.member")
STOPS_ALL = ("BudgetReachedError", "ProviderStoppedError", "DriftError", "StorageError", "ConfigError")
"""Errors of one process that are met by the others too: the whole run stops with them."""

logger = logging.getLogger("lic")


class Crew:
    """The processes beside this one. ``own_share``: connections of this one; ``fatal``: what stopped another."""

    def __init__(self, orders: list[Order], own_share: int) -> None:
        self.own_share = own_share
        self.fatal: LicError | None = None
        self._orders = orders
        self._members: list[subprocess.Popen[bytes]] = []
        self._ears: list[threading.Thread] = []
        self._ended = False

    @classmethod
    def of(
        cls, plan: Plan, ledger: Ledger, lake: Path, connections: int, budget: Budget | None, processes: int
    ) -> Crew:
        """A crew for ``processes`` in all, which share the connections; none beside this one for 1."""
        shares = [connections // processes + (number < connections % processes) for number in range(processes)]
        orders = [Order.of(plan, ledger.address, lake.absolute(), share, budget) for share in shares[1:]]
        return cls(orders, shares[0])

    @contextmanager
    def at_work(self, progress: Progress) -> Iterator[None]:
        """Have the crew work while the block lasts; its counts go to ``progress.beside``.

        At the end of the block they finish what is under way; an interrupt ends them at once, then as well.
        """
        try:
            for number, order in enumerate(self._orders):
                self._start(number, order, progress)
            yield
            self._finish()
        except InterruptedRunError:
            raise
        except Exception:
            self._finish()
            raise
        finally:
            self._end()

    def _start(self, number: int, order: Order, progress: Progress) -> None:
        # The process is this program again and signs its own calls, so it has our environment, keys included.
        # It imports from where we do: a system of the user's own may stand where only our caller has told us to look.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
        # A session of its own: Ctrl-C reaches the first process alone, which then ends the others in order.
        try:
            member = subprocess.Popen(
                COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, start_new_session=True
            )
        except OSError as error:
            why = error.strerror or error
            logger.warning("a process of the run could not be started (%s); the others go on for it", why)
            return
        self._members.append(member)
        ear = threading.Thread(target=self._hear, args=(number, member, order, progress), daemon=True)
        ear.start()
        self._ears.append(ear)

    def _hear(self, number: int, member: subprocess.Popen[bytes], order: Order, progress: Progress) -> None:
        assert member.stdin is not None
        assert member.stdout is not None
        with suppress(BrokenPipeError, ValueError):  # it has died, or the run is over already
            member.stdin.write(order.model_dump_json().encode() + b"\n")
            member.stdin.flush()
        why = ""
        for line in member.stdout:
            message = json.loads(line)
            if "counts" in message:
                progress.beside[number] = Progress(progress.label, progress.total, **message["counts"])
            elif message["error"] in STOPS_ALL:
                self.fatal = self.fatal or getattr(errors, message["error"])(*message["with"])
            else:
                why = f"{message['error']}: {message['with'][0]}"
        if member.wait() and not self._ended and self.fatal is None:
            why = why or f"exit code {member.returncode}"
            logger.warning("a process of the run has ended (%s); the others go on for it", why)

    def _end(self) -> None:
        self._ended = True
        for member in self._members:
            member.terminate()
        try:
            for member in self._members:
                with suppress(subprocess.TimeoutExpired):
                    member.wait(SECONDS_TO_END)
        finally:
            # Also when a second Ctrl-C cuts the waiting short.
            for member in self._members:
                member.kill()
        self._finish()

    def _finish(self) -> None:
        for member in self._members:
            assert member.stdin is not None
            with suppress(BrokenPipeError):
                member.stdin.close()
        for ear in self._ears:
            ear.join()
