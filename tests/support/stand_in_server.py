"""A child process that keeps or breaks the contract of ``models.local.server``, as it is told. Not a test module."""

from __future__ import annotations

import http.server
import json
import os
import signal
import sys
import threading
import time


class _Health(http.server.BaseHTTPRequestHandler):
    ready = True

    def do_GET(self) -> None:
        self.send_response(200 if self.ready and self.path == "/health" else 503)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def main() -> None:
    how = sys.argv[1]
    if how == "busy":
        print("couldn't bind HTTP server socket, port: 1", file=sys.stderr)
        sys.exit(1)
    if how == "silent":
        time.sleep(60)
    if how == "garbage":
        print("Loading ...", flush=True)
        time.sleep(60)
    if how == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Health)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    _Health.ready = how != "never_ready"
    if how == "late":
        _Health.ready = False
        threading.Timer(0.3, lambda: setattr(_Health, "ready", True)).start()
    print(json.dumps({"url": f"http://127.0.0.1:{server.server_address[1]}"}), flush=True)
    if how == "dies":
        print("out of memory", file=sys.stderr, flush=True)
        time.sleep(0.3)
        os._exit(7)
    if how == "stubborn":
        time.sleep(60)
    sys.stdin.read()


if __name__ == "__main__":
    main()
