"""``lic ledger``: what was paid for. Totals, export, verify, rebuild, vacuum; none of them calls a model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lic_pipeline.cli.shared.options import AsJson

if TYPE_CHECKING:
    from lic_pipeline.config import Home
    from lic_pipeline.models.ledger.ledger import Ledger
    from lic_pipeline.verification.bookkeeping.ledger_replay import Rebuilt, Verification

ledger_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

_SHOWN = 20
_SUMS = ("calls", "prompt", "completion", "reasoning", "cached", "cost_usd", "unpriced")


@ledger_app.command()
def totals(as_json: AsJson = False) -> None:
    """Calls, tokens and cost by model and role, over all runs and processes."""
    from lic_pipeline.cli.shared.output import print_json, print_table

    with _opened() as (_, ledger):
        sums = ledger.totals()
    rows: list[dict[str, Any]] = [
        {"model": model, "role": role, **{name: getattr(part, name) for name in _SUMS}}
        for (model, role), part in sums.calls.items()
    ]
    overall = {name: getattr(sums.overall, name) for name in _SUMS}
    if as_json:
        print_json({"calls": rows, "overall": overall, "conversations": sums.conversations, "tries": sums.tries})
        return
    lines = [[row["model"], row["role"], *_cells(row)] for row in (*rows, {"model": "all", "role": "", **overall})]
    print_table(
        "Calls", ("model as sent", "role", "calls", "prompt", "completion", "reasoning", "cached", "cost"), lines
    )
    for title, counts in (("Conversations", sums.conversations), ("HTTP attempts", sums.tries)):
        if counts:
            print_table(title, ("state" if title == "Conversations" else "outcome", "number"), list(counts.items()))


def _cells(row: dict[str, Any]) -> list[object]:
    from lic_pipeline.cli.shared.output import money

    cost = money(row["cost_usd"])
    if row["unpriced"]:
        cost += f" + {row['unpriced']:,} calls of unknown price"
    return [*(row[name] for name in _SUMS[:5]), cost]


@ledger_app.command()
def export(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write when complete; default stdout.")
    ] = None,
) -> None:
    """Every call as one JSON line: key, request hashes, reply as stored (redacted), tokens, cost."""
    import json

    from lic_pipeline.cli.shared.output import say
    from lic_pipeline.scoring.output_file import open_output

    count = 0
    with _opened() as (_, ledger), open_output(None if output is None else str(output)) as output_file:
        for call in ledger.calls():
            output_file.write(json.dumps(call).encode("ascii") + b"\n")
            count += 1
    say(f"{count:,} calls exported" + (f" to {output}" if output else ""))


@ledger_app.command()
def verify(
    sample: Annotated[int, typer.Option("--sample", min=1, help="Finished conversations to check.")] = 200,
    everything: Annotated[bool, typer.Option("--all", help="Check all of them.")] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Another seed, another sample.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Replay stored conversations: would the same requests be sent? Exit 0 yes, 1 something is incomplete, 5 drift."""
    from lic_pipeline.verification.bookkeeping.ledger_replay import verify as check

    with _opened() as (home, ledger):
        found = check(home, ledger, None if everything else sample, seed)
    _show_verification(found, as_json)
    kinds = {finding.kind for finding in found.findings}
    if kinds:
        raise typer.Exit(5 if "drift" in kinds else 1)


def _show_verification(found: Verification, as_json: bool) -> None:
    from lic_pipeline.cli.shared.output import counted, print_json, print_table

    rows = [
        {"conversation_id": one.conversation_id, **one.partition._asdict(), "kind": one.kind, "reason": one.reason}
        for one in found.findings
    ]
    if as_json:
        print_json({"checked": found.checked, "unchecked": dict(found.unchecked), "findings": rows})
        return
    print(f"{found.checked:,} conversations replayed, {len(rows):,} not as stored.")
    if found.unchecked:
        print(f"Not checked: {counted(found.unchecked)}.")
    if rows:
        columns = ("conversation_id", "experiment", "task", "model", "kind", "reason")
        print_table("", columns, [[row[name] for name in columns] for row in rows[:_SHOWN]])
    if len(rows) > _SHOWN:
        print(f"... and {len(rows) - _SHOWN:,} more; --json lists all.")


@ledger_app.command()
def rebuild(as_json: AsJson = False) -> None:
    """Give the lake what the ledger holds, and an empty ledger what the lake holds. Exit 1: something is left out."""
    from lic_pipeline.verification.bookkeeping.ledger_replay import rebuild as restore

    with _opened(create=True) as (home, ledger):
        done = restore(home, ledger)
    _show_rebuilt(done, as_json)
    if done.failed:
        raise typer.Exit(1)


def _show_rebuilt(done: Rebuilt, as_json: bool) -> None:
    from lic_pipeline.cli.shared.output import counted, print_json

    if as_json:
        print_json({"to_lake": done.to_lake, "to_ledger": done.to_ledger, "failed": dict(done.failed)})
        return
    print(f"{done.to_lake:,} conversations put back into the lake, {done.to_ledger:,} into the ledger.")
    if done.failed:
        print(f"Left out: {counted(done.failed)}.")


@ledger_app.command()
def vacuum(as_json: AsJson = False) -> None:
    """Drop texts of superseded epochs and give the space back. Totals stay as they are."""
    from lic_pipeline.cli.shared.output import print_json

    with _opened() as (_, ledger):
        gone = ledger.vacuum()
    if as_json:
        print_json({"calls": gone.calls, "decisions": gone.decisions, "freed_bytes": gone.freed_bytes})
    else:
        freed = f"{gone.freed_bytes:,} bytes given back"
        print(f"Texts of {gone.calls:,} superseded calls and {gone.decisions:,} decisions dropped, {freed}.")


@contextmanager
def _opened(*, create: bool = False) -> Iterator[tuple[Home, Ledger]]:
    """The ledger of this home; looking at one that is not there must not create it."""
    from lic_pipeline.cli.shared.open_ledger import has_ledger, open_ledger
    from lic_pipeline.config import Home
    from lic_pipeline.errors import ConfigError

    home = Home.locate()
    if create:
        home.prepare()
    elif not has_ledger(home):
        raise ConfigError(f"there is no ledger under {home.ledger_target}; nothing has been run with it")
    with open_ledger(home) as ledger:
        yield home, ledger
