"""The front door for Dagster: every asset, check, job, sensor and resource, and nothing that is defined here."""

from __future__ import annotations

import warnings

import dagster as dg

from lic_pipeline.config import load_env_file

warnings.filterwarnings("ignore", category=dg.BetaWarning)
warnings.filterwarnings("ignore", category=dg.PreviewWarning)
load_env_file()

from assets import automation, benchmarks, judging, metrics, reports, scoring, sharding, simulation  # noqa: E402
from resources.home import HomeResource  # noqa: E402
from resources.ledger import LedgerResource  # noqa: E402

HOME = HomeResource()

defs = dg.Definitions(
    assets=[
        *benchmarks.RAW_ASSETS,
        benchmarks.instructions,
        sharding.sharded_instructions,
        sharding.approved_instructions,
        simulation.conversations,
        judging.judgements,
        scoring.scoring,
        metrics.metrics,
        reports.benchmark_report,
        reports.validation_report,
    ],
    jobs=automation.JOBS,
    sensors=automation.SENSORS,
    schedules=automation.SCHEDULES,
    resources={"home": HOME, "ledger": LedgerResource(home=HOME)},
    executor=dg.in_process_executor,
)
