"""``lic doctor``: what this installation stands on, each line with what to do. Looks, changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import typer

from lic_pipeline.cli.options import AsJson

if TYPE_CHECKING:
    from lic_pipeline.cli.checkups import Line


def doctor(as_json: AsJson = False) -> None:
    """Versions, LIC_HOME, data sources, sandbox, ledger, keys (names only), Dagster. Exit 1 when something fails."""
    from lic_pipeline.cli.output import print_json

    lines = list(_lines())
    counts = {status: sum(line.status == status for line in lines) for status in ("ok", "warn", "fail")}
    if as_json:
        rows = [{"area": one.area, "status": one.status, "text": one.text, "advice": one.advice} for one in lines]
        print_json({"counts": counts, "lines": rows})
    else:
        _print(lines)
        print(f"{counts['ok']} ok, {counts['warn']} to look at, {counts['fail']} failing.")
    if counts["fail"]:
        raise typer.Exit(1)


def _lines() -> Iterator[Line]:
    from lic_pipeline.cli import checkups
    from lic_pipeline.config import Home

    home = Home.locate()
    checks: list[Callable[[], Iterable[Line]]] = [
        checkups.python_lines,
        checkups.package_lines,
        lambda: checkups.home_lines(home),
        checkups.data_lines,
        checkups.sandbox_lines,
        lambda: checkups.ledger_lines(home),
        checkups.model_lines,
        lambda: checkups.dagster_lines(home),
    ]
    for check in checks:
        try:
            yield from check()
        except Exception as error:  # one broken check must not hide what the others find
            advice = "set LIC_DEBUG=1 and report it"
            yield checkups.Line("doctor", "fail", f"a check broke off: {type(error).__name__}: {error}", advice)


def _print(lines: list[Line]) -> None:
    from lic_pipeline.report.render import harmless

    width = max(len(line.area) for line in lines)
    for line in lines:
        advice = f"\n{'':{width + 8}}{harmless(line.advice)}" if line.advice else ""
        print(f"{line.status:<5}  {line.area:<{width}} {harmless(line.text)}{advice}")
