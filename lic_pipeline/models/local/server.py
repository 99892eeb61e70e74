"""A model server as a child process: started on a free loopback port, waited for, always stopped.

Contract of the child: it prints one line ``{"url": ...}`` when it listens, answers ``GET /health`` with 200 when it is
ready, and ends when its standard input does. So it is gone however this process ends, ``kill -9`` included.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue

from lic_pipeline.errors import LicError
from lic_pipeline.models.redaction import without_credentials

CONTEXT = 8192
_MOST_THREADS = 2
_STOP_SECONDS = 3.0
_POLL_SECONDS = 0.1


class LocalServerError(LicError):
    """The server did not start, or is gone; the message says why and names its log."""


class LocalServer:
    """``with LocalServer(command, log) as server``: ``server.url`` is a base_url as long as the block runs."""

    def __init__(self, command: Sequence[str], log: Path, start_seconds: float = 120.0) -> None:
        self.url = ""
        self._command = list(command)
        self._log = log
        self._start_seconds = start_seconds
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> LocalServer:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int | None:
        """Process id of the server, None when it was not started or was stopped."""
        return None if self._process is None else self._process.pid

    def require_alive(self) -> None:
        """Raise LocalServerError when the server has ended by itself."""
        if self._process is not None and self._process.poll() is not None:
            raise LocalServerError(f"the local model server ended by itself ({self._ending()})")

    def stop(self) -> None:
        """End the server, by force where it does not go by itself. Safe to call again."""
        process, self._process = self._process, None
        if process is None:
            return
        try:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_SECONDS)
        finally:
            # Also when a second Ctrl-C cuts the waiting short.
            process.kill()
            process.wait()
            # Not before it is dead: closing waits for whoever reads from it.
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    stream.close()

    def _start(self) -> None:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        until = time.monotonic() + self._start_seconds
        # libgomp's threads spin while they wait: with busy neighbours that cost ten times the speed.
        environment = {**without_credentials(os.environ), "GOMP_SPINCOUNT": "1000"}
        with self._log.open("wb") as log:
            # A session of its own: a Ctrl-C at the terminal is for the run, which then stops the server.
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=environment,
                start_new_session=True,
            )  # fmt: skip
        root = self._told_url(self._process, until).rstrip("/")
        while not _healthy(f"{root}/health"):
            if self._process.poll() is not None or time.monotonic() >= until:
                raise LocalServerError(f"the local model server did not become ready ({self._ending()})")
            time.sleep(_POLL_SECONDS)
        self.url = f"{root}/v1"

    def _told_url(self, process: subprocess.Popen[bytes], until: float) -> str:
        lines: SimpleQueue[bytes] = SimpleQueue()
        assert process.stdout is not None
        threading.Thread(target=_first_line, args=(process.stdout, lines), daemon=True).start()
        try:
            line = lines.get(timeout=max(0.0, until - time.monotonic()))
            return str(json.loads(line)["url"])
        except Empty:
            problem = f"said nothing within {self._start_seconds:g} s"
        except (ValueError, KeyError, TypeError):
            problem = "did not start"
            with suppress(subprocess.TimeoutExpired):
                process.wait(_STOP_SECONDS)
        raise LocalServerError(f"the local model server {problem} ({self._ending()})")

    def _ending(self) -> str:
        """How it ended, the last line it logged and where the rest is."""
        code = None if self._process is None else self._process.poll()
        state = "still running" if code is None else f"exit code {code}"
        with suppress(OSError):
            lines = self._log.read_text(encoding="utf-8", errors="replace").split("\n")
            last = next((line.strip() for line in reversed(lines) if line.strip()), "")
            state += f", last words: {last[:200]}" if last else ""
        return f"{state}; log: {self._log}"


def serve_command(weights: Path) -> list[str]:
    """What to start for these weights: this interpreter on ``models.local.serve``."""
    threads = max(1, min(_MOST_THREADS, os.cpu_count() or 1))
    # Nothing is imported from the folder lic is called in: a file there may bear a library's name.
    module = ("-P", "-m", "lic_pipeline.models.local.serve")
    return [sys.executable, *module, str(weights), str(threads), str(CONTEXT)]


def _first_line(stream: object, lines: SimpleQueue[bytes]) -> None:
    try:
        lines.put(stream.readline())  # type: ignore[attr-defined]
    except (OSError, ValueError):
        lines.put(b"")


def _healthy(url: str) -> bool:
    # Never through a proxy: it would be asked for its own loopback.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=5) as response:
            return bool(response.status == 200)
    except (OSError, ValueError):
        return False
