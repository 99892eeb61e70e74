"""Stage 6: the plain report, markdown and CSV."""

from __future__ import annotations

from typing import Any

import dagster as dg
from lic_pipeline.report.files import write_report

from assets.metrics import FOLLOWS_SCORES
from lic_pipeline.metrics.tables import METRIC_TABLES
from lic_pipeline.metrics.warehouse import open_warehouse
from resources.home import HomeResource


@dg.asset(
    deps=[dg.AssetKey(spec.name) for spec in METRIC_TABLES],
    group_name="reports",
    kinds={"markdown"},
    automation_condition=FOLLOWS_SCORES,
)
def benchmark_report(home: HomeResource) -> dg.MaterializeResult[Any]:
    """Report of the published numbers: markdown to read, CSV to compute with."""
    place = home.home()
    with open_warehouse(place) as connection:
        path = write_report(place, connection)
    return dg.MaterializeResult(
        metadata={
            "path": dg.MetadataValue.path(str(path)),
            "report": dg.MetadataValue.md(path.read_text(encoding="utf-8")),
        }
    )
