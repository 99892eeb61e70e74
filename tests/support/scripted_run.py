"""A process that carries out a plan with the scripted voice; tests kill it, interrupt it, or run two at once.

``python scripted_run.py HOME ITEMS RUNS CONNECTIONS DELAY [SETTING...]``: every call made is a line of HOME/calls.log,
the outcome is printed as JSON. While HOME/gate exists it waits. Exit codes are those of the errors. Not a test module.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2])]

from support.scripted_assistant import RIGHT, TALK, WRONG, ScriptedAssistant, pens, plan_of, speaking

from lic_pipeline.errors import LicError
from lic_pipeline.models.ledger import Ledger
from lic_pipeline.models.request import ModelRequest
from lic_pipeline.records import Setting
from lic_pipeline.seeding import uniform
from lic_pipeline.simulation.conversation.loop import TurnContext
from lic_pipeline.simulation.engine import engine
from lic_pipeline.simulation.plan.conversation_plan import Plan

SETTINGS = (Setting.FULL, Setting.SHARDED, Setting.RECAP, Setting.SNOWBALL)


def answer(request: ModelRequest, turn_context: TurnContext) -> str:
    """A reply that depends on the conversation's design and the turn alone."""
    draw = uniform(
        turn_context.spec.instruction_id, str(turn_context.spec.setting), turn_context.spec.run, turn_context.turn
    )
    return RIGHT if draw > 0.75 else WRONG if draw > 0.4 else TALK


def big_plan(items: int, runs: int, settings: tuple[Setting, ...] = SETTINGS) -> Plan:
    """``items`` different items, ``runs`` runs each."""
    return plan_of(*settings, items=[pens(number) for number in range(items)], runs=runs)


def main() -> int:
    home, items, runs, connections = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    settings = tuple(Setting(name) for name in sys.argv[6:]) or SETTINGS
    home.mkdir(parents=True, exist_ok=True)
    log = os.open(home / "calls.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def say(request: ModelRequest, turn_context: TurnContext) -> str:
        os.write(log, f"{turn_context.spec.conversation_id} {turn_context.turn} {os.getpid()}\n".encode())
        return answer(request, turn_context)

    assistant = ScriptedAssistant(say, delay=float(sys.argv[5]))
    print("started", flush=True)
    while (home / "gate").exists():
        time.sleep(0.01)
    try:
        with speaking(assistant), Ledger.open(home / "ledger") as ledger:
            outcome = engine.run(big_plan(items, runs, settings), ledger, home / "lake", max_connections=connections)
    except LicError as error:
        print(type(error).__name__, error, flush=True)
        return error.exit_code
    fields = {"held": outcome.held, "already": outcome.already, "missing": dict(outcome.missing)}
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    fields["peak_kb"] = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    print(json.dumps(fields), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
