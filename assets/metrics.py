"""Stage 5: metric tables, checked and published in one transaction of the warehouse file."""

from collections.abc import Iterator

import dagster as dg
import duckdb

from assets.checks.metrics import metrics_check
from lic_pipeline.metrics.build import build_metrics
from lic_pipeline.metrics.inputs import input_tables
from lic_pipeline.metrics.metric_tables import METRIC_TABLES
from lic_pipeline.metrics.warehouse import publish_warehouse, quoted
from lic_pipeline.verification.bookkeeping.fingerprints import METRICS_VERSION
from resources.home import HomeResource
from resources.tables import definition_metadata, version_metadata

FOLLOWS_SCORES = (
    dg.AutomationCondition.eager().without(~dg.AutomationCondition.any_deps_missing()).with_label("follows scores")
)
"""Plain eager would never fire while an opted-out model is a missing partition."""


class _RefusedError(Exception):
    """A table breaks its rules: nothing is published."""


@dg.multi_asset(
    name="metrics",
    specs=[
        dg.AssetSpec(
            spec.name,
            deps=[dg.AssetKey("scores")],
            group_name="metrics",
            kinds={"duckdb"},
            description=spec.description,
            code_version=str(METRICS_VERSION),
            metadata=definition_metadata(spec, f"lic.main.{spec.name}"),
            automation_condition=FOLLOWS_SCORES,
        )
        for spec in METRIC_TABLES
    ],
    check_specs=[
        dg.AssetCheckSpec(
            "within_range",
            asset=spec.name,
            blocking=True,
            description="Ranges, required columns, no NaN, unique key, and the relations between the columns.",
        )
        for spec in METRIC_TABLES
    ],
    pool="warehouse",
)
def metrics(home: HomeResource) -> Iterator[dg.MaterializeResult]:
    """Rebuild every metric table from the manifests and scores in the lake; when one breaks its rules, none is
    published and the last good file stays.
    """
    place = home.home()
    found: dict[str, tuple[int, dg.AssetCheckResult]] = {}

    def change(connection: duckdb.DuckDBPyConnection) -> None:
        build_metrics(connection)
        for spec in METRIC_TABLES:
            counted = connection.execute(f"SELECT count(*) FROM {quoted(spec.name)}").fetchone()
            found[spec.name] = counted[0] if counted else 0, metrics_check(connection, spec)
        if not all(check.passed for _, check in found.values()):
            raise _RefusedError

    refused = {}
    try:
        publish_warehouse(place, input_tables(place.lake), change)
    except _RefusedError:
        refused = {"refused": "a table breaks its rules: nothing was published, the last good file stays"}
    for name, (rows, check) in found.items():
        metadata = {**version_metadata(rows, place.warehouse), **refused}
        yield dg.MaterializeResult(asset_key=name, metadata=metadata, check_results=[check])
