"""Durable calls per second of the whole engine with an in-process stub assistant, and the cost of a finished plan.

Run: ``python bench/engine_throughput.py [--items 150] [--runs 4] [--profile]``. Ledger, journal, conversation loop,
scripted user, math rules, lake: all real; only the assistant is a stub that answers at once. Pin it to one core
(``taskset -c 0``); on a shared machine trust the calls per CPU second (all threads of the process).
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.scripted_assistant import TALK, WRONG, ScriptedAssistant, pens, plan_of, speaking  # noqa: E402

from lic_pipeline.lake.conversations import ConversationStore  # noqa: E402
from lic_pipeline.models.ledger import Ledger  # noqa: E402
from lic_pipeline.records import Setting  # noqa: E402
from lic_pipeline.simulation.engine import engine  # noqa: E402
from lic_pipeline.simulation.plan.conversation_plan import Plan  # noqa: E402
from lic_pipeline.simulation.resume.pending_conversations import PendingConversations  # noqa: E402


def measure(plan: Plan, home: Path, connections: int) -> tuple[float, float]:
    """Calls per second and per CPU second; nothing is solved, so each conversation takes all its turns."""
    assistant = ScriptedAssistant(lambda request, stage: WRONG if stage.turn % 3 == 0 else TALK)
    wall, cpu = time.perf_counter(), time.process_time()
    with speaking(assistant), Ledger.open(home / "ledger") as ledger:
        outcome = engine.run(plan, ledger, home / "lake", max_connections=connections)
    if not outcome.complete:
        raise SystemExit(f"not complete: {dict(outcome.missing)}")
    return outcome.calls / (time.perf_counter() - wall), outcome.calls / (time.process_time() - cpu)


def rerun_seconds(home: Path, count: int) -> tuple[float, float]:
    """CPU seconds to make the plan of ``count`` finished conversations, and to find that nothing is left to do."""
    small = plan_of(Setting.FULL, items=[pens(number) for number in range(count // 10)], runs=10)
    measure(small, home, 64)
    started = time.process_time()
    plan = plan_of(Setting.FULL, items=[pens(number) for number in range(count // 10)], runs=10)
    planned = time.process_time() - started
    started = time.process_time()
    with Ledger.open(home / "ledger") as ledger:
        pending = PendingConversations(plan, ledger, ConversationStore(home / "lake", plan.task.name, plan.model.alias))
    if pending.todo:
        raise SystemExit("finished work is not known as finished")
    return planned, time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--items", type=int, default=150)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--finished", type=int, default=20_000)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    items = [pens(number, shards=6) for number in range(options.items)]
    plan = plan_of(Setting.FULL, Setting.SHARDED, Setting.SNOWBALL, items=items, runs=options.runs)
    profile = cProfile.Profile() if options.profile else None
    with tempfile.TemporaryDirectory() as folder:  # What the first run imports is no cost per call.
        measure(plan_of(Setting.SHARDED, items=items[:5]), Path(folder), 8)
    print(f"{'in flight':>9} {'calls/s':>10} {'per CPU second':>15}")
    for connections in (8, 64):
        with tempfile.TemporaryDirectory() as folder:
            if profile is not None:
                profile.enable()
            rate, per_cpu = measure(plan, Path(folder), connections)
            if profile is not None:
                profile.disable()
        print(f"{connections:>9} {rate:>10,.0f} {per_cpu:>15,.0f}", flush=True)
    if profile is not None:
        pstats.Stats(profile).sort_stats("tottime").print_stats(35)
    elif options.finished:
        with tempfile.TemporaryDirectory() as folder:
            planned, known = rerun_seconds(Path(folder), options.finished)
        print(f"{options.finished:,} finished conversations: planned in {planned:.2f} s, known in {known:.2f} s of CPU")


if __name__ == "__main__":
    main()
