"""The ledger as a resource: one opened per use, closed when the block ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from lic_pipeline.models.ledger.ledger import Ledger
from resources.home import HomeResource


class LedgerResource(dg.ConfigurableResource[None]):
    """Opens the ledger of the home folder, or the database that LIC_LEDGER_URL names."""

    home: HomeResource

    @contextmanager
    def open(self) -> Iterator[Ledger]:
        """An open ledger; everything is durable and claims are given back when the block ends."""
        with Ledger.open(self.home.home().ledger_target) as ledger:
            yield ledger
