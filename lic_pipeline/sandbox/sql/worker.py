"""The child process: opens databases for reading only and answers one query after another over its pipes.

Run as a program (``python -I -S worker.py PARENT_PID``), never imported by the parent, and imports nothing but the
standard library. A frame is four bytes of length (big endian) and JSON. The child trusts its parent and nobody else:
every statement goes through an authorizer, a progress handler and size limits. What those cannot stop (one opcode
that runs on and on) the reader thread ends by ending the process. Limits are explained in docs/sandbox_sql.md.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import queue
import resource
import select
import sqlite3
import struct
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

EXIT_CPU = 75
ADDRESS_SPACE = 768 * 2**20
SQLITE_HEAP = 256 * 2**20
VALUE_BYTES = 8_000_000
SCHEMA_VALUE_BYTES = 64_000_000
OPEN_DATABASES = 16
FORBIDDEN_FUNCTIONS = frozenset(
    {"load_extension", "printf", "format", "fts3_tokenizer", "readfile", "writefile", "edit"}
)
READING = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE})
BUILD_DENIED = frozenset({sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH})

cpu_deadline: list[float] = [float("inf")]
"""CPU second of this process at which the reader thread ends it; one cell, shared by both threads."""


class OutputTooLargeError(Exception):
    """The rows of a result exceed the byte limit."""


def limit_process() -> None:
    """Cap address space, forbid writing files, core dumps and new processes where the system lets us."""
    for what, value in (
        (resource.RLIMIT_AS, ADDRESS_SPACE),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 64),
    ):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(what, (value, value))


def read_frames(frames: queue.SimpleQueue[bytes], parent: int) -> None:
    """Queue incoming frames; end the process when the parent is gone or a query has outrun its CPU time."""
    buffer = b""
    while True:
        ready, _, _ = select.select([0], [], [], 0.25)
        if os.getppid() != parent:
            os._exit(0)
        if time.process_time() > cpu_deadline[0]:
            os._exit(EXIT_CPU)
        if not ready:
            continue
        chunk = os.read(0, 1 << 20)
        if not chunk:
            os._exit(0)
        buffer += chunk
        while len(buffer) >= 4:
            (size,) = struct.unpack(">I", buffer[:4])
            if len(buffer) < 4 + size:
                break
            frames.put(buffer[4 : 4 + size])
            buffer = buffer[4 + size :]


def send(message: dict[str, Any]) -> None:
    """Write one frame to the pipe that was standard output."""
    body = json.dumps(message).encode()
    data = memoryview(struct.pack(">I", len(body)) + body)
    while data:
        data = data[os.write(1, data) :]


def reading_only(denied: list[str]) -> Callable[..., int]:
    """An authorizer that allows reading and notes in ``denied`` what it refused."""

    def decide(action: int, first: str | None, second: str | None, *_: str | None) -> int:
        if action in READING:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() not in FORBIDDEN_FUNCTIONS:
            return sqlite3.SQLITE_OK
        denied.append(f"{action}:{second or first or ''}"[:80])
        return sqlite3.SQLITE_DENY

    return decide


def building(action: int, first: str | None, second: str | None, *_: str | None) -> int:
    """Authorizer for schema text: everything inside the own memory, no other file, no pragma with an effect."""
    if action in BUILD_DENIED:
        return sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_PRAGMA:
        return sqlite3.SQLITE_IGNORE
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in FORBIDDEN_FUNCTIONS:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


def set_limits(connection: sqlite3.Connection, value_bytes: int) -> None:
    """Size limits that keep one value, one pattern or one statement small."""
    for what, value in (
        (sqlite3.SQLITE_LIMIT_LENGTH, value_bytes),
        (sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 500),
        (sqlite3.SQLITE_LIMIT_ATTACHED, 0),
        (sqlite3.SQLITE_LIMIT_COMPOUND_SELECT, 100),
        (sqlite3.SQLITE_LIMIT_VDBE_OP, 250_000),
    ):
        connection.setlimit(what, value)


def watch_time(connection: sqlite3.Connection, seconds: float) -> None:
    """Interrupt the connection's statement after so many CPU seconds; the reader thread is the second line."""
    end = time.process_time() + seconds
    cpu_deadline[0] = end + 0.5
    connection.set_progress_handler(lambda: time.process_time() > end, 2_000)


def open_source(request: dict[str, Any]) -> sqlite3.Connection:
    """A connection to the request's file, or to a fresh memory database built from its script."""
    if "uri" in request:
        connection = sqlite3.connect(request["uri"], uri=True, isolation_level=None, cached_statements=0)
        connection.execute("PRAGMA temp_store=MEMORY")
        watch_time(connection, request["seconds"])
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    else:
        connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=0)
        connection.execute("PRAGMA temp_store=MEMORY")
        set_limits(connection, SCHEMA_VALUE_BYTES)
        watch_time(connection, request["build_seconds"])
        connection.set_authorizer(building)
        connection.executescript(request["script"])
        connection.set_authorizer(None)
        if connection.in_transaction:
            connection.commit()
    connection.execute("PRAGMA query_only=ON")
    connection.execute(f"PRAGMA hard_heap_limit={SQLITE_HEAP}")
    set_limits(connection, VALUE_BYTES)
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    return connection


def plain(value: Any) -> Any:
    """A cell as JSON: blobs become a one-element list of base64, everything else is itself."""
    return [base64.b64encode(value).decode()] if isinstance(value, bytes) else value


def fetch(cursor: sqlite3.Cursor, max_rows: int, max_bytes: int) -> tuple[list[list[Any]], bool]:
    """Up to ``max_rows`` rows and whether more were there. Raises OutputTooLargeError."""
    rows: list[list[Any]] = []
    total = 0
    for row in cursor:
        if len(rows) == max_rows:
            return rows, True
        total += sum(len(cell) if isinstance(cell, str | bytes) else 8 for cell in row)
        if total > max_bytes:
            raise OutputTooLargeError
        rows.append([plain(cell) for cell in row])
    return rows, False


def run(connection: sqlite3.Connection, request: dict[str, Any]) -> dict[str, Any]:
    """Execute the request's one statement under its limits; never raises for anything the statement does."""
    denied: list[str] = []
    connection.set_authorizer(reading_only(denied))
    watch_time(connection, request["seconds"])
    cursor = connection.cursor()
    try:
        cursor.execute(request["sql"])
        if cursor.description is None:
            return {"status": "denied", "message": "the statement returns no rows"}
        names = [column[0] for column in cursor.description]
        rows, more = fetch(cursor, request["max_rows"], request["max_bytes"])
        return {"status": "ok", "columns": names, "rows": rows, "more": more}
    except OutputTooLargeError:
        return {"status": "too_large", "message": "the result is larger than the byte limit"}
    except MemoryError:
        return {"status": "memory", "message": "out of memory"}
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        return classify(error, denied)
    finally:
        cpu_deadline[0] = float("inf")
        cursor.close()
        connection.set_authorizer(None)
        connection.set_progress_handler(None, 0)


def classify(error: Exception, denied: list[str]) -> dict[str, Any]:
    """What kind of trouble an exception of sqlite3 is."""
    text = str(error)[:500]
    if denied:
        return {"status": "denied", "message": f"{text} ({denied[0]})"}
    if text == "interrupted":
        return {"status": "timeout", "message": "the query ran out of time"}
    if "malformed" in text and "disk image" in text:
        return {"status": "unavailable", "message": text}
    return {"status": "error", "message": text}


def answer(request: dict[str, Any], opened: OrderedDict[str, sqlite3.Connection]) -> dict[str, Any]:
    """Serve one request from the cache of open databases, opening the source when it is new."""
    key = request["key"]
    if key not in opened:
        while len(opened) >= OPEN_DATABASES:
            opened.popitem(last=False)[1].close()
        try:
            opened[key] = open_source(request)
        except (sqlite3.Error, sqlite3.Warning, ValueError, MemoryError) as error:
            what = "database cannot be read" if "uri" in request else "schema cannot be built"
            return {"status": "unavailable", "message": f"{what}: {str(error)[:300] or 'out of memory'}"}
    opened.move_to_end(key)
    return run(opened[key], request)


def main() -> None:
    """Serve until the parent closes the pipe."""
    limit_process()
    frames: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=read_frames, args=(frames, int(sys.argv[1])), daemon=True).start()
    opened: OrderedDict[str, sqlite3.Connection] = OrderedDict()
    while True:
        request = json.loads(frames.get())
        try:
            response = answer(request, opened)
            send(response)
        except MemoryError:
            send({"status": "memory", "message": "out of memory"})
        cpu_deadline[0] = float("inf")


if __name__ == "__main__":
    main()
