"""Stage 5: metric tables, published in one transaction of the warehouse file."""

from collections.abc import Iterator

import dagster as dg

from assets.checks.metrics import metrics_check
from lic_pipeline.metrics.build import build_metrics
from lic_pipeline.metrics.inputs import input_tables
from lic_pipeline.metrics.tables import METRIC_TABLES
from lic_pipeline.metrics.warehouse import open_warehouse, publish_warehouse
from resources.home import HomeResource
from resources.tables import column_schema

FOLLOWS_SCORES = dg.AutomationCondition.eager().without(~dg.AutomationCondition.any_deps_missing())
"""Plain eager would never fire while an opted-out model is a missing partition."""


@dg.multi_asset(
    name="metrics",
    specs=[
        dg.AssetSpec(
            spec.name,
            deps=[dg.AssetKey("scores")],
            group_name="metrics",
            kinds={"duckdb"},
            description=spec.description,
            automation_condition=FOLLOWS_SCORES,
        )
        for spec in METRIC_TABLES
    ],
    check_specs=[dg.AssetCheckSpec("within_range", asset=spec.name, blocking=True) for spec in METRIC_TABLES],
    pool="warehouse",
)
def metrics(home: HomeResource) -> Iterator[dg.MaterializeResult]:
    """Rebuild every metric table from the manifests and scores in the lake, and publish them together."""
    place = home.home()
    publish_warehouse(place, input_tables(place.lake), build_metrics)
    with open_warehouse(place) as connection:
        for spec in METRIC_TABLES:
            counted = connection.execute(f'SELECT count(*) FROM "{spec.name}"').fetchone()
            yield dg.MaterializeResult(
                asset_key=spec.name,
                metadata={
                    "dagster/row_count": counted[0] if counted else 0,
                    "dagster/column_schema": column_schema(spec),
                    "path": dg.MetadataValue.path(str(place.warehouse)),
                },
                check_results=[metrics_check(connection, spec)],
            )
