"""Who listens to the progress of runs in this process: the command line does, Dagster's own workers do not.

A fault of the listener never touches the run.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from lic_pipeline.simulation.engine.outcome import OnProgress, Progress

_listeners: list[OnProgress] = []
logger = logging.getLogger("lic")


@contextmanager
def listening(listener: OnProgress) -> Iterator[None]:
    """Have ``listener`` called with the progress of every run while the block lasts."""
    _listeners.append(listener)
    try:
        yield
    finally:
        if listener in _listeners:  # Not when it failed and was dropped.
            _listeners.remove(listener)


def notify(progress: Progress) -> None:
    """Pass progress on to all listeners; one that raises is dropped with a warning."""
    for listener in list(_listeners):
        try:
            listener(progress)
        except Exception as error:
            _listeners.remove(listener)
            logger.warning("the progress display failed and was switched off: %s", error)
