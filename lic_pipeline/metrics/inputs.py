"""The tables every metric starts from, read from the lake: what was planned, scored, extracted and set aside.

Only rows of manifests count; what is merely in the folder does not. Everything here can be rebuilt from the lake.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from lic_pipeline.lake.tables import read_all
from lic_pipeline.logs.tables import IMPORTED_LOGS, LOG_COMPARISON
from lic_pipeline.metrics.measurement_artefact_table import MEASUREMENT_ARTEFACT
from lic_pipeline.metrics.simulator_health import SIMULATOR_EVENTS, simulator_events
from lic_pipeline.tables import TableSpec
from lic_pipeline.tables.items import (
    APPROVED_INSTRUCTIONS,
    BENCHMARK_FILES,
    INSTRUCTIONS,
    PROBLEMS,
    SHARDED_INSTRUCTIONS,
)
from lic_pipeline.tables.runs import EXTRACTED_ANSWERS, MANIFESTS
from lic_pipeline.tables.scores import PLANNED, SCORES

_OF_LOGS = (IMPORTED_LOGS, LOG_COMPARISON, MEASUREMENT_ARTEFACT)
_AS_THEY_ARE = (
    *(SCORES, EXTRACTED_ANSWERS, BENCHMARK_FILES, PROBLEMS, SHARDED_INSTRUCTIONS, APPROVED_INSTRUCTIONS),
    *_OF_LOGS,
)
_SHOWN = ("instruction_id", "task", "benchmark", "source", "gold_score", "status")


def input_tables(lake: Path) -> dict[str, pa.Table]:
    """Tables of the warehouse that are not computed from others, by name, rows in key order.

    ``instructions`` comes without its texts and references: gold answers stay in the lake.
    """
    manifests = read_all(lake, MANIFESTS)
    tables = {spec.name: _ordered(read_all(lake, spec), spec) for spec in _AS_THEY_ARE}
    planned = manifests.select([column.name for column in PLANNED.columns])
    tables[PLANNED.name] = _ordered(planned, PLANNED)
    tables[INSTRUCTIONS.name] = _ordered(read_all(lake, INSTRUCTIONS), INSTRUCTIONS).select(list(_SHOWN))
    tables[SIMULATOR_EVENTS.name] = simulator_events(lake, manifests)
    return tables


def _ordered(table: pa.Table, spec: TableSpec) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in spec.key])
