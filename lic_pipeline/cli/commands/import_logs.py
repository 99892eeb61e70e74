"""``lic import-logs``: conversation logs of the reference scripts in, rescored, compared with what they recorded."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from lic_pipeline.cli.shared.output import print_json, say

if TYPE_CHECKING:
    from lic_pipeline.config import Home
    from lic_pipeline.logs.outcome import Imported

Row = dict[str, Any]


def import_logs(
    files: Annotated[list[Path], typer.Argument(help="Log files, one JSON conversation per line; .gz as well.")],
    name: Annotated[str | None, typer.Option("--name", help="Experiment logs-NAME instead of logs-<hash>.")] = None,
    alias: Annotated[
        list[str] | None, typer.Option("--alias", help="NAMED=NAME: another name of the same model; repeatable.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--setting", help="NAME=SETTING: a conv_type of a fork and the setting it is; repeatable."),
    ] = None,
    task: Annotated[str | None, typer.Option("--task", help="Only conversations of this task.")] = None,
    differences: Annotated[
        Path | None, typer.Option("--differences", help="Write every attempt scored otherwise, JSON Lines.")
    ] = None,
    allow_weak_sandbox: Annotated[
        bool, typer.Option("--allow-weak-sandbox", help="Run model-written code without namespaces.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")] = False,
) -> None:
    """Import logs of the reference scripts and rescore them; importing again changes nothing.

    Exit codes: 0 every line imported or set aside; 1 a line could not be used (said which); 2 unreadable input.
    """
    from lic_pipeline.config import Home
    from lic_pipeline.logs.import_files import import_files
    from lic_pipeline.logs.reading.reference_names import alias_table, setting_table

    _check(files, task, allow_weak_sandbox)
    aliases, settings = alias_table(alias or []), setting_table(setting or [])
    home = Home.locate().prepare()
    imported = import_files(home, files, aliases, task, settings)
    _complain(imported)
    experiment = imported.experiment(name)
    document: Row = {**_summary(imported, experiment), "comparison": [], "measurement_artefact": []}
    if imported.n_conversations:
        document |= _rescored(home, imported, experiment, differences)
    if as_json:
        print_json(document)
    else:
        _print(document, sys.stdout)
    if imported.kinds or not imported.n_conversations:
        if not imported.n_conversations:
            say("no conversation could be imported; nothing was rescored")
        raise typer.Exit(1)


def _check(files: Sequence[Path], task: str | None, allow_weak: bool) -> None:
    from lic_pipeline.errors import InputError, UnknownNameError
    from lic_pipeline.tasks.registry import task_names

    if task is not None and task not in task_names():
        raise UnknownNameError("task", task, list(task_names()))
    for file in files:
        if not file.is_file():
            raise InputError(f"{file} is no file; give log files, one JSON conversation per line")
    if allow_weak:
        from lic_pipeline.tasks.code.weak_sandbox import PERMISSION

        PERMISSION.allow_weak = True


def _complain(imported: Imported) -> None:
    from lic_pipeline.report.render import harmless

    for said in imported.complaints():
        say(harmless(said))


def _summary(imported: Imported, experiment: str) -> Row:
    return {
        "experiment": experiment,
        "lines": imported.lines,
        "conversations": imported.n_conversations,
        "added": imported.added,
        "already_there": imported.known,
        "repeated_lines": imported.repeated,
        "models": {model: sorted(names) for model, names in sorted(imported.names.items())},
        "unusable": dict(sorted(imported.kinds.items())),
        "set_aside": dict(sorted(imported.set_aside.items())),
        "unknown_settings": dict(imported.unknown_settings.most_common()),
        "skipped_events": dict(imported.skipped_events.most_common()),
        "reasons": [reason.document() for reason in imported.reasons.values()],
        "problems": [problem.model_dump() for problem in imported.problems],
    }


def _rescored(home: Home, imported: Imported, experiment: str, differences: Path | None) -> Row:
    """Publish the import and compute its two tables; of each conversation only sums are kept."""
    from lic_pipeline.cli.shared.open_ledger import open_ledger
    from lic_pipeline.logs.attempt_differences import attempt_differences
    from lic_pipeline.logs.log_comparison import Comparison
    from lic_pipeline.logs.publish_import import publish_import, write_changed
    from lic_pipeline.logs.tables import LOG_COMPARISON
    from lic_pipeline.metrics.measurement_artefact import Artefact
    from lic_pipeline.metrics.measurement_artefact_table import MEASUREMENT_ARTEFACT
    from lic_pipeline.scoring.output_file import open_output

    compared, decomposed = Comparison(), Artefact()
    with ExitStack() as stack:
        ledger = stack.enter_context(open_ledger(home))
        output_file = stack.enter_context(open_output(str(differences))) if differences else None
        for part in publish_import(home.lake, imported, experiment, ledger):
            for row in part:
                compared.add(row)
                decomposed.add(row)
            if output_file is not None:
                for found in attempt_differences(home.lake, part):
                    output_file.write(json.dumps(found, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
    comparison, artefact = compared.rows(), decomposed.rows()
    partition = {"experiment": experiment}
    write_changed(home.lake, LOG_COMPARISON, partition, comparison)
    write_changed(home.lake, MEASUREMENT_ARTEFACT, partition, artefact)
    for row in comparison:
        row["reasons"] = json.loads(row["reasons"])
    return {"comparison": comparison, "measurement_artefact": artefact}


def _print(document: Mapping[str, Any], file: TextIO) -> None:
    from lic_pipeline.report.logs import print_import

    print_import(document, file)
