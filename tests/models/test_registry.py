"""The registry, its user part, and prices: what is listed, what is known, what is refused."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lic_pipeline.config import data_path
from lic_pipeline.errors import ConfigError, UnknownNameError
from lic_pipeline.models.keys import find_key, key_variable, provider_key
from lic_pipeline.models.prices import TokenPrice, price_of
from lic_pipeline.models.registry import ModelEntry, get_model, load_models, registry, user_registry
from lic_pipeline.models.tokens import estimate_texts
from lic_pipeline.records import Usage


def entry(**fields: Any) -> ModelEntry:
    return ModelEntry.model_validate({"alias": "x", "id": "local/x", **fields})


def test_the_papers_models_are_listed_under_their_published_names(shared_data: Path) -> None:
    with (shared_data / "published" / "paper1_table1.csv").open(encoding="utf-8") as file:
        published = {row["model"] for row in csv.DictReader(file)}
    listed = [entry.published_as for entry in load_models(data_path() / "models.yaml").values()]
    assert len(published) == 15
    assert sorted(name for name in listed if name) == sorted(published)


def test_no_listed_model_may_be_called_by_itself() -> None:
    models = load_models(data_path() / "models.yaml")
    assert len(models) == 15
    assert all(entry.auto is None for entry in models.values())
    assert all(entry.context_window for entry in models.values())
    assert {name for name, entry in models.items() if "summary" in entry.skip_tasks} == {"phi-4", "olmo-2-13b"}


def test_every_listed_model_has_a_price() -> None:
    unpriced = [name for name, entry in registry().items() if price_of(entry) is None]
    assert unpriced == []


@pytest.mark.parametrize(
    ("fields", "price"),
    [
        ({"id": "openai/gpt-4o-mini-2024-07-18"}, TokenPrice(1.5e-7, 6e-7, 7.5e-8)),
        ({"id": "openai/gpt-4o-mini-2024-07-18", "price": {"prompt": 1, "completion": 2}}, TokenPrice(1e-6, 2e-6)),
        ({"id": "openai/gpt-4o-mini-2024-07-18", "base_url": "http://127.0.0.1:1/v1"}, None),
        ({"id": "anthropic/gpt-4o-mini-2024-07-18"}, None),
        ({"id": "openai/no-such-model"}, None),
        ({"id": "python:module.function"}, None),
        ({"id": "sim/steady"}, TokenPrice(0.0, 0.0)),
    ],
)
def test_prices(fields: dict[str, Any], price: TokenPrice | None) -> None:
    assert price_of(entry(**fields)) == price


def test_costs() -> None:
    price = TokenPrice(2.0, 8.0, 0.5, tier_above=100, tier=TokenPrice(4.0, 16.0))
    assert price.cost(Usage(prompt=10, completion=1)) == 28.0
    assert price.cost(Usage(prompt=10, completion=1, cached=4)) == 12 + 2 + 8
    assert price.cost(Usage(prompt=10, completion=1, cached=99)) == 5 + 8
    assert price.cost(Usage(prompt=101, completion=1, cached=50)) == 404 + 16
    assert price.cost(Usage(prompt=10)) is None
    assert price.cost(Usage()) is None


def test_the_price_table_is_read_without_importing_litellm() -> None:
    program = (
        "import sys; from lic_pipeline.models.prices import price_table; assert len(price_table()) > 1000; "
        "print('litellm' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_own_entries_join_and_are_read_again_when_they_change(lic_home: Path) -> None:
    assert user_registry() == lic_home / "models.yaml"
    lic_home.mkdir()
    user_registry().write_text("models:\n  - {id: local/one, base_url: 'http://127.0.0.1:1/v1'}\n")
    assert get_model("local/one").base_url == "http://127.0.0.1:1/v1"
    user_registry().write_text("models:\n  - {alias: two, id: local/two}\n")
    os.utime(user_registry(), ns=(1, 1))
    assert get_model("two").id == "local/two"
    with pytest.raises(UnknownNameError, match="gpt-4o-mini"):
        get_model("local/one")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("models:\n  - {alias: gpt-4o, id: local/x}\n", "already in use"),
        ("models:\n  - {id: sim/steady}\n", "names a persona"),
        ("models:\n  - {id: plain}\n", "provider/model"),
        ("models:\n  - {id: a/b, colour: red}\n", "colour"),
        ("models:\n  - {id: a/b, limits: {concurrency: 0}}\n", "concurrency"),
        ("models: [\n", "cannot be read"),
        ("- x\n", "cannot be read"),
        ("nothing", "needs a list under models:"),
        ("models: 7\n", "is no list"),
        ("models: [7, 8]\n", "entry 1 is no mapping of fields"),
        ("models:\n  - {alias: x}\n", "entry 1: id: Field required$"),
        ("models:\n  - {id: a/b, base_url: 'localhost:80'}\n", "base_url: write an address with its scheme"),
        ("models:\n  - {id: a/b, price: {prompt: -1, completion: .nan}}\n", r"price.prompt: .*\(and 1 more\)$"),
        ("models:\n  - {id: a/b, price: {prompt: .inf, completion: 1}}\n", "price.prompt: Input should be a finite"),
        ("models:\n  - {id: a/b, colour: \xe4}\n".encode("latin-1"), "in UTF-8"),
    ],
)
def test_bad_own_entries_are_named_in_one_line(lic_home: Path, text: str | bytes, message: str) -> None:
    lic_home.mkdir()
    user_registry().write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError, match=message) as caught:
        registry()
    assert "\n" not in str(caught.value)
    assert "pydantic" not in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "variable"),
    [
        ({"id": "openai/x"}, "OPENAI_API_KEY"),
        ({"id": "anthropic/x"}, "ANTHROPIC_API_KEY"),
        ({"id": "cohere_chat/x"}, "COHERE_API_KEY"),
        ({"id": "openai/x", "base_url": "http://h/v1"}, None),
        ({"id": "local/x", "base_url": "http://h/v1", "key_variable": "MINE"}, "MINE"),
        ({"id": "bedrock/x"}, None),
        ({"id": "python:a.b"}, None),
        ({"id": "sim/steady"}, None),
    ],
)
def test_where_keys_come_from(fields: dict[str, Any], variable: str | None) -> None:
    assert key_variable(entry(**fields)) == variable


@pytest.mark.parametrize("key", ["", "  ", "sk-one\nsk-two", "sk-äöü", "sk-\x00", "sk-\u200bone"])
def test_what_is_no_key_is_refused_before_it_is_sent(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if "\x00" in key:
        monkeypatch.setattr("os.environ", {**os.environ, "OPENAI_API_KEY": key})
    else:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY") as caught:
        find_key(entry(id="openai/a"))
    assert "sk-" not in str(caught.value)


def test_limits_are_shared_by_provider_endpoint_and_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-0123456789abcdef")
    one, two = entry(id="openai/a"), entry(id="openai/b")
    assert provider_key(one) == provider_key(two)
    assert "canary" not in provider_key(one)
    monkeypatch.setenv("OTHER", "another-key-1234567")
    assert provider_key(one) != provider_key(entry(id="openai/a", key_variable="OTHER"))
    assert "pass" not in provider_key(entry(base_url="http://user:pass@host/v1"))
    assert find_key(one) == "sk-canary-0123456789abcdef"


def test_the_token_estimate_is_on_the_high_side_for_english() -> None:
    text = "The quick brown fox jumps over the lazy dog and runs away into the forest."
    assert estimate_texts([text]) > len(text.split()) * 1.3
    assert estimate_texts([""]) > 0
