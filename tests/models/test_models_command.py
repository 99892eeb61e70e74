"""``lic models``: what it lists, adds and checks; keys are never shown or stored."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from lic_pipeline.cli.commands.models import models_app
from lic_pipeline.errors import ConfigError
from lic_pipeline.models.registry import get_model, user_registry

CANARY = "sk-canary-7f3a9b2c4d5e6f708192"


def lic_models(*arguments: str) -> Result:
    return CliRunner().invoke(models_app, list(arguments))


def test_the_list_names_every_model(lic_home: Path) -> None:
    assert "gpt-4o-mini" in lic_models().stdout
    document = json.loads(lic_models("list", "--json").stdout)
    assert document["schema"] == 1
    rows = {row["alias"]: row for row in document["models"]}
    assert rows["gpt-4o-mini"]["published_as"] == "4o-mini"
    assert rows["gpt-4o-mini"]["usd_per_million"] == [0.15, 0.6]
    assert rows["phi-4"]["skip_tasks"] == ["summary"]


def test_an_added_model_is_there_with_everything_said_of_it(lic_home: Path) -> None:
    done = lic_models(
        "add", "local/tiny", "--alias", "tiny", "--base-url", "http://127.0.0.1:9/v1", "--key-variable", "TINY_KEY",
        "-p", "top_p=0.5", "-p", "mode=fast", "--concurrency", "3", "--rpm", "60", "--context-window", "2048",
        "--price", "1", "2", "--system", "merge", "--strict", "--reasoning", "--fixed-temperature",
        "--output-limit", "max_completion_tokens",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    entry = get_model("tiny")
    assert (entry.id, entry.base_url, entry.key_variable) == ("local/tiny", "http://127.0.0.1:9/v1", "TINY_KEY")
    assert dict(entry.parameters) == {"top_p": 0.5, "mode": "fast"}
    assert (entry.limits.concurrency, entry.limits.rpm, entry.context_window) == (3, 60, 2048)
    assert (entry.price.prompt, entry.price.completion) == (1, 2)  # type: ignore[union-attr]
    assert (entry.chat.system, entry.chat.alternate) == ("merge", "strict")
    assert (entry.reasoning, entry.temperature, entry.output_limit) == (True, "fixed", "max_completion_tokens")
    user_registry().write_text(user_registry().read_text() + "# a remark of mine\n")
    assert lic_models("add", "local/second").exit_code == 0
    assert get_model("tiny") == entry
    assert get_model("local/second").alias == "local/second"
    assert "# a remark of mine" in user_registry().read_text()


@pytest.mark.parametrize(
    ("given", "seed", "parameters"),
    [("per_conversation", "per_conversation", {}), ("7", "none", {"seed": 7}), ("-1", "none", {"seed": -1})],
)
def test_a_seed_is_a_parameter_or_each_conversations_own(
    lic_home: Path, given: str, seed: str, parameters: dict[str, int]
) -> None:
    done = lic_models("add", "local/tiny", "--seed", given)
    assert done.exit_code == 0, done.output
    entry = get_model("local/tiny")
    assert (entry.seed, dict(entry.parameters)) == (seed, parameters)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["gpt-4o"], "provider/model"),
        (["local/x", "--alias", "gpt-4o"], "already in use"),
        (["sim/own"], "calibration personas"),
        (["local/x", "-p", "top_p"], "NAME=VALUE"),
        (["local/x", "--concurrency", "0"], "limits.concurrency"),
        (["local/x", "--system", "loud"], "chat.system"),
        (["local/x", "--seed", "often"], "--seed takes an integer or per_conversation, not 'often'"),
        (["local/x", "--seed", "7", "-p", "seed=8"], "exclude each other"),
        (["local/x", "--seed", "per_conversation", "-p", "seed=8"], "exclude each other"),
        (["anthropic/x", "--seed", "7"], "anthropic takes no seed"),
        (["anthropic/x", "--seed", "per_conversation"], "anthropic takes no seed"),
    ],
)
def test_what_cannot_be_added_says_why_and_changes_nothing(lic_home: Path, arguments: list[str], message: str) -> None:
    done = lic_models("add", *arguments)
    assert isinstance(done.exception, ConfigError)
    assert message in str(done.exception)
    assert not user_registry().exists()


def test_a_file_of_another_style_is_left_alone(lic_home: Path) -> None:
    lic_home.mkdir()
    text = "models: [{id: local/a}]\n"
    user_registry().write_text(text)
    done = lic_models("add", "local/b")
    assert "by hand" in str(done.exception)
    assert user_registry().read_text() == text
    assert [file.name for file in lic_home.iterdir()] == ["models.yaml"]


def test_check_names_the_variable_that_is_missing(lic_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    done = lic_models("check", "gpt-4o-mini", "--json")
    assert done.exit_code == 1
    (found,) = json.loads(done.stdout)["checks"]
    assert found["problem"] == "set OPENAI_API_KEY in the environment or in .env"
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    done = lic_models("check", "gpt-4o-mini")
    assert done.exit_code == 0
    assert CANARY not in done.output


def test_ping_makes_one_call_and_shows_what_came_back(
    lic_home: Path, serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINY_KEY", CANARY)
    server = serve(["ok", "echo_401"], answer=lambda body: "ok")
    lic_models("add", "local/tiny", "--base-url", server.url, "--price", "1", "1", "--key-variable", "TINY_KEY")
    done = lic_models("check", "--ping", "--json", "local/tiny")
    (found,) = json.loads(done.stdout)["checks"]
    assert (done.exit_code, found["answered"], found["model_returned"]) == (0, True, "tiny")
    assert found["cost_usd"] == pytest.approx(7e-6)
    refused = lic_models("check", "--ping", "local/tiny")
    assert refused.exit_code == 1
    assert "Incorrect API key" in refused.output
    assert CANARY not in refused.output
    assert server.requests == 2
    assert set(server.keys) == {f"Bearer {CANARY}"}
