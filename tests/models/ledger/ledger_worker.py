"""A process of its own for the tests of the ledger: ``python ledger_worker.py COMMAND TARGET ARGUMENTS...``.

Prints one line per thing that is durable, so that the test can compare after a kill. Not a test module.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import sys
from typing import Any

from lic_pipeline.errors import StorageError
from lic_pipeline.models.ledger import CallKey, Ledger

REPLY: dict[str, Any] = {"text": "x" * 300, "usage": {"prompt": 3, "completion": 4}, "cost_usd": 0.001}


def say(text: str) -> None:
    """One line to the test, unbuffered, in one write."""
    os.write(1, f"{text}\n".encode())


async def write_forever(target: str, name: str) -> None:
    """32 conversations at once; says conversation, turn of each call after it was reported as durable."""
    with Ledger.open(target) as ledger:

        async def one(number: int) -> None:
            cid = f"{name}-{number}"
            await ledger.claim([cid])
            turn = 0
            while True:
                turn += 1
                ledger.record_decision(cid, "label", turn, turn, "1")
                await ledger.record_call(cid, CallKey("assistant", turn), f"h{turn}", {}, REPLY, budget_scope="run")
                say(f"{cid} {turn}")

        await asyncio.gather(*(one(number) for number in range(32)))


async def claim_all(target: str, count: int) -> None:
    """Claim the same ids as everybody, in another order, a few at a time; says what was won."""
    ids = [f"c{number}" for number in range(count)]
    if os.getpid() % 2:
        ids.reverse()
    with Ledger.open(target) as ledger:
        say("ready")
        sys.stdin.readline()
        won: set[str] = set()
        for start in range(0, count, 16):
            won |= (await ledger.claim(ids[start : start + 16])).ids
            await asyncio.sleep(0)
        say(json.dumps(sorted(won)))
        sys.stdin.readline()  # Keep the claims until the test has seen both.


async def spend(target: str, name: str, count: int) -> None:
    """``count`` calls of 0.5 USD and 10 tokens on one budget."""
    with Ledger.open(target) as ledger:
        calls = (
            ledger.record_call(name, CallKey("user", turn), "h", {}, {}, budget_scope="run", cost_usd=0.5, tokens=10)
            for turn in range(count)
        )
        await asyncio.gather(*calls)


async def hold(target: str, *ids: str) -> None:
    """Claim, join the live runs of "p", and live on until killed."""
    with Ledger.open(target) as ledger:
        say(json.dumps([sorted((await ledger.claim(ids)).ids), ledger.live_runs("p")]))
        await asyncio.sleep(600)


async def short_lease(target: str) -> None:
    """Claim c with a lease of half a second and store a call whenever the test says so."""
    with Ledger.open(target, lease_s=0.5, heartbeat_s=0.1) as ledger:
        ledger.live_runs("p")
        say(str(sorted((await ledger.claim(["c", "d"])).ids)))
        for turn, _ in enumerate(sys.stdin):
            for cid in ("c", "d"):
                try:
                    stored = await ledger.record_call(cid, CallKey("assistant", turn), "h", {}, REPLY)
                    say(f"{cid} {stored}")
                except StorageError as error:
                    say(f"{cid} {type(error).__name__}")


async def full_disk(target: str, limit: int) -> None:
    """No file may grow beyond ``limit`` bytes; says how many calls were stored and what the errors were."""
    with Ledger.open(target) as ledger:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        stored = 0
        outcomes: list[Any] = []
        for turn in range(10_000):
            keys = [CallKey(role, turn) for role in ("assistant", "user", "classifier")]
            outcomes = await asyncio.gather(
                *(ledger.record_call("c", key, "h", {}, REPLY) for key in keys), return_exceptions=True
            )
            stored += sum(outcome is True for outcome in outcomes)
            if not all(outcome is True for outcome in outcomes):
                break
        later = await asyncio.gather(ledger.flush(), ledger.claim(["z"]), return_exceptions=True)
        errors = [type(outcome).__name__ for outcome in (*outcomes, *later)]
        say(json.dumps({"stored": stored, "errors": errors, "message": str(later[0])}))


def main() -> None:
    command, *arguments = sys.argv[1:]
    work = {
        "write": lambda target, name: write_forever(target, name),
        "claim": lambda target, count: claim_all(target, int(count)),
        "spend": lambda target, name, count: spend(target, name, int(count)),
        "hold": hold,
        "lease": short_lease,
        "full": lambda target, limit: full_disk(target, int(limit)),
    }[command]
    asyncio.run(work(*arguments))


if __name__ == "__main__":
    main()
