"""The example of docs/systems.md: its commands as they stand there, and what the agent and the instrument do alone."""

from __future__ import annotations

import asyncio
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from support.fault_server import FaultServer
from support.lic_command import Lic

from lic_pipeline.models.errors import AccessError, CallError, ContextOverflowError, RateLimitError, TransientError

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "systems.md").read_text(encoding="utf-8")


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@pytest.fixture
def commands(tmp_path: Path) -> str:
    """The page's bash blocks, with a home and ports of this test's own."""
    blocks = re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 1
    (block,) = blocks
    first, second = free_ports(2)
    for old, new in (
        (". .venv/bin/activate\n", ""),
        ("LIC_HOME=.lic/memory-agent", f"LIC_HOME='{tmp_path}/home'"),
        ("8101", str(first)),
        ("8102", str(second)),
    ):
        assert old in block
        block = block.replace(old, new)
    return block


def test_the_page_runs_as_it_stands(commands: str, tmp_path: Path) -> None:
    environment = Lic(tmp_path / "home").environment()
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    script = f"set -e\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n{commands}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "450 calls made, 156 conversations wanted" in done.stderr
    assert "Traceback" not in done.stderr

    with duckdb.connect(str(tmp_path / "home" / "lic.duckdb"), read_only=True) as connection:
        rows = connection.execute("SELECT model, task, setting, P FROM reliability_by_task").fetchall()
    scores = {row[:3]: row[3] for row in rows}
    assert len(scores) == 24
    for task in ("summary", "data2text"):
        full = scores["bare", task, "FULL"]
        assert full > 10
        assert scores["bare", task, "SHARDED"] < full / 5
        # The notes make up for all of it, whichever way in; so does a user who repeats everything.
        for model in ("agent", "agent-over-http"):
            assert {scores[model, task, s] for s in ("FULL", "CONCAT", "SHARDED", "SNOWBALL")} == {full}
        assert scores["bare", task, "SNOWBALL"] == full
    printed = re.findall(r"^(bare|agent\S*) +(FULL|SHARDED|SNOWBALL) +([\d.]+) ", PAGE, re.MULTILINE)
    assert len(printed) == 6
    for model, setting, value in printed:
        mean = (scores[model, "summary", setting] + scores[model, "data2text", setting]) / 2
        assert f"{mean:.1f}" == value, f"docs/systems.md is out of date: {model} {setting}"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(ROOT / "examples")
    yield
    for name in [name for name in sys.modules if name.startswith("memory_agent")]:
        del sys.modules[name]


SYSTEM = {"role": "system", "content": "Be brief."}
HISTORY = [
    SYSTEM,
    {"role": "user", "content": "I need a table."},
    {"role": "assistant", "content": "Which one? Perhaps the round one?"},
    {"role": "user", "content": "A square one."},
]


@pytest.mark.usefixtures("example")
def test_the_agent_asks_with_everything_the_user_said_and_nothing_else() -> None:
    from memory_agent.agent import with_notes

    system, asked = with_notes(HISTORY)
    assert system == SYSTEM
    assert asked["role"] == "user"
    assert asked["content"].index("I need a table.") < asked["content"].index("A square one.")
    assert "round" not in asked["content"]
    assert with_notes(HISTORY[:2]) == HISTORY[:2]


@pytest.mark.usefixtures("example")
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("429_after", RateLimitError),
        ("502", TransientError),
        ("reset", TransientError),
        ("401", AccessError),
        ("400_context", ContextOverflowError),
    ],
)
def test_the_agent_passes_on_what_went_wrong(
    fault: str, kind: type[CallError], monkeypatch: pytest.MonkeyPatch
) -> None:
    from memory_agent import agent

    async def asked() -> None:
        try:
            answer = await agent.reply(HISTORY, {"max_tokens": 5})
            assert answer["usage"]["completion_tokens"] > 0
            await agent.reply(HISTORY)
        finally:
            await agent.aclose()

    with FaultServer(["ok", fault]) as server:
        monkeypatch.setenv("MEMORY_AGENT_BASE_URL", server.url)
        monkeypatch.setenv("MEMORY_AGENT_MODEL", "inner")
        with pytest.raises(kind) as raised:
            asyncio.run(asked())
    assert server.bodies[0]["max_tokens"] == 5
    assert server.bodies[0]["model"] == "inner"
    if fault == "429_after":
        assert raised.value.retry_after == 1.0


@pytest.mark.usefixtures("example")
def test_the_instrument_knows_the_last_message_only() -> None:
    from memory_agent.forgetful import reply

    documents = (
        "Document [3]\nThe ferry leaves at 5:40 for the shift workers. It rains.\n\n"
        "Document [7]\nShift workers want the ferry to leave at 5:40.\n\nDocument [9]\nNothing to see."
    )
    table = (
        '<table>\n<tr><td>no</td><td class="highlighted">A &amp; B</td><td class="highlighted">1908</td></tr></table>'
    )
    for content, answer in (
        (documents, "- The ferry leaves at 5:40 for the shift workers. [3][7]"),
        ("Document [2]\nOnly one. And more.", "- Only one. [2]"),
        (f"{table}\n\nThe title of the page the table stands on is: Ports", "Ports: A & B, 1908."),
        ("The title of the page the table stands on is: Ports", "I do not know what you are talking about."),
    ):
        messages = [SYSTEM, {"role": "user", "content": documents + table}, {"role": "user", "content": content}]
        assert asyncio.run(reply(messages)) == answer
