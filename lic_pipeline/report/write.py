"""The plain report: ``report/report.md`` and a CSV file per metric table; no times or hosts, so it is reproducible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb

from lic_pipeline.config import Home
from lic_pipeline.lake.files import write_text
from lic_pipeline.metrics.metric_tables import METRIC_TABLES
from lic_pipeline.metrics.statistics.reliability import binomial_truth
from lic_pipeline.metrics.warehouse import export_csv
from lic_pipeline.report.console import against_full, drop_points
from lic_pipeline.report.experiments import made_by
from lic_pipeline.report.health import COLUMNS as HEALTH
from lic_pipeline.report.health import LIMITS, health_rows
from lic_pipeline.report.quarantine import quarantined
from lic_pipeline.report.render import (
    BANNER,
    DASH,
    INTERVALS,
    Row,
    has_personas,
    instructions_label,
    markdown,
    note,
    number,
    rows_of,
    runs_label,
    setting_label,
    value_with_interval,
)


def write_report(home: Home, connection: duckdb.DuckDBPyConnection) -> list[Path]:
    """Write the report and the CSV files of the metric tables under ``$LIC_HOME/report``; returns their paths.

    Raises ValueError when a value lacks n, N, interval or signature, StorageError when the folder cannot be written.
    """
    report = home.report / "report.md"
    text = report_text(connection, home)
    paths = []
    known = {row[0] for row in connection.execute("SELECT table_name FROM information_schema.tables").fetchall()}
    for spec in METRIC_TABLES:
        if spec.name in known:
            path = home.report / f"{spec.name}.csv"
            export_csv(connection, spec.name, path)
            paths.append(path)
    write_text(report, text)
    return [report, *paths]


def report_text(connection: duckdb.DuckDBPyConnection, home: Home | None = None) -> str:
    """The markdown document of the metric tables in this connection; ``home`` knows how its experiments were made."""
    cells = rows_of(connection, "reliability_by_task")
    lines = ["# Reliability in multi-turn conversation", ""]
    if has_personas(cells):
        lines += [f"> **{markdown(BANNER)}**", ""]
    if not cells:
        lines += ["Nothing is scored yet.", ""]
        return "\n".join(lines)
    lines += [
        "P = mean score (0..100), A90 = 90th percentile over N runs, U90-10 = 90th - 10th percentile over N runs; per "
        "instruction, then the mean over instructions; the mean over tasks is unweighted. n = instructions, N = runs.",
        "",
        INTERVALS,
        "",
        "A falling P in the middle of the scale raises U90-10 by itself: beside U stands what it would be if every "
        "instruction had the same chance.",
        "",
    ]
    for experiment in sorted({str(row["experiment"]) for row in cells}):
        lines += [f"## Experiment {markdown(experiment)}", ""]
        if home is not None and (made := made_by(home, experiment)):
            lines += [made, ""]
        lines += _experiment(connection, experiment)
    held: Iterator[list[object]] = (list(row) for row in quarantined(connection))
    lines += _section("Quarantined", ["layer", "task", "reason", "rows"], held, "Nothing is quarantined.")
    lines += ["## Files", "", *(f"- `{spec.name}.csv`: {spec.description}" for spec in METRIC_TABLES), ""]
    return "\n".join(lines)


def _experiment(connection: duckdb.DuckDBPyConnection, experiment: str) -> Iterator[str]:
    def own(table: str) -> list[Row]:
        return [row for row in rows_of(connection, table) if row["experiment"] == experiment]

    cells = own("reliability_by_task")
    signatures = {text: i + 1 for i, text in enumerate(sorted({str(row["signature"]) for row in cells}))}
    yield from _section("Mean over tasks", _MODELS, (_model(row) for row in own("reliability_by_model")))
    yield from _section("Against FULL", _AGAINST, (_drop(row) for row in own("degradation")))
    yield from _section("Per task", _CELLS, (_cell(row, signatures) for row in cells))
    yield from _section("Runs of one instruction (tasks scored 0 or 100)", _KINDS, _kinds(cells))
    yield from _section("Missing", _MISSING, (_missing(row) for row in own("missing")), "Nothing is missing.")
    health = list(health_rows(own("simulator_health"), cells))
    yield from _section("Roles played by models", HEALTH, iter(health))
    if health:
        yield from [LIMITS, ""]
    yield from _section("Flags", _FLAGS, (_flag(row) for row in own("flags")), "No flags.")
    yield from ["### Signatures", "", *(f"{i}. {markdown(text)}" for text, i in signatures.items()), ""]


_MODELS = ["model", "setting", "P", "A90", "U90-10", "n", "N", "tasks", "interval of P", "note"]
_AGAINST = ["model", "setting", "% of FULL", "points", "n", "N", "p", "p (Holm)", "left out of the ratio", "note"]
_CELLS = [
    "model",
    "task",
    "setting",
    "P",
    "A90",
    "U90-10",
    "run again",
    "n",
    "N",
    "interval of P",
    "sig",
    "missing",
    "note",
]
_KINDS = ["model", "task", "setting", "always", "sometimes", "never", "SD of a run", "U90-10", "U90-10 at one chance"]
_FLAGS = ["model", "task", "setting", "flag", "conversations"]
_MISSING = ["model", "task", "setting", "reason", "conversations"]


def _section(title: str, columns: Sequence[str], rows: Iterator[list[object]], empty: str = "") -> Iterator[str]:
    listed = list(rows)
    if not listed and not empty:
        return
    yield from [f"### {title}", ""]
    if not listed:
        yield from [empty, ""]
        return
    yield "| " + " | ".join(columns) + " |"
    yield "|" + "---|" * len(columns)
    for row in listed:
        yield "| " + " | ".join(markdown(value) for value in row) + " |"
    yield ""


def _model(row: Row) -> list[object]:
    values = [value_with_interval(row, metric) for metric in ("P", "A90", "U90_10")]
    labels = [instructions_label(row), runs_label(row), row["tasks"], row["P_method"] or DASH, note(row)]
    return [row["model"], setting_label(row), *values, *labels]


def _drop(row: Row) -> list[object]:
    tests = [number(row["p_value"], 4), number(row["p_holm"], 4)]
    values = [against_full(row), drop_points(row), row["n_common"], runs_label(row), *tests]
    return [row["model"], setting_label(row), *values, row["left_out"] or DASH, row["reason"] or ""]


def _cell(row: Row, signatures: dict[str, int]) -> list[object]:
    values = [value_with_interval(row, metric) for metric in ("P", "A90", "U90_10")]
    again = DASH
    if row["P"] is not None and row["P_runs_low"] is not None:
        again = f"±{(row['P_runs_high'] - row['P_runs_low']) / 2:.1f}"
    labels = [instructions_label(row), runs_label(row), row["P_method"] or DASH, signatures[row["signature"]]]
    missing = f"{row['n_missing']} of {row['n_planned']}"
    return [row["model"], row["task"], setting_label(row), *values, again, *labels, missing, note(row)]


def _kinds(cells: Sequence[Row]) -> Iterator[list[object]]:
    for row in cells:
        if row["binary_task"] and row["always"] is not None and row["P"] is not None:
            alone = float(binomial_truth(row["P"] / 100, row["n_target"])[2])
            shares = [number(100 * row[name], 0, "%") for name in ("always", "sometimes", "never")]
            spread = [number(row["sd_within"]), number(row["U90_10"]), number(alone)]
            yield [row["model"], row["task"], setting_label(row), *shares, *spread]


def _missing(row: Row) -> list[object]:
    return [row["model"], row["task"], setting_label(row), row["reason"], _of(row, "n_planned")]


def _flag(row: Row) -> list[object]:
    return [row["model"], row["task"], setting_label(row), row["flag"], _of(row, "n_conversations")]


def _of(row: Row, total: str) -> str:
    return f"{row['n']} of {row[total]}"
