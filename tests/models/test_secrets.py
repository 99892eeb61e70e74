"""A canary key, in every place a run leaves something behind: nowhere but in the request's own header."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fault_server import FaultServer

from lic_pipeline.models.redaction import MASK, Redactor, refresh_secrets
from lic_pipeline.records import Reply, ToolCall
from lic_pipeline.simulation.call_store import redacted_reply

CANARY = "sk-canary-7f3a9b2c4d5e6f708192"
PLAIN = "plaincanaryvalue42"

RUN = """
import logging, sys, traceback
logging.basicConfig(level=logging.DEBUG, filename=sys.argv[3])
from pathlib import Path
from math_plans import entry_at, math_plan
from lic_pipeline.models.budget import Budget
from lic_pipeline.models.ledger import Ledger
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.simulation.engine.engine import run
home, url, log, variable = Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
entry = entry_at(url, key_variable=variable, limits={"concurrency": 4})
print(repr(entry))
for _ in range(2):
    try:
        with Ledger.open(home / "ledger") as ledger:
            print(run(math_plan(entry, 4), ledger, home / "lake", budget=Budget("run", tokens=10**9)))
    except Exception:
        traceback.print_exc()
"""


@pytest.mark.parametrize(
    ("variable", "secret"),
    [("MY_MODEL_ACCESS", PLAIN), pytest.param("OWN_API_KEY", CANARY, marks=pytest.mark.slow)],
)
def test_a_key_is_nowhere_in_what_a_run_leaves_behind(tmp_path: Path, serve: Any, variable: str, secret: str) -> None:
    """The server repeats the key in replies and errors, as proxies do; the last error ends the first run."""

    def leaky(body: Any) -> str:
        return f"Your key is {secret}, Authorization: Bearer {secret}."

    server: FaultServer = serve(["500", "reset", *["ok"] * 6, "echo_401"], answer=leaky)
    log = tmp_path / "debug.log"
    environment = {**os.environ, variable: secret, "OPENAI_LOG": "debug",
                   "PYTHONPATH": str(Path(__file__).resolve().parent.parent / "support")}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path / "home"), server.url, str(log), variable],
        capture_output=True, text=True, env=environment, timeout=120, check=True,
    )  # fmt: skip
    assert set(server.keys) == {f"Bearer {secret}"}
    assert "ProviderStoppedError" in done.stderr
    assert "held=" in done.stdout
    places = {"stdout": done.stdout.encode(), "stderr": done.stderr.encode()}
    places |= {str(file): file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    assert any(name.endswith(".sqlite") for name in places)
    assert any(name.endswith(".parquet") for name in places)
    assert [name for name, content in places.items() if secret.encode() in content] == []
    assert log.stat().st_size > 0
    assert all(secret not in json.dumps(body) for body in server.bodies)


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {CANARY}.",
        f"authorization = token {CANARY}]",
        f'{{"x-api-key": "{CANARY}", "api-key": "abcdefghijk"}}',
        "Authorization: Basic Zm9vOmJhcjpiYXo=",
        f"key {CANARY} and bearer {CANARY}",
    ],
)
def test_redacting_twice_changes_nothing(text: str) -> None:
    """Else a reply read back from the ledger would differ from the one the conversation went on with."""
    once = Redactor({"OWN_API_KEY": CANARY}).redact(text)
    assert CANARY not in once
    assert Redactor({"OWN_API_KEY": CANARY}).redact(once) == once


@pytest.mark.parametrize("secret", ['pa"ssword1', "back\\slash-42", "two\nlines-42", "schlüssel-99", PLAIN])
@pytest.mark.parametrize("place", ["text", "reasoning", "arguments"])
def test_a_reply_that_is_json_itself_is_kept_without_the_secrets_in_it(
    monkeypatch: pytest.MonkeyPatch, secret: str, place: str
) -> None:
    """What a reply escapes is escaped once more where the reply is stored."""
    monkeypatch.setenv("B_TOKEN", secret)
    refresh_secrets()
    said = json.dumps({"token": secret, "why": "none"})
    call = ToolCall(name="log_in", arguments=said if place == "arguments" else "{}")
    words = {"text": "as asked", **({place: said} if place != "arguments" else {})}
    kept = redacted_reply(Reply(**words, tool_calls=(call,)))
    left = kept.reply.tool_calls[0].arguments if place == "arguments" else getattr(kept.reply, place)
    assert json.loads(left) == {"token": MASK, "why": "none"}
    assert kept.reply.flags == ("redacted",)
    assert json.loads(kept.plain) == kept.document
