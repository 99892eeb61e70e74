"""A process whose assistant answers with programs that never end: ``python looping_run.py HOME``. Not a test module."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parents[2])]

from support.items import sample_items
from support.scripted_assistant import hold, plan_of

from lic_pipeline.errors import InterruptedRunError
from lic_pipeline.models.request import ModelRequest
from lic_pipeline.records import Setting
from lic_pipeline.simulation.conversation.loop import TurnContext


def endless(request: ModelRequest, turn_context: TurnContext) -> str:
    """Another endless program for every run."""
    if turn_context.spec.run == 0:
        print("asked", flush=True)
    return f"```python\ndef f(*values):\n    step = {turn_context.spec.run}\n    while True:\n        step += 1\n```"


def main() -> int:
    items = [item for item in sample_items("code") if item.instruction.benchmark == "livecodebench"][:1]
    plan = plan_of(Setting.FULL, items=items or sample_items("code")[:1], task="code", runs=20)
    try:
        hold(plan, Path(sys.argv[1]), endless, connections=16)
    except InterruptedRunError as error:
        print("InterruptedRunError", flush=True)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
