"""Stage 6: the plain report (markdown and CSV), and the report of what Great Expectations found in the tables."""

import dagster as dg

from assets.metrics import FOLLOWS_SCORES
from lic_pipeline.metrics.metric_tables import METRIC_TABLES
from lic_pipeline.metrics.warehouse import open_warehouse
from lic_pipeline.report.write import write_report
from lic_pipeline.tables.items import APPROVED_INSTRUCTIONS, SHARDED_INSTRUCTIONS
from lic_pipeline.tables.runs import EXTRACTED_ANSWERS
from lic_pipeline.tables.scores import PLANNED, SCORES
from resources.home import HomeResource
from resources.tables import records_table
from resources.validation import validate_tables, write_validation

VALIDATED = (SHARDED_INSTRUCTIONS, APPROVED_INSTRUCTIONS, PLANNED, EXTRACTED_ANSWERS, SCORES, *METRIC_TABLES)
"""Tables of the published warehouse that are validated, in reading order."""


@dg.asset(
    deps=[dg.AssetKey(spec.name) for spec in METRIC_TABLES],
    group_name="reports",
    kinds={"markdown", "csv"},
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


@dg.asset(
    deps=[dg.AssetKey(spec.name) for spec in METRIC_TABLES],
    group_name="reports",
    kinds={"greatexpectations", "pandas"},
    automation_condition=FOLLOWS_SCORES,
    check_specs=[
        dg.AssetCheckSpec(
            "tables_as_specified",
            asset="validation_report",
            description="Every published table has the dagster-pandas type and passes the Great Expectations suite "
            "made from its specification.",
        )
    ],
)
def validation_report(home: HomeResource) -> dg.MaterializeResult:
    """Published tables held against their specifications by Great Expectations and by their dagster-pandas types."""
    place = home.home()
    with open_warehouse(place) as connection:
        found = validate_tables(connection, VALIDATED)
    summary, markdown = write_validation(place, found)
    failed = [(table.name, what) for table in found for what in table.failures]
    return dg.MaterializeResult(
        metadata={
            "tables": len(found),
            "expectations": sum(table.expectations for table in found),
            "failed": len(failed),
            "path": dg.MetadataValue.path(str(markdown)),
            "json": dg.MetadataValue.path(str(summary)),
            "summary": dg.MetadataValue.md(markdown.read_text(encoding="utf-8")),
        },
        check_results=[
            dg.AssetCheckResult(
                check_name="tables_as_specified",
                passed=not failed,
                severity=dg.AssetCheckSeverity.ERROR,
                description=f"{len(failed)} expectations failed." if failed else f"All {len(found)} tables pass.",
                metadata={"failures": records_table(("table", "what"), failed)} if failed else {},
            )
        ],
    )
