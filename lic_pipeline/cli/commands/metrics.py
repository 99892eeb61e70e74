"""``lic metrics FILE``: reliability tables from score rows of any origin."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lic_pipeline.cli.shared.output import say

if TYPE_CHECKING:
    from lic_pipeline.metrics.score_lines import ScoreRows

_SHOWN_BAD = 20


def metrics(
    file: Annotated[
        str, typer.Argument(help="JSON Lines: {model, task, setting, instruction_id, run, score}; - = stdin")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")] = False,
) -> None:
    """Performance, aptitude and unreliability with intervals, and each setting against FULL.

    Exit codes: 0 done; 1 a bad line, no rows, or a cell without a value (said which); 2 unreadable input.
    """
    from lic_pipeline.errors import LicError

    try:
        complaints = _show(_read(file), as_json)
    except LicError as error:
        say(f"lic metrics: {error}")
        raise typer.Exit(error.exit_code) from None
    except KeyboardInterrupt:
        say("lic metrics: interrupted")
        raise typer.Exit(130) from None
    for complaint in complaints:
        say(complaint)
    if complaints:
        raise typer.Exit(1)


def _show(rows: ScoreRows, as_json: bool) -> list[str]:
    """Print the document or the tables; returns what is wrong or missing."""
    import json

    from lic_pipeline.metrics.json_document import compute, document

    with compute(rows) as connection:
        result = document(connection, rows)
        if as_json:
            typer.echo(json.dumps(result, ensure_ascii=False, allow_nan=False, indent=1))
        else:
            from lic_pipeline.report.console import print_tables

            print_tables(connection)
    return _complaints(rows, result["cells"])


def _read(file: str) -> ScoreRows:
    from lic_pipeline.errors import InputError
    from lic_pipeline.lake.inputs import input_lines, open_input, unpacked
    from lic_pipeline.metrics.score_lines import read_rows

    try:
        if file == "-":
            return read_rows(input_lines(unpacked(sys.stdin.buffer, "standard input"), "standard input"))
        with open_input(Path(file)) as handle:
            return read_rows(input_lines(handle, file))
    except InputError as error:
        raise InputError(f"{error}; give a JSON Lines file or -") from error


def _complaints(rows: ScoreRows, cells: list[dict[str, object]]) -> list[str]:
    """What is wrong or missing, one line each; an empty list means that everything has a value."""
    found = [str(bad) for bad in rows.bad[:_SHOWN_BAD]]
    if len(rows.bad) > _SHOWN_BAD:
        found.append(f"... and {len(rows.bad) - _SHOWN_BAD} more bad lines")
    if not len(rows):
        found.append("no usable row: expected lines of {model, task, setting, instruction_id, run, score}")
    for cell in cells:
        name = f"{cell['model']}, {cell['task']}, {cell['setting']}"
        if cell["reason"]:
            found.append(f"{name}: {cell['reason']}")
        elif cell["missing"]:
            found.append(f"{name}: {cell['missing']} runs without a score")
    return found
