"""Durable calls per second of the ledger, at several numbers of calls in flight, beside a plain in-memory loop.

Run: ``python bench/ledger_throughput.py [--calls N] [--target FOLDER_OR_URL] [--reply-chars N]``. Pin it to one core
(``taskset -c 0``) for the figure of the design; on a shared machine trust the calls per CPU second (both threads
of the process). The in-memory loop does the same awaiting and keeps the rows in a dict.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from lic_pipeline.models.ledger import CallKey, Ledger

Record = Callable[[str, CallKey, str, dict[str, str], dict[str, Any]], Awaitable[object]]
TURNS = 14


def sample_reply(characters: int) -> dict[str, Any]:
    """The JSON of a reply with ``characters`` of text."""
    return {
        "text": ("The total of the three bags is twelve, so each child gets four. " * 100)[:characters],
        "reasoning": "",
        "tool_calls": [],
        "finish_reason": "stop",
        "model_returned": "bench-1",
        "usage": {"prompt": 400, "completion": 90, "reasoning": None, "cached": 0},
        "cost_usd": 0.0004,
        "flags": [],
    }


async def drive(record: Record, prefix: str, calls: int, in_flight: int, reply: dict[str, Any]) -> float:
    """Calls per second with ``in_flight`` conversations of 14 calls at once."""
    fields = {name: f"{index:064x}" for index, name in enumerate(("model", "system", "messages", "parameters"))}
    numbers = iter(range(calls // TURNS))

    async def worker() -> None:
        for number in numbers:
            for turn in range(1, TURNS + 1):
                await record(f"{prefix}{number:032x}", CallKey("assistant", turn, 0), "f" * 64, fields, reply)

    start = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(in_flight)))
    return calls // TURNS * TURNS / (time.perf_counter() - start)


async def measure(target: str, calls: int, reply: dict[str, Any]) -> None:
    kept: dict[tuple[str, CallKey], object] = {}

    async def remember(cid: str, key: CallKey, digest: str, fields: dict[str, str], value: dict[str, Any]) -> None:
        kept[cid, key] = (digest, dict(fields), dict(value))
        await asyncio.sleep(0)

    print(f"{'in flight':>9} {'durable calls/s':>16} {'per CPU second':>15} {'in memory':>12} {'ratio':>7}")
    for in_flight in (1, 8, 64, 256):
        share = max(TURNS * in_flight, calls // (8 if in_flight == 1 else 1))
        memory = await drive(remember, "m", share, in_flight, reply)
        with Ledger.open(target) as ledger:
            prefix = f"{in_flight}-{time.time_ns():x}-"
            ids = [f"{prefix}{number:032x}" for number in range(share // TURNS)]
            await ledger.claim(ids)
            cpu = time.process_time()
            rate = await drive(ledger.record_call, prefix, share, in_flight, reply)
            per_cpu = share // TURNS * TURNS / (time.process_time() - cpu)
            stored = ledger.load(ids[:1])[ids[0]]
            if len(stored.calls) != TURNS:
                raise SystemExit(f"only {len(stored.calls)} of {TURNS} calls of {ids[0]} are stored")
        print(f"{in_flight:>9} {rate:>16,.0f} {per_cpu:>15,.0f} {memory:>12,.0f} {memory / rate:>7.1f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--calls", type=int, default=40_000)
    parser.add_argument("--reply-chars", type=int, default=400)
    parser.add_argument("--target", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        target = options.target or str(Path(folder) / "ledger")
        asyncio.run(measure(target, options.calls, sample_reply(options.reply_chars)))


if __name__ == "__main__":
    main()
