"""A local HTTP server that speaks the OpenAI chat protocol and misbehaves on demand. Not a test module.

``FaultServer`` runs in a thread of the test's process; ``python fault_server.py --delay-ms 50`` runs it on its own and
prints its URL (GET /stats answers with its counts). Replies are a function of the request alone, so that a disturbed
run can be compared with an undisturbed one.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import random
import re
import socket
import struct
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from email.utils import formatdate
from time import time
from typing import Any

Answer = Callable[[Mapping[str, Any]], str]

HTML = "<html><head><title>Bad gateway</title></head><body><h1>502</h1><p>nginx</p></body></html>"
TRANSIENT = ("429", "429_after", "500", "502", "503_html", "529", "reset", "cut", "html")
"""Faults after which the same request may well succeed; none of them answers."""

_STATUS = {"429": 429, "429_after": 429, "429_date": 429, "500": 500, "502": 502, "503_html": 503, "529": 529}
_ERRORS: dict[str, tuple[int, dict[str, Any]]] = {
    "400": (400, {"message": "Invalid value for 'top_p'", "type": "invalid_request_error", "code": None}),
    "400_context": (
        400,
        {"message": "This model's maximum context length is 128 tokens.", "code": "context_length_exceeded"},
    ),
    "500_context": (500, {"message": "the request exceeds the available context size", "code": 500}),
    "400_filter": (400, {"message": "The prompt was filtered", "code": "content_filter"}),
    "401": (401, {"message": "Incorrect API key provided", "code": "invalid_api_key"}),
    "403": (403, {"message": "Not allowed"}),
    "404": (404, {"message": "The model does not exist", "code": "model_not_found"}),
    "429_quota": (429, {"message": "You exceeded your current quota", "code": "insufficient_quota"}),
}
_SILENT = frozenset({"reset", "cut", "hang"})
_RESET = struct.pack("ii", 1, 0)


def hashed_answer(body: Mapping[str, Any]) -> str:
    """A reply from the hash of the messages: a number of the conversation, or a question, or prose."""
    text = "\n".join(str(message.get("content")) for message in body.get("messages", []))
    draw = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")
    numbers = re.findall(r"\d+", text) or ["7"]
    kinds = (
        f"Let me think it over.\n\nThe answer is {numbers[draw % len(numbers)]}.",
        "What exactly do you need?",
        "Noted.",
    )
    return kinds[0] if draw % 5 < 3 else kinds[1 + draw % 2]


def completion(text: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """A well-formed chat completion."""
    words = sum(len(str(message.get("content")).split()) for message in body.get("messages", []))
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": str(body.get("model")),
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": words, "completion_tokens": len(text.split()), "total_tokens": words},
    }


def _odd(kind: str, text: str, document: dict[str, Any]) -> bool:
    """Turn a good document into an odd but answered one; False when ``kind`` is no oddity."""
    choice = document["choices"][0]
    message = choice["message"]
    if kind == "empty_choices":
        document["choices"] = []
    elif kind == "null_choices":
        document["choices"] = None
    elif kind == "null_message":
        choice["message"] = None
    elif kind == "null_content":
        message["content"] = None
    elif kind == "parts":
        message["content"] = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": text}]
    elif kind == "tool_calls":
        message["content"] = None
        message["tool_calls"] = [
            {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}},
            {"id": "2", "type": "function", "function": {"name": "sub", "arguments": {"b": 2}}},
        ]
        choice["finish_reason"] = "tool_calls"
    elif kind == "no_usage":
        del document["usage"]
    elif kind == "null_details":
        document["usage"] |= {"prompt_tokens_details": None, "completion_tokens_details": None}
    elif kind == "details":
        document["usage"] |= {
            "prompt_tokens_details": {"cached_tokens": 2},
            "completion_tokens_details": {"reasoning_tokens": 3},
        }
    elif kind in ("length", "content_filter"):
        choice["finish_reason"] = kind
    elif kind == "null_finish":
        choice["finish_reason"] = None
    elif kind == "think":
        message["content"] = f"<think>secret plan 999</think>\n{text}"
    elif kind == "think_open":
        message["content"] = f"<think>secret plan 999 {text}"
    elif kind == "reasoning_field":
        message["reasoning_content"] = "secret plan 999"
    elif kind == "surrogate":
        message["content"] = f"{text} \ud83d"
    elif kind == "refusal_field":
        message |= {"content": None, "refusal": "I cannot help with that."}
    else:
        return False
    return True


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
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._server: asyncio.Server | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> FaultServer:
        self._thread.start()
        assert self._ready.wait(10)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
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
        asyncio.set_event_loop(self._loop)
        self._server = self._loop.run_until_complete(
            self._loop.create_server(lambda: _Connection(self), "127.0.0.1", self._port, backlog=1024)
        )
        self._port = self._server.sockets[0].getsockname()[1]
        self._ready.set()
        try:
            self._loop.run_forever()
        finally:
            self._server.close()
            for task in asyncio.all_tasks(self._loop):
                task.cancel()
            self._loop.run_until_complete(asyncio.sleep(0))
            self._loop.close()

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


class _Connection(asyncio.Protocol):
    """Just enough HTTP/1.1: content-length bodies, keep-alive, one request at a time."""

    def __init__(self, server: FaultServer) -> None:
        self.server = server
        self.buffer = b""
        self.authorization = ""
        self.dripping: asyncio.Future[None] | None = None
        self.transport: asyncio.Transport = None  # type: ignore[assignment]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.server.connections += 1

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (request := self._next_request()) is not None:
            self._handle(*request)

    def _next_request(self) -> tuple[str, dict[str, str], bytes] | None:
        head, mark, rest = self.buffer.partition(b"\r\n\r\n")
        if not mark:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        length = int(headers.get("content-length", "0"))
        if len(rest) < length:
            return None
        self.buffer = rest[length:]
        return first, headers, rest[:length]

    def _handle(self, first: str, headers: dict[str, str], content: bytes) -> None:
        server = self.server
        method, path, _ = first.split(" ", 2)
        if method == "GET":
            self._send(200, json.dumps(server.stats()).encode())
            return
        server.requests += 1
        server.in_flight += 1
        server.most_in_flight = max(server.most_in_flight, server.in_flight)
        self.authorization = headers.get("authorization", "")
        server.keys[self.authorization] += 1
        server.headers.update(headers)
        body = json.loads(content)
        if server.keep:
            server.bodies.append(body)
            server.paths.append(path)
            server.times.append(time())
        kind = server.next_fault()
        if server.delay_s:
            server._loop.call_later(server.delay_s, self._answer, kind, body)
        else:
            self._answer(kind, body)

    def _answer(self, kind: str, body: dict[str, Any]) -> None:
        server = self.server
        if kind != "ok":
            server.faults[kind] += 1
        if kind == "hang":
            return
        server.in_flight -= 1
        if self.transport.is_closing():
            return
        if kind == "echo_401":
            text = f"Incorrect API key provided: {self.authorization}"
            self._send(401, json.dumps({"error": {"message": text}}).encode(), {"X-Key": self.authorization})
        elif kind in _SILENT:
            self._break(kind)
        elif kind in _STATUS:
            self._refuse(kind)
        elif kind in _ERRORS:
            status, error = _ERRORS[kind]
            self._send(status, json.dumps({"error": error}).encode())
        elif kind == "html":
            self._send(200, HTML.encode(), {"Content-Type": "text/html"})
        elif kind == "error200":
            self._send(200, b'{"error": {"message": "upstream overloaded", "code": 503}}')
        else:
            self._reply(kind, body)

    def _reply(self, kind: str, body: dict[str, Any]) -> None:
        text = self.server.answer(body)
        document = completion(text, body)
        known = kind in ("ok", "drip") or _odd(kind, text, document)
        assert known, f"unknown fault {kind!r}"
        content = json.dumps(document).encode()
        if kind == "drip":
            self.dripping = asyncio.ensure_future(self._drip(content))
            return
        self.server.count_answer(body, document)
        self._send(200, content)

    def _refuse(self, kind: str) -> None:
        headers = {}
        if kind == "429_after":
            headers["Retry-After"] = f"{self.server.retry_after_s:g}"
        if kind == "429_date":
            headers["Date"] = formatdate(time(), usegmt=True)
            headers["Retry-After"] = formatdate(time() + self.server.retry_after_s, usegmt=True)
        if kind in ("502", "503_html"):
            self._send(_STATUS[kind], HTML.encode(), {"Content-Type": "text/html"})
            return
        content = json.dumps({"error": {"message": f"try again later ({kind})"}}).encode()
        self._send(_STATUS[kind], content, headers)

    def _break(self, kind: str) -> None:
        """``reset``: a TCP reset in the middle of the body; ``cut``: closed in the middle of it."""
        self.transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n" + b'{"id": "x'
        )
        if kind == "reset":
            with contextlib.suppress(OSError):
                self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self.server._loop.call_later(0.005, self.transport.abort)
        else:
            self.transport.close()

    async def _drip(self, content: bytes) -> None:
        self.transport.write(_head(200, len(content), {}))
        for byte in content:
            if self.transport.is_closing():
                return
            self.transport.write(bytes([byte]))
            await asyncio.sleep(self.server.drip_s)

    def _send(self, status: int, content: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.transport.write(_head(status, len(content), headers or {}) + content)


def _head(status: int, length: int, headers: Mapping[str, str]) -> bytes:
    lines = {"Content-Type": "application/json", **headers, "Content-Length": str(length)}
    text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} Status\r\n{text}\r\n".encode("latin-1")


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
        from playing import played_answer as answer
    delay_s = arguments.delay_ms / 1000
    with FaultServer(chance=chance, seed=arguments.seed, delay_s=delay_s, answer=answer, keep=False) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        sys.stdin.read()


if __name__ == "__main__":
    main()
