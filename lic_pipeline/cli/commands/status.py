"""``lic status``: wanted, done, missing and why, flags and spend, from manifests and the ledger. Reads only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lic_pipeline.cli.shared.options import AsJson

if TYPE_CHECKING:
    from lic_pipeline.config import Home
    from lic_pipeline.models.ledger.ledger import Ledger
    from lic_pipeline.verification.bookkeeping.status import Partition

OneExperiment = Annotated[str | None, typer.Option("--experiment", "-e", help="Only this experiment. Default: all.")]


def status(experiment: OneExperiment = None, as_json: AsJson = False) -> None:
    """How every experiment stands: wanted, done, missing and why, flags, spend. Exit 0 whatever it finds."""
    from lic_pipeline.cli.shared.open_ledger import has_ledger, open_ledger
    from lic_pipeline.config import Home
    from lic_pipeline.simulation.plan.stored_experiments import find_experiment

    home = Home.locate()
    if experiment is not None:
        find_experiment(home, experiment)
    if not has_ledger(home):
        document = _empty(home)
    else:
        with open_ledger(home) as ledger:
            document = _document(home, ledger, experiment)
    _show(document, experiment, as_json)


def _empty(home: Home) -> dict[str, Any]:
    return {"home": str(home.root), "experiments": [], "outside_manifests": {}, "total": totals_row(None)}


def _document(home: Home, ledger: Ledger, experiment: str | None) -> dict[str, Any]:
    from lic_pipeline.verification.bookkeeping.status import (
        not_in_manifests,
        partition_status,
        select_manifests,
        status_row,
    )

    rows = [
        {**status_row(partition_status(home.lake, ledger, one)), "unscored": _unscored(home, ledger, one)}
        for one in select_manifests(home.lake, experiment=experiment)
    ]
    return {
        "home": str(home.root),
        "experiments": rows,
        "outside_manifests": not_in_manifests(ledger, home.lake),
        "total": totals_row(ledger.totals()),
    }


def _unscored(home: Home, ledger: Ledger, one: Partition) -> dict[str, int]:
    """How many conversations are done and have no score, by reason."""
    from collections import Counter

    from lic_pipeline.cli.shared.run_results import missing_score_reasons
    from lic_pipeline.models.ledger.records import DONE
    from lic_pipeline.verification.bookkeeping.status import manifest_ids

    states = ledger.states(manifest_ids(home.lake, one))
    finished = {name for name, state in states.items() if state == DONE}
    return dict(sorted(Counter(missing_score_reasons(home.lake, one, finished)).items()))


def totals_row(totals: Any) -> dict[str, Any]:
    """Sums over the whole ledger: what was ever paid, by whichever run."""
    from lic_pipeline.models.ledger.records import CallTotals

    overall = CallTotals() if totals is None else totals.overall
    return {
        "calls": overall.calls,
        "prompt_tokens": overall.prompt,
        "completion_tokens": overall.completion,
        "reasoning_tokens": overall.reasoning,
        "cached_tokens": overall.cached,
        "cost_usd": overall.cost_usd,
        "calls_of_unknown_price": overall.unpriced,
        "conversations": {} if totals is None else totals.conversations,
    }


_COLUMNS = ("experiment", "task", "model", "wanted", "done", "scored", "missing", "flags", "calls", "tokens", "cost")


def _show(document: dict[str, Any], experiment: str | None, as_json: bool) -> None:
    from lic_pipeline.cli.shared.output import counted, print_json, print_table, say

    if as_json:
        print_json(document)
        return
    if document["experiments"]:
        print_table("", _COLUMNS, [_line(row) for row in document["experiments"]])
    elif document["outside_manifests"]:
        say("no run has been finished yet; start it again with the same options and it goes on")
    else:
        what = f"experiment {experiment} has not" if experiment else "nothing has"
        say(f"{what} been run under {document['home']}; start with `lic demo` or `lic run`")
    if document["outside_manifests"]:
        text = counted(document["outside_manifests"])
        print(f"In no manifest (interrupted runs, replaced plans, lines judged by lic score): {text}.")
    print(_spent(document["total"]))


def _spent(total: dict[str, Any]) -> str:
    unknown = total["calls_of_unknown_price"]
    note = f" and {unknown:,} calls of unknown price" if unknown else ""
    tokens = total["prompt_tokens"] + total["completion_tokens"]
    return f"The whole ledger: {total['calls']:,} calls, {tokens:,} tokens, ${total['cost_usd']:.2f}{note}."


def _line(row: dict[str, Any]) -> list[object]:
    from lic_pipeline.cli.shared.output import counted, money

    names = [row[name] for name in ("experiment", "task", "model", "wanted", "done", "scored")]
    tokens = row["prompt_tokens"] + row["completion_tokens"]
    free = row["model"].startswith("sim/")
    cost = money(row["cost_usd"], free=free)
    missing = counted({**row["missing"], **row["unscored"]})
    return [*names, missing or "–", counted(row["flags"]) or "–", row["calls"], tokens, cost]
