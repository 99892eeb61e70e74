"""What the engine costs per call: the whole engine against a bare asyncio loop with the same client and server.

    python bench/engine_overhead.py [--items 300] [--connections 64] [--delays 0 50 250]

The server is the fault server of the tests, without faults, in a process of its own. Beside it, an in-process stub
client shows what the engine alone can do (ledger, journal, conversation loop, lake), at 64 and at 8 calls in flight.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import cProfile
import pstats
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUPPORT = ROOT / "tests" / "support"
sys.path[:0] = [str(ROOT), str(SUPPORT)]

from fault_server import hashed_answer  # noqa: E402
from plans import entry_at, math_plan  # noqa: E402

from lic_pipeline.models import access  # noqa: E402
from lic_pipeline.models.clients import ModelClient, open_client  # noqa: E402
from lic_pipeline.models.ledger import Ledger  # noqa: E402
from lic_pipeline.models.registry import ModelEntry  # noqa: E402
from lic_pipeline.models.request import ModelRequest  # noqa: E402
from lic_pipeline.records import Message, Reply, Usage  # noqa: E402
from lic_pipeline.simulation.engine import run  # noqa: E402


class StubClient:
    """Answers at once, in this process, as the server would."""

    async def complete(self, request: ModelRequest) -> Reply:
        body = {"messages": [{"content": message.content} for message in request.messages]}
        return Reply(text=hashed_answer(body), model_returned="stub", usage=Usage(prompt=50, completion=9))

    async def close(self) -> None:
        return None


@contextlib.contextmanager
def server(delay_ms: float) -> Iterator[str]:
    """URL of a fault server in a process of its own."""
    command = [sys.executable, str(SUPPORT / "fault_server.py"), "--delay-ms", str(delay_ms)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.communicate(timeout=10)


def engine_rate(entry: ModelEntry, items: int, connections: int) -> tuple[float, float]:
    """Calls per second and CPU milliseconds per call of a whole run."""
    plan = math_plan(entry, items, stop="exhausted")
    with tempfile.TemporaryDirectory() as folder, Ledger.open(Path(folder) / "ledger") as ledger:
        started, cpu = time.perf_counter(), time.process_time()
        outcome = run(plan, ledger, Path(folder) / "lake", max_connections=connections)
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    assert outcome.complete
    return outcome.calls / seconds, 1000 * cpu / outcome.calls


def bare_rate(entry: ModelEntry, calls: int, connections: int) -> tuple[float, float]:
    """Calls per second and CPU milliseconds per call of a loop that does nothing but call."""

    async def loop() -> tuple[float, float]:
        client = await open_client(entry, connections)
        left = iter(range(calls))
        started, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(one(client, left) for _ in range(connections)))
        result = calls / (time.perf_counter() - started), 1000 * (time.process_time() - cpu) / calls
        await client.close()
        return result

    async def one(client: ModelClient, left: Iterator[int]) -> None:
        for number in left:
            text = f"Shop {number} has some boxes of pens and gives pens away. How many are left?"
            messages = (Message(role="system", content="You solve word problems."), Message(role="user", content=text))
            await client.complete(ModelRequest(entry.id, messages, {"max_tokens": 4096, "temperature": 1.0}))

    return asyncio.run(loop())


def with_stub(measure: Callable[[], tuple[float, float]]) -> tuple[float, float]:
    """Measure with the stub instead of a real client."""
    real = access.open_client

    async def stub(entry: ModelEntry, connections: int) -> ModelClient:
        return StubClient()

    access.open_client = stub
    try:
        return measure()
    finally:
        access.open_client = real


def main() -> None:
    """Print a table of rates and ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=300, help="items of the plan; about six calls each")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--delays", type=float, nargs="*", default=[0.0, 50.0, 250.0], metavar="MS")
    parser.add_argument("--profile", action="store_true", help="profile the stub run instead")
    arguments = parser.parse_args()
    limits = {"concurrency": arguments.connections}
    if arguments.profile:
        entry = entry_at("http://127.0.0.1:9/v1", limits=limits)
        profile = cProfile.Profile()
        with_stub(lambda: engine_rate(entry, 5, arguments.connections))
        with_stub(lambda: profile.runcall(engine_rate, entry, arguments.items, arguments.connections))
        pstats.Stats(profile).sort_stats("tottime").print_stats(40)
        return
    asyncio.run(_import_client())
    with_stub(lambda: engine_rate(entry_at("http://127.0.0.1:9/v1"), 5, 4))
    for delay in arguments.delays:
        with server(delay) as url:
            entry = entry_at(url, limits=limits)
            items = arguments.items
            bare, bare_cpu = bare_rate(entry, 6 * items, arguments.connections)
            engine, cpu = engine_rate(entry, items, arguments.connections)
        print(
            f"server {delay:3.0f} ms, {arguments.connections} in flight: engine {engine:6.0f} calls/s "
            f"({cpu:.2f} ms CPU), bare loop {bare:6.0f} ({bare_cpu:.2f} ms CPU), ratio {engine / bare:.2f}",
            flush=True,
        )
    for connections in (64, 8):
        entry = entry_at("http://127.0.0.1:9/v1", limits={"concurrency": connections})
        rate, cpu = with_stub(lambda: engine_rate(entry, arguments.items, connections))  # noqa: B023
        print(f"stub client, {connections:2d} in flight: engine {rate:6.0f} calls/s ({cpu:.2f} ms CPU)", flush=True)


async def _import_client() -> None:
    """Pay for the imports before the clock runs."""
    client = await open_client(entry_at("http://127.0.0.1:9/v1"), 1)
    await client.close()


if __name__ == "__main__":
    main()
