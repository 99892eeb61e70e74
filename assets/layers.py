"""How every stage of items lands: the check decides first, and a version that would block never replaces a good one.

A refused version is kept beside the lake's tables, under ``refused``, for people to look at; nothing reads it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from assets.checks.layer import blocks, layer_check, spec_breaks
from lic_pipeline.config import Home
from lic_pipeline.lake.files import file_sha256
from lic_pipeline.lake.tables import partition_path, write_partition
from lic_pipeline.tables import TableSpec
from resources.tables import status_metadata, version_metadata

REFUSED = "refused"


def write_checked(
    home: Home,
    spec: TableSpec,
    partition: Mapping[str, str],
    rows: Sequence[Mapping[str, Any]],
    check_name: str,
    *,
    expected: tuple[str, ...] = (),
    lost: Sequence[tuple[str, str]] = (),
    metadata: Mapping[str, Any] | None = None,
) -> dg.MaterializeResult:
    """Write one partition of a layer with its check; when the check blocks, the last good version stays."""
    check = layer_check(check_name, rows, spec_breaks(spec, rows), expected=expected, lost=lost)
    refused = blocks(check)
    path = write_partition(home.lake / REFUSED if refused else home.lake, spec, partition, rows)
    found = {**version_metadata(len(rows), path), **status_metadata(rows), **(metadata or {})}
    if refused:
        kept = partition_path(home.lake, spec.name, partition)
        found["refused"] = f"last good version stays: {kept}" if kept.is_file() else "there is no good version yet"
    return dg.MaterializeResult(
        metadata=found, check_results=[check], data_version=dg.DataVersion(file_sha256(path)[:16])
    )
