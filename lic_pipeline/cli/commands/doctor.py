"""``lic doctor``: what this installation stands on, each line with what to do. Looks, changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import typer

from lic_pipeline.cli.shared.options import AsJson

if TYPE_CHECKING:
    from lic_pipeline.cli.shared.doctor_checks import CheckLine


def doctor(as_json: AsJson = False) -> None:
    """Versions, LIC_HOME, data sources, sandbox, ledger, keys (names only), Dagster. Exit 1 when something fails."""
    from lic_pipeline.cli.shared.output import print_json

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


def _lines() -> Iterator[CheckLine]:
    from lic_pipeline.cli.shared import doctor_checks as doctor_checks
    from lic_pipeline.config import Home

    home = Home.locate()
    checks: list[Callable[[], Iterable[CheckLine]]] = [
        doctor_checks.python_lines,
        doctor_checks.package_lines,
        lambda: doctor_checks.home_lines(home),
        doctor_checks.data_lines,
        doctor_checks.sandbox_lines,
        lambda: doctor_checks.ledger_lines(home),
        doctor_checks.model_lines,
        lambda: doctor_checks.dagster_lines(home),
    ]
    for check in checks:
        try:
            yield from check()
        except Exception as error:  # one broken check must not hide what the others find
            advice = "set LIC_DEBUG=1 and report it"
            yield doctor_checks.CheckLine(
                "doctor", "fail", f"a check broke off: {type(error).__name__}: {error}", advice
            )


def _print(lines: list[CheckLine]) -> None:
    from lic_pipeline.report.render import harmless

    width = max(len(line.area) for line in lines)
    for line in lines:
        advice = f"\n{'':{width + 8}}{harmless(line.advice)}" if line.advice else ""
        print(f"{line.status:<5}  {line.area:<{width}} {harmless(line.text)}{advice}")
