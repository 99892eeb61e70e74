"""Stage 6: the plain report, markdown and CSV."""

import dagster as dg

from assets.metrics import FOLLOWS_SCORES
from lic_pipeline.metrics.tables import METRIC_TABLES
from lic_pipeline.metrics.warehouse import open_warehouse
from lic_pipeline.report.write import write_report
from resources.home import HomeResource


@dg.asset(
    deps=[dg.AssetKey(spec.name) for spec in METRIC_TABLES],
    group_name="reports",
    kinds={"markdown"},
    automation_condition=FOLLOWS_SCORES,
)
def benchmark_report(home: HomeResource) -> dg.MaterializeResult:
    """Report of the published numbers: markdown to read, CSV to compute with."""
    place = home.home()
    with open_warehouse(place) as connection:
        written = write_report(place, connection)
    path = next(file for file in written if file.suffix == ".md")
    return dg.MaterializeResult(
        metadata={
            "path": dg.MetadataValue.path(str(path)),
            "files": len(written),
            "report": dg.MetadataValue.md(path.read_text(encoding="utf-8")),
        }
    )
