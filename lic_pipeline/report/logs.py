"""What ``lic import-logs`` prints: the comparison per model, task and setting, and the measurement artefact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TextIO

from rich.console import Console
from rich.table import Table

from lic_pipeline.records import Setting
from lic_pipeline.report.render import DASH, fixed, harmless, number, setting_label

Row = Mapping[str, Any]
ALL = "*"
_WIDE = 220
_SETTINGS = [str(setting) for setting in Setting]
_STEPS = {"reference": "reference policy", "last_to_max": "last -> max"}
_CAPTION = (
    "95% intervals over instructions, paired for changes; * fewer than 10 instructions, and all models weigh equally. "
    "Reference policy is given the recorded extraction. Compare last with last and max with max. "
    "These figures hold on these logs."
)


def print_import(document: Mapping[str, Any], file: TextIO) -> None:
    """Print the document of an import as tables."""
    console = Console(file=file, markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console = Console(file=file, markup=False, highlight=False, emoji=False, width=_WIDE)
    console.print(
        f"{document['experiment']}: {document['conversations']} conversations of {document['lines']} lines, "
        f"{document['added']} new, {document['already_there']} already there"
    )
    for model, names in document["models"].items():
        if len(names) > 1:
            console.print(f"{harmless(model)} stands for {harmless(', '.join(names))}")
    if not document["comparison"]:
        return
    console.print(_comparison(document["comparison"]))
    pooled = [row for row in document["measurement_artefact"] if row["model"] == ALL]
    console.print(_levels([row for row in pooled if row["kind"] == "level"]))
    console.print(_changes([row for row in pooled if row["kind"] != "level"]))
    console.print(_CAPTION)


def _comparison(rows: Sequence[Row]) -> Table:
    table = Table("task", "model", "setting", title="Recorded and rescored", title_justify="left")
    for name in ("n", "recorded", "reference", "last", "robust", "cumulative", "reproduced", "up", "down"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("reasons: conversations (examples)")
    for row in sorted(rows, key=_place):
        reasons = "; ".join(
            f"{reason} {found['n']} ({', '.join(found['examples'])})" for reason, found in row["reasons"].items()
        )
        table.add_row(
            harmless(row["task"]),
            harmless(row["model"]),
            harmless(setting_label(row)),
            f"{row['n_instructions']}/{row['n_conversations']}",
            *(number(row[name]) for name in ("recorded", "reference", "robust_last", "robust", "score_cumulative")),
            f"{row['reproduced']}/{row['attempts']}",
            str(row["n_up"]),
            str(row["n_down"]),
            harmless(reasons),
        )
    return table


def _levels(rows: Sequence[Row]) -> Table:
    table = Table("task", "setting", "n", title="Levels over all models", title_justify="left")
    names = list(dict.fromkeys(row["name"] for row in sorted(rows, key=lambda row: row["position"])))
    for name in names:
        table.add_column(name.replace("_", " "), justify="right")
    cells: dict[tuple[str, str], dict[str, Row]] = {}
    for row in sorted(rows, key=_place):
        cells.setdefault((row["task"], setting_label(row)), {})[row["name"]] = row
    for (task, setting), by_name in cells.items():
        shown = (_value(by_name[name], "value") if name in by_name else DASH for name in names)
        table.add_row(harmless(task), harmless(setting), _n(next(iter(by_name.values()))), *shown)
    return table


def _changes(rows: Sequence[Row]) -> Table:
    title = "Measurement artefact over all models: steps in order, totals, variants of the gate"
    table = Table("task", "setting", "kind", "step", "n", title=title, title_justify="left")
    for name in ("change", "after", "conversations up/down", "attempts up/down"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in sorted(rows, key=_place):
        table.add_row(
            harmless(row["task"]),
            harmless(setting_label(row)),
            row["kind"],
            _STEPS.get(row["name"], row["name"].replace("_", " ")),
            _n(row),
            "0.0, nothing moved" if _still(row) else _value(row, "change"),
            number(row["value"]),
            _pair(row, "conversations"),
            _pair(row, "attempts"),
        )
    return table


def _place(row: Row) -> tuple[object, ...]:
    """Tasks and models by name, settings in their usual order, differences from FULL after them; otherwise as given."""
    setting = str(row["setting"]).removesuffix(f"-{Setting.FULL}")
    rank = _SETTINGS.index(setting) if setting in _SETTINGS else len(_SETTINGS)
    return row["task"], row["model"], row["setting"].endswith(f"-{Setting.FULL}"), rank, row["condition"]


def _still(row: Row) -> bool:
    """True when not one conversation changed: an interval over instructions would say nothing then."""
    return not row["conversations_up"] and not row["conversations_down"]


def _n(row: Row) -> str:
    return f"{row['n_instructions']}{'*' if row['few'] else ''}/{row['n_conversations']}"


def _value(row: Row, name: str) -> str:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if row[name] is None or low is None or high is None:
        return DASH
    return f"{fixed(row[name], 1)} [{fixed(low, 1)}, {fixed(high, 1)}]"


def _pair(row: Row, name: str) -> str:
    up, down = row[f"{name}_up"], row[f"{name}_down"]
    return DASH if up is None or down is None else f"{up}/{down}"
