"""A ledger of the test's own, and PostgreSQL when a server can be started on this machine."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lic_pipeline.models.ledger import Ledger

REPLY: dict[str, Any] = {
    "text": "The answer is 4.",
    "finish_reason": "stop",
    "model_returned": "tiny-1-0613",
    "usage": {"prompt": 30, "completion": 6, "reasoning": None, "cached": 2},
    "cost_usd": 0.25,
}


@pytest.fixture
def reply() -> dict[str, Any]:
    """The JSON of a reply: 36 tokens, 0.25 USD."""
    return {**REPLY, "usage": dict(REPLY["usage"])}


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """An open ledger in tmp_path."""
    with Ledger.open(tmp_path) as opened:
        yield opened


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """URL (without database) of a PostgreSQL server on loopback, started for this session as a non-root user."""
    pytest.importorskip("psycopg2", reason="psycopg2 is not installed")
    pg_ctl, initdb = shutil.which("pg_ctl"), shutil.which("initdb")
    if not pg_ctl or not initdb:
        pytest.skip("no PostgreSQL server (pg_ctl, initdb) on this machine")
    user = _unprivileged_user()
    with tempfile.TemporaryDirectory(prefix="lic-pg-") as folder:
        os.chmod(folder, 0o777)
        data = f"{folder}/data"
        port = _free_port()
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c max_connections=30"
        made = _run([initdb, "-D", data, "-U", "lic", "-A", "trust", "--no-sync"], user)
        if made.returncode:
            pytest.skip(f"initdb does not work here: {made.stderr.strip()[-200:]}")
        started = _run([pg_ctl, "-D", data, "-o", options, "-l", f"{folder}/log", "-w", "start"], user)
        if started.returncode:
            pytest.skip(f"PostgreSQL does not start here: {started.stderr.strip()[-200:]}")
        try:
            yield f"postgresql://lic:not-needed@127.0.0.1:{port}"
        finally:
            _run([pg_ctl, "-D", data, "-m", "immediate", "-w", "stop"], user)


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """URL of an empty database of the test's own."""
    import psycopg2

    name = f"t{os.urandom(6).hex()}"
    connection = psycopg2.connect(f"{postgres_server}/postgres")
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    connection.close()
    return f"{postgres_server}/{name}"


def _unprivileged_user() -> str | None:
    """PostgreSQL refuses root; None = we are not root and start it ourselves."""
    if os.geteuid() != 0:
        return None
    import pwd

    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    pytest.skip("running as root, and there is no other user to start PostgreSQL as")


def _run(command: list[str], user: str | None) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryFile("w+") as noise:  # A pipe would be inherited by the server and never end.
        done = subprocess.run(command, user=user, cwd="/", stdout=noise, stderr=noise, stdin=subprocess.DEVNULL)
        noise.seek(0)
        return subprocess.CompletedProcess(command, done.returncode, "", noise.read())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
