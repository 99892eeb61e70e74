"""How every stage of items lands: the check decides first, and a version that would block never replaces a good one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from assets.checks.layer import layer_check, spec_breaks
from lic_pipeline.config import Home
from lic_pipeline.lake.tables import partition_path, write_partition
from lic_pipeline.tables import TableSpec
from resources.tables import table_metadata


def land(
    home: Home,
    spec: TableSpec,
    partition: Mapping[str, str],
    rows: Sequence[Mapping[str, Any]],
    check_name: str,
    *,
    expected: tuple[str, ...] = (),
    metadata: Mapping[str, Any] | None = None,
) -> dg.MaterializeResult:
    """Write one partition of a layer with its check; when the check blocks, the last good version stays."""
    check = layer_check(check_name, rows, spec_breaks(spec, rows), expected=expected)
    blocked = not check.passed and check.severity is dg.AssetCheckSeverity.ERROR
    path = partition_path(home.lake, spec.name, partition)
    if not blocked or not path.exists():
        write_partition(home.lake, spec, partition, rows)
    found = {**table_metadata(spec, rows, path), **(metadata or {}), "kept_last_good_version": blocked}
    return dg.MaterializeResult(metadata=found, check_results=[check])
