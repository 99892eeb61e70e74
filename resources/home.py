"""The folder everything produced lives under, as a resource; empty = found as the command line finds it."""

from __future__ import annotations

from pathlib import Path

import dagster as dg

from lic_pipeline.config import Home


class HomeResource(dg.ConfigurableResource[None]):
    """LIC_HOME. ``path`` empty = the environment variable, else the nearest ``.lic``."""

    path: str = ""

    def home(self) -> Home:
        """The home folder, created and proved writable. Raises StorageError."""
        found = Home(Path(self.path).expanduser().resolve()) if self.path else Home.locate()
        return found.prepare()
