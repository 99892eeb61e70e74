"""What the engine costs per call: the whole engine against a bare asyncio loop with the same client and server.

    python bench/engine_overhead.py [--items 200] [--connections 64] [--delays 0 50 250]

User, classifier and extractor are played by models too; every call is durable before its conversation goes on. The
server is the fault server of the tests, without faults, in a process of its own. Two bare loops send the very requests
of the engine and throw the replies away: one through our own client, which uses the ``openai`` package sparingly, and
one through ``chat.completions.create`` of that package, as its documentation uses it. Beside them, an in-process stub
client shows what the engine alone can do (ledger, journal, roles, conversation loop, lake), at 64 and at 8 calls in
flight; pin that to one core (``taskset -c 0``). What replies were read as is forgotten before each try. Rates are the
best of ``--repeat`` tries; trust the processor time on a busy machine.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import cProfile
import os
import pstats
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import httpx2
from openai import AsyncOpenAI, DefaultAioHttpClient

ROOT = Path(__file__).resolve().parent.parent
SUPPORT = ROOT / "tests" / "support"
sys.path[:0] = [str(ROOT), str(SUPPORT)]

from math_plans import entry_at, math_plan  # noqa: E402
from role_answers import played_answer  # noqa: E402

from lic_pipeline.models.calling import model_access as access  # noqa: E402
from lic_pipeline.models.clients import ModelClient, open_client  # noqa: E402
from lic_pipeline.models.ledger import Ledger  # noqa: E402
from lic_pipeline.models.registry import ModelEntry, user_registry  # noqa: E402
from lic_pipeline.models.request import ModelRequest  # noqa: E402
from lic_pipeline.records import Reply, Usage  # noqa: E402
from lic_pipeline.simulation.engine.engine import run  # noqa: E402
from lic_pipeline.simulation.roles.message_literals import literals  # noqa: E402
from lic_pipeline.tasks.math.extract_number import find  # noqa: E402

NOWHERE = "http://127.0.0.1:9/v1"
Rate = tuple[float, float]
"""Calls per second of wall clock, and milliseconds of processor time per call."""


class StubClient:
    """Answers at once, in this process, as the server would; keeps the requests it was sent where that is wanted.

    What it has answered before it knows by heart: from the second try on it costs next to nothing.
    """

    sent: ClassVar[list[ModelRequest] | None] = None
    known: ClassVar[dict[tuple[str, ...], str]] = {}

    async def complete(self, request: ModelRequest) -> Reply:
        if self.sent is not None:
            self.sent.append(request)
        said = tuple(message.content for message in request.messages)
        text = self.known.get(said)
        if text is None:
            text = self.known[said] = played_answer({"messages": [{"content": content} for content in said]})
        return Reply(text=text, model_returned="stub", usage=Usage(prompt=50, completion=9))

    async def close(self) -> None:
        return None


@contextlib.contextmanager
def server(delay_ms: float) -> Iterator[str]:
    """URL of a fault server in a process of its own."""
    command = [sys.executable, str(SUPPORT / "fault_server.py"), "--play", "--delay-ms", str(delay_ms)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.communicate(timeout=10)


def roles_at(url: str, connections: int) -> ModelEntry:
    """The entry under test, with the models of the roles registered at the same place."""
    limits = f"limits: {{concurrency: {connections}}}"
    lines = [f"  - {{alias: {name}, id: local/{name}, base_url: '{url}', {limits}}}" for name in ("user", "system")]
    user_registry().parent.mkdir(exist_ok=True)
    user_registry().write_text("\n".join(["models:", *lines]) + "\n")
    return entry_at(url, limits={"concurrency": connections})


def engine_rate(entry: ModelEntry, items: int, connections: int, processes: int = 1) -> Rate:
    """A whole run; with several processes the processor time is that of this one."""
    find.cache_clear()
    literals.cache_clear()
    plan = math_plan(entry, items, stop="exhausted", simulator="llm", user_model="user", system_model="system")
    with tempfile.TemporaryDirectory() as folder, Ledger.open(Path(folder) / "ledger") as ledger:
        started, cpu = time.perf_counter(), time.process_time()
        outcome = run(plan, ledger, Path(folder) / "lake", max_connections=connections, processes=processes)
        seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    assert outcome.complete
    return outcome.calls / seconds, 1000 * cpu / outcome.calls


def bare_rate(entry: ModelEntry, requests: list[ModelRequest], connections: int) -> Rate:
    """A loop that does nothing but send these requests."""

    async def loop() -> Rate:
        client = await open_client(entry, connections)
        try:
            return await sent(client.complete, requests, connections)
        finally:
            await client.close()

    return asyncio.run(loop())


def documented_rate(entry: ModelEntry, requests: list[ModelRequest], connections: int) -> Rate:
    """The same loop over the ``openai`` package as its documentation uses it, on its faster transport."""

    async def loop() -> Rate:
        transport = DefaultAioHttpClient(limits=httpx2.Limits(max_connections=connections))
        async with AsyncOpenAI(api_key="none", base_url=entry.base_url, http_client=transport) as client:

            async def create(request: ModelRequest) -> object:
                messages: Any = [{"role": message.role, "content": message.content} for message in request.messages]
                model = request.model.partition("/")[2]
                return await client.chat.completions.create(model=model, messages=messages, **request.parameters)

            return await sent(create, requests, connections)

    return asyncio.run(loop())


async def sent(
    send: Callable[[ModelRequest], Awaitable[object]], requests: list[ModelRequest], connections: int
) -> Rate:
    """Send all requests, so many at once."""
    left = iter(requests)

    async def one() -> None:
        for request in left:
            await send(request)

    started, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(one() for _ in range(connections)))
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    return len(requests) / seconds, 1000 * cpu / len(requests)


def best(measure: Callable[[], Rate], repeat: int) -> Rate:
    """The best of some tries: highest rate, lowest processor time."""
    rates = [measure() for _ in range(repeat)]
    return max(rate for rate, _ in rates), min(cpu for _, cpu in rates)


def with_stub(measure: Callable[[], Rate]) -> Rate:
    """Measure with the stub instead of a real client."""
    real = access.open_client

    async def stub(entry: ModelEntry, connections: int) -> ModelClient:
        return StubClient()

    access.open_client = stub
    try:
        return measure()
    finally:
        access.open_client = real


def recorded(items: int, connections: int) -> list[ModelRequest]:
    """The requests of a run, in the order they were sent."""
    StubClient.sent = requests = []
    try:
        with_stub(lambda: engine_rate(roles_at(NOWHERE, connections), items, connections))
    finally:
        StubClient.sent = None
    return requests


def against_server(delay: float, items: int, connections: int, repeat: int, processes: int) -> None:
    """Engine and bare loop at a server that takes ``delay`` milliseconds."""
    requests = recorded(items, connections)
    with server(delay) as url:
        entry = roles_at(url, connections)
        documented, documented_cpu = best(lambda: documented_rate(entry, requests, connections), repeat)
        bare, bare_cpu = best(lambda: bare_rate(entry, requests, connections), repeat)
        engine, cpu = best(lambda: engine_rate(entry, items, connections, processes), repeat)
    ideal = f", ideal {connections / delay * 1000:5.0f}" if delay else ""
    print(
        f"server {delay:3.0f} ms, {connections} in flight, {len(requests)} calls: engine {engine:6.0f} calls/s "
        f"({cpu:.2f} ms CPU), bare loop {bare:6.0f} ({bare_cpu:.2f} ms CPU), ratio {engine / bare:.2f}; "
        f"openai as documented {documented:6.0f} ({documented_cpu:.2f} ms CPU), ratio {engine / documented:.2f}{ideal}",
        flush=True,
    )


def main() -> None:
    """Print a table of rates and ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=200, help="items of the plan; about 15 calls each")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--delays", type=float, nargs="*", default=[0.0, 50.0, 250.0], metavar="MS")
    parser.add_argument("--processes", type=int, default=1, help="processes of the engine; the bare loop has one")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--profile", action="store_true", help="profile the stub run instead")
    arguments = parser.parse_args()
    items, connections = arguments.items, arguments.connections
    with tempfile.TemporaryDirectory() as home:
        os.environ["LIC_HOME"] = home
        asyncio.run(_import_client())
        with_stub(lambda: engine_rate(roles_at(NOWHERE, 4), 5, 4))
        if arguments.profile:
            profile = cProfile.Profile()
            entry = roles_at(NOWHERE, connections)
            with_stub(lambda: profile.runcall(engine_rate, entry, items, connections))
            pstats.Stats(profile).sort_stats("tottime").print_stats(40)
            return
        for delay in arguments.delays:
            against_server(delay, items, connections, arguments.repeat, arguments.processes)
        for in_flight in (64, 8):
            entry = roles_at(NOWHERE, in_flight)
            rate, cpu = best(
                lambda: with_stub(lambda: engine_rate(entry, items, in_flight)),  # noqa: B023
                arguments.repeat,
            )
            print(f"stub client, {in_flight:2d} in flight: engine {rate:6.0f} calls/s ({cpu:.2f} ms CPU)", flush=True)


async def _import_client() -> None:
    """Pay for the imports before the clock runs."""
    client = await open_client(entry_at(NOWHERE), 1)
    await client.close()


if __name__ == "__main__":
    main()
