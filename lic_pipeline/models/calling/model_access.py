"""All models of one run: a call path per entry, one limit per provider and key, one budget, one heartbeat.

The run as a whole may have a limit too: calls in flight to whichever model.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from lic_pipeline.models.budget import Budget, BudgetWatch
from lic_pipeline.models.calling.call_path import CallPath
from lic_pipeline.models.calling.concurrency_limit import AdaptiveLimit
from lic_pipeline.models.calling.heartbeat import heartbeat
from lic_pipeline.models.clients import open_client
from lic_pipeline.models.keys import provider_key
from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.registry import ModelEntry

logger = logging.getLogger("lic")


class ModelAccess:
    """Opens call paths on the running event loop. ``close`` it on the same loop."""

    def __init__(self, ledger: Ledger, budget: Budget | None = None, connections: int | None = None) -> None:
        self._ledger = ledger
        self._slots = None if connections is None else asyncio.Semaphore(connections)
        self._watch = None if budget is None else BudgetWatch(budget, ledger)
        self._paths: dict[str, CallPath] = {}
        self._limits: dict[str, AdaptiveLimit] = {}
        self._heartbeat: asyncio.Task[None] | None = None

    @property
    def paths(self) -> Sequence[CallPath]:
        """Open call paths."""
        return list(self._paths.values())

    async def path(self, entry: ModelEntry) -> CallPath:
        """The call path of an entry, opened at its first use. Raises ConfigError (no key, unknown provider)."""
        if entry.alias not in self._paths:
            client = await open_client(entry, entry.limits.concurrency)
            self._paths[entry.alias] = CallPath(
                entry, client, self._limit(entry), self._ledger, self._watch, self._slots
            )
        if self._heartbeat is None:
            self._heartbeat = asyncio.create_task(heartbeat(lambda: self.paths))
        return self._paths[entry.alias]

    async def close(self) -> None:
        """Close every client; one that fails to close is named and does not keep the others open."""
        if self._heartbeat is not None:
            self._heartbeat.cancel()
        for path in self.paths:
            try:
                await path.close()
            except Exception as error:
                logger.warning("closing %s failed (%s)", path.entry.alias, type(error).__name__)
        self._paths.clear()

    def _limit(self, entry: ModelEntry) -> AdaptiveLimit:
        name = provider_key(entry)
        if name not in self._limits:
            most = entry.limits.concurrency
            self._limits[name] = AdaptiveLimit(most, lambda: self._ledger.live_runs(name))
        self._limits[name].widen(entry.limits.concurrency)
        return self._limits[name]
