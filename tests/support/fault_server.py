"""A local HTTP server that speaks the OpenAI chat protocol and misbehaves on demand. Not a test module.

``FaultServer`` runs in a thread of the test's process; ``python fault_server.py --delay-ms 50`` runs it on its own and
prints its URL (GET /stats answers with its counts). Replies are a function of the request alone, so that a disturbed
run can be compared with an undisturbed one: ``fault_replies``. How they are sent or broken is in ``fault_connection``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys
import threading
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from typing import Any

from fault_connection import Connection
from fault_replies import Answer, hashed_answer

TRANSIENT = ("429", "429_after", "500", "502", "503_html", "529", "reset", "cut", "html")
"""Faults after which the same request may well succeed; none of them answers."""


class FaultServer:
    """``script`` names the faults of the next requests ("ok" = none); after it, ``chance`` draws them from ``seed``.

    ``allowed``: more requests in flight than this are answered 429. Counts: ``answered`` replies sent in full,
    ``faults`` by kind, ``repeats`` requests answered more than once, ``most_in_flight``, ``keys`` sent,
    names of ``headers``.
    """

    def __init__(
        self,
        script: Iterable[str] = (),
        *,
        chance: Mapping[str, float] | None = None,
        seed: int = 1,
        delay_s: float = 0.0,
        retry_after_s: float = 1.0,
        drip_s: float = 0.2,
        allowed: int | None = None,
        answer: Answer = hashed_answer,
        keep: bool = True,
        port: int = 0,
    ) -> None:
        self.script = deque(script)
        self.chance = dict(chance or {})
        self.delay_s = delay_s
        self.retry_after_s = retry_after_s
        self.drip_s = drip_s
        self.allowed = allowed
        self.answer = answer
        self.keep = keep
        self.requests = self.answered = self.in_flight = self.most_in_flight = 0
        self.connections = 0
        self.prompt_tokens = self.completion_tokens = 0
        self.faults: Counter[str] = Counter()
        self.bodies: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.keys: Counter[str] = Counter()
        self.headers: set[str] = set()
        self.times: list[float] = []
        self._by_request: Counter[str] = Counter()
        self._random = random.Random(seed)
        self._port = port
        self.loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._server: asyncio.Server | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> FaultServer:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)

    @property
    def url(self) -> str:
        """The base_url of a client."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def repeats(self) -> int:
        """Answers beyond the first to the same request."""
        return sum(count - 1 for count in self._by_request.values())

    def stats(self) -> dict[str, Any]:
        """Counts, as GET /stats gives them."""
        return {
            "requests": self.requests,
            "answered": self.answered,
            "repeats": self.repeats,
            "most_in_flight": self.most_in_flight,
            "faults": dict(self.faults),
        }

    def _serve(self) -> None:
        asyncio.set_event_loop(self.loop)
        self._server = self.loop.run_until_complete(
            self.loop.create_server(lambda: Connection(self), "127.0.0.1", self._port, backlog=1024)
        )
        self._port = self._server.sockets[0].getsockname()[1]
        self._ready.set()
        try:
            self.loop.run_forever()
        finally:
            self._server.close()
            for task in asyncio.all_tasks(self.loop):
                task.cancel()
            self.loop.run_until_complete(asyncio.sleep(0))
            self.loop.close()

    def next_fault(self) -> str:
        """The fault of this request, "ok" for none."""
        if self.script:
            return self.script.popleft()
        draw = self._random.random()
        for kind, share in self.chance.items():
            if draw < share:
                return kind
            draw -= share
        if self.allowed is not None and self.in_flight > self.allowed:
            return "429"
        return "ok"

    def count_answer(self, body: Mapping[str, Any], document: Mapping[str, Any]) -> None:
        """One reply was handed to the socket in full."""
        self.answered += 1
        usage = document.get("usage") or {}
        self.prompt_tokens += usage.get("prompt_tokens", 0)
        self.completion_tokens += usage.get("completion_tokens", 0)
        self._by_request[json.dumps(body, sort_keys=True)] += 1


def main() -> None:
    """Serve until standard input closes, so that the server never outlives whoever started it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay-ms", type=float, default=0.0)
    parser.add_argument("--fault", action="append", default=[], metavar="KIND=SHARE")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--play", action="store_true", help="answer the roles of an LLM simulator too")
    arguments = parser.parse_args()
    chance = {kind: float(share) for kind, _, share in (fault.partition("=") for fault in arguments.fault)}
    answer: Answer = hashed_answer
    if arguments.play:
        from role_answers import played_answer as answer
    delay_s = arguments.delay_ms / 1000
    with FaultServer(chance=chance, seed=arguments.seed, delay_s=delay_s, answer=answer, keep=False) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
