"""How many files this process may open: each connection is one, and so are ledger, lake and the graph's own records."""

from __future__ import annotations

import logging
import os
import resource
from collections.abc import Iterable
from contextlib import suppress

from lic_pipeline.errors import ConfigError
from lic_pipeline.models.registry import ModelEntry

LEAST_OF_A_RUN = 26
"""Files a command opens for the smallest run, measured: below this none comes to its end."""

BESIDE_CONNECTIONS = 8
"""Files a run opens after its ledger and beside its connections: the lake's, the database's, the graph's."""

logger = logging.getLogger("lic")


def require_files(number: int) -> None:
    """Raise ConfigError where so many further files cannot be opened."""
    if _further(number) < number:
        raise ConfigError(
            f"the limit of open files is too low: {_limit()}, and a run needs {_open_now() + number} or more; raise it "
            "with `ulimit -n 1024` and run the command again"
        )


def calls_in_reach(wanted: int, entries: Iterable[ModelEntry]) -> int:
    """Calls that may be in flight to these models, at most ``wanted``; fewer, and a warning, where the limit is low.

    Every client keeps its connections. Raises ConfigError where not even one each can be opened.
    """
    clients = len({entry.alias for entry in entries if not entry.is_persona and entry.provider != "python"})
    if not clients:
        return wanted
    require_files(clients + BESIDE_CONNECTIONS)
    room = (_further(wanted * clients + BESIDE_CONNECTIONS) - BESIDE_CONNECTIONS) // clients
    if room < wanted:
        told = (
            "the limit of open files (%s) leaves room for %d calls in flight instead of %d; raise it with `ulimit -n`"
        )
        logger.warning(told, _limit(), room, wanted)
    return min(room, wanted)


def _further(wanted: int) -> int:
    """How many of ``wanted`` further files may be opened. The process raises its own limit as far as it is let."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = _open_now() + wanted
    if soft != resource.RLIM_INFINITY and needed > soft:
        raised = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
            soft = raised
    return wanted if soft == resource.RLIM_INFINITY else min(wanted, soft - _open_now())


def _limit() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _open_now() -> int:
    with suppress(OSError):
        return len(os.listdir("/dev/fd")) - 1  # one is the listing's own
    return 0
