"""Runs of the scripted plan in processes of their own, and what they paid for by their log and by the ledger.

Not a test module.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

from support.scripted_assistant import hold, scores_csv
from support.scripted_run import answer

from lic_pipeline.models.ledger import Ledger
from lic_pipeline.simulation.plan.conversation_plan import Plan

RUNNER = Path(__file__).resolve().with_name("scripted_run.py")


def start(home: Path, items: int, runs: int, connections: int, delay: float) -> subprocess.Popen[str]:
    """A process on the plan, past its imports when this returns."""
    arguments = [sys.executable, str(RUNNER), str(home), str(items), str(runs), str(connections), str(delay)]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    return process


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit code and output of a process; a traceback of its own is a failure."""
    out, err = process.communicate(timeout=120)
    assert "Traceback" not in (err or ""), err
    return process.returncode, out


def calls_made(home: Path) -> Counter[str]:
    """How often each (conversation, turn) was really asked."""
    lines = (home / "calls.log").read_text().splitlines()
    return Counter(" ".join(line.split()[:2]) for line in lines if len(line.split()) == 3)


def calls_stored(home: Path) -> int:
    """How many calls the ledger holds."""
    with Ledger.open(home / "ledger") as ledger:
        return ledger.totals().overall.calls


def undisturbed(plan: Plan, home: Path) -> str:
    """Score tables of a run that nothing happens to."""
    _, outcome = hold(plan, home, answer, connections=8)
    assert outcome.complete
    return scores_csv(plan, home)
