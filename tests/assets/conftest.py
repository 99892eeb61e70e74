"""Runs of the real graph on a real instance under a home of the test module's own."""

from __future__ import annotations

from collections.abc import Iterator

import dagster as dg
import pytest
from support.graph import MODELS, TINY

from lic_pipeline.cli.shared.dagster_jobs import JobLauncher, job_launcher
from lic_pipeline.config import Home
from lic_pipeline.simulation.plan.stored_experiments import keep_experiment


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home with the tiny experiment and a few models of its own."""
    root = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LIC_HOME", str(root))
        for name in ("LIC_DATA", "LIC_TOLERATED_SHARE", "LIC_LEDGER_URL", "DAGSTER_HOME"):
            patch.delenv(name, raising=False)
        found = Home.locate().prepare()
        (root / "models.yaml").write_text(MODELS, encoding="utf-8")
        keep_experiment(found, TINY)
        patch.setenv("DAGSTER_HOME", str(found.dagster))
        yield found


@pytest.fixture(scope="module")
def launch(home: Home) -> Iterator[JobLauncher]:
    """A launcher on the instance of this home; math is prepared."""
    with job_launcher(home) as found:
        found.prepare("math")
        yield found


@pytest.fixture(scope="module")
def instance(launch: JobLauncher) -> dg.DagsterInstance:
    """The instance the launcher works on."""
    return launch._instance
