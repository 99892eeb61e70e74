"""``lic import-shards`` and ``lic export-shards``: sharded instructions in and out.

Parsing, storing and joining are the business of ``lic_pipeline.sharding``; here is only what people see.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lic_pipeline.cli.shared.items_without_reference import tell, without_reference
from lic_pipeline.cli.shared.output import print_json, say
from lic_pipeline.errors import InputError, UnknownNameError
from lic_pipeline.lake.files import write_text
from lic_pipeline.records import RecordProblem
from lic_pipeline.sharding.plain import TASKS, to_plain
from lic_pipeline.sharding.release_store import Merge, StoredRecord, merge, read_records_file, stored_records
from lic_pipeline.sharding.released import Interpreted, task_of
from lic_pipeline.sharding.sources import all_instructions, interpreted, sharded_for

_OUTCOMES = ("usable", "set_aside", "unusable")
Format = Literal["released", "plain"]


def import_shards(
    file: Annotated[Path, typer.Argument(help="A released list of records (JSON), or plain records (JSON Lines).")],
    task: Annotated[
        str | None, typer.Option("--task", help="Only records of this task; also the task of records naming none.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")] = False,
) -> None:
    """Import sharded instructions; importing a file again changes nothing.

    Exit 0 when every record is usable or known to be set aside, 1 when one is unusable (it says why).
    """
    _check_task(task)
    records, problems = read_records_file(file, task)
    if task is not None:
        records = [record for record in records if (task_of(record.record) or task) == task]
    if not records and not problems:
        raise InputError(f"{file} holds no record" + (f" of task {task}" if task else ""))
    done = merge(records)
    items = interpreted(records)
    for name in done.replaced:
        say(f"warning: {name} was imported before with other content; it is replaced")
    _tell(items, problems)
    if as_json:
        print_json(_document(file, done, items, problems))
    else:
        _table(items, done)
    if problems or any(item.outcome == "unusable" for item in items):
        raise typer.Exit(1)


def export_shards(
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File to write; default stdout.")] = None,
    task: Annotated[str | None, typer.Option("--task", help="Only records of this task.")] = None,
    form: Annotated[
        Format,
        typer.Option("--format", help="released: imported records as they came; plain: every sharded instruction."),
    ] = "released",
) -> None:
    """Export sharded instructions: imported released records verbatim, or plain JSON Lines of everything sharded."""
    _check_task(task)
    stored = [record for record in stored_records() if task is None or (task_of(record.record) or record.task) == task]
    if form == "plain":
        text, count, left = _plain_lines(stored, task)
    else:
        kept = [record.record for record in stored if record.form == "released"]
        text, count, left = json.dumps(kept, ensure_ascii=False, indent=1) + "\n", len(kept), len(stored) - len(kept)
    if output is None:
        typer.echo(text, nl=False)
    else:
        write_text(output, text)
    say(f"{count} records exported" + (f" to {output}" if output else ""))
    if form == "released" and left:
        say(f"{left} plain records are not in this form; export them with --format plain")


def _plain_lines(stored: Sequence[StoredRecord], task: str | None) -> tuple[str, int, int]:
    lines = []
    for name in [task] if task else TASKS:
        instructions, _ = all_instructions(name)
        sharded = sharded_for(instructions).sharded
        own = {str(record.record.get("id")) for record in stored if record.form == "plain"}
        lines += [
            json.dumps(to_plain(item, sharded.get(item.instruction_id)), ensure_ascii=False)
            for item in instructions
            if item.instruction_id in sharded or item.instruction_id in own
        ]
    return "".join(f"{line}\n" for line in lines), len(lines), 0


def _check_task(task: str | None) -> None:
    if task is not None and task not in TASKS:
        raise UnknownNameError("task", task, list(TASKS))


def _tell(items: Sequence[Interpreted], problems: Sequence[RecordProblem]) -> None:
    for problem in problems:
        say(str(problem))
    aside: Counter[tuple[str, str]] = Counter()
    for item in items:
        if item.outcome == "unusable":
            where = f" field {item.field!r}" if item.field else ""
            say(f"unusable {item.record_id or '(no task_id)'}{where}: {item.reason}")
        elif item.outcome == "set_aside":
            aside[item.task, item.reason] += 1
    for (name, reason), count in sorted(aside.items()):
        say(f"set aside {count} records of {name}: {reason}")
    for name in sorted({item.task for item in items}):
        tell(name, without_reference(item.instruction for item in items if item.instruction and item.task == name))


def _table(items: Sequence[Interpreted], done: Merge) -> None:
    counts: Counter[tuple[str, str]] = Counter((item.task, item.outcome) for item in items)
    table = Table("task", *(outcome.replace("_", " ") for outcome in _OUTCOMES), title="Imported sharded instructions")
    for name in sorted({item.task for item in items}):
        table.add_row(escape(name or "(none)"), *(str(counts[name, outcome]) for outcome in _OUTCOMES))
    table.add_row("all", *(str(sum(item.outcome == outcome for item in items)) for outcome in _OUTCOMES))
    console = Console()
    console.print(table)
    console.print(f"{done.added} new, {done.unchanged} already there, {len(done.replaced)} replaced")


def _document(
    file: Path, done: Merge, items: Sequence[Interpreted], problems: Sequence[RecordProblem]
) -> dict[str, Any]:
    return {
        "file": str(file),
        "added": done.added,
        "unchanged": done.unchanged,
        "replaced": list(done.replaced),
        "records": [
            {
                "record_id": item.record_id,
                "task": item.task,
                "outcome": item.outcome,
                "instruction_id": item.instruction.instruction_id if item.instruction else None,
                "shards": len(item.sharded.shards) if item.sharded else 0,
                "reference": item.instruction is not None and not without_reference([item.instruction]),
                "field": item.field,
                "reason": item.reason,
            }
            for item in items
        ],
        "problems": [problem.model_dump() for problem in problems],
    }
