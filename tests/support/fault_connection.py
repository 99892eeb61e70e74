"""One HTTP connection of the fault server: it reads requests; answers, refuses or breaks them. Not a test module."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import Mapping
from email.utils import formatdate
from time import time
from typing import TYPE_CHECKING, Any

from fault_replies import ERRORS, HTML, completion, make_odd

if TYPE_CHECKING:
    from fault_server import FaultServer

_STATUS = {"429": 429, "429_after": 429, "429_date": 429, "500": 500, "502": 502, "503_html": 503, "529": 529}
_SILENT = frozenset({"reset", "cut", "hang"})
_RESET = struct.pack("ii", 1, 0)


class Connection(asyncio.Protocol):
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
            server.loop.call_later(server.delay_s, self._answer, kind, body)
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
        elif kind in ERRORS:
            status, error = ERRORS[kind]
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
        known = kind in ("ok", "drip") or make_odd(kind, text, document)
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
            self.server.loop.call_later(0.005, self.transport.abort)
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
