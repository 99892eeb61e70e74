"""What runs of the graph in tests use: a tiny experiment, models of our own, raw rows that are good or cut short."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg

from lic_pipeline.records import Setting
from lic_pipeline.simulation.plan.experiment import Experiment

TINY = Experiment(
    name="tiny", settings=(Setting.FULL, Setting.SHARDED, Setting.RECAP), runs=2, limit=2, simulator="scripted"
)
MODELS = """
models:
  - {alias: "Örg/Odd, Model|x: 1", id: "python:support.slow_model.answer"}
  - {alias: terminated, id: "python:support.slow_model.terminated"}
  - {alias: thinking, id: "python:support.slow_model.thinking"}
"""


def math_rows(folder: Path, count: int, broken: int) -> Path:
    """A folder for LIC_DATA with rows of our own in GSM8K's format, the last of which are cut short."""
    rows = [
        json.dumps(
            {"question": f"Ana has {n} pens and buys 2 more. How many has she?", "answer": f"{n}+2\n#### {n + 2}"}
        )
        for n in range(count)
    ]
    rows[count - broken :] = [row[:25] for row in rows[count - broken :]]
    path = folder / "gsm8k" / "test.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return folder


def plain(metadata: Mapping[str, dg.MetadataValue[Any]]) -> dict[str, Any]:
    """Values of an event's metadata; of tables, their rows."""
    return {
        name: [dict(record.data) for record in value.records]
        if isinstance(value, dg.TableMetadataValue)
        else value.value
        for name, value in metadata.items()
    }
