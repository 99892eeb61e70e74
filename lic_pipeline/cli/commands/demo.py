"""``lic demo``: the whole graph on our own samples with two calibration personas; no key, no network, no cost."""

from __future__ import annotations

import sys

import typer

from lic_pipeline.cli.shared.options import AsJson, Connections, Tasks

PERSONAS = ["sim/lost", "sim/steady"]


def demo(task: Tasks = None, max_connections: Connections = None, as_json: AsJson = False) -> None:
    """Run everything on the embedded samples, print the tables, write the report, say what to do next."""
    import os

    from lic_pipeline.cli.shared.options import resolve
    from lic_pipeline.cli.shared.run_partitions import Caps, run_choice
    from lic_pipeline.cli.shared.run_results import print_missing, show_results
    from lic_pipeline.config import Home

    # The demo is about our own samples; a folder of real files is what `lic run` is for.
    os.environ.pop("LIC_DATA", None)
    home = Home.locate().prepare()
    choice = resolve(home, models=PERSONAS, tasks=task, experiment="demo")
    done = run_choice(home, choice, Caps(max_connections))
    show_results(home, choice.experiment.name, PERSONAS, as_json=as_json)
    missing = print_missing(home, choice, done)
    print(_next_steps(str(home.warehouse), str(home.report), done.launched), file=sys.stderr)
    if missing:
        raise typer.Exit(1)


def _next_steps(warehouse: str, report: str, launched: int) -> str:
    ran = f"{launched} runs of the graph were launched" if launched else "everything was complete, nothing was launched"
    return "\n".join(
        (
            "",
            f"Done: {ran}. The models above are calibration personas, not language models.",
            f"  numbers   {warehouse}",
            f"  report    {report}",
            "Next:",
            "  lic personas --truth          what the estimators should have found",
            "  lic run --model sim/lost -n 20   more runs; only the new ones are held",
            "  lic models list               models you can test; lic doctor says which keys are set",
            "  make dev                      the same graph in the Dagster UI",
        )
    )
