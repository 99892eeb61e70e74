"""Where things live by the environment: what LIC_LEDGER_URL may say, and what is refused before anything is opened."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from lic_pipeline.config import Home, ledger_address, raw_data_folder
from lic_pipeline.errors import ConfigError
from lic_pipeline.models.ledger.ledger import Ledger


@pytest.mark.parametrize(
    "address",
    [
        *("/data/ledger", "./ledger", "../ledger", "~/ledger", ".", "kept/ledger", "./led:ger", "kept/own.sqlite"),
        *("sqlite:////data/own.sqlite", "postgresql://user@host/name", "postgresql+psycopg2://user:secret@host:5/name"),
    ],
)
def test_a_path_or_a_url_is_taken_as_it_is(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIC_LEDGER_URL", address)
    assert Home(tmp_path).ledger_target == address


@pytest.mark.parametrize("address", [None, ""])
def test_without_an_address_the_home_has_the_ledger(
    address: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LIC_LEDGER_URL", raising=False)
    if address is not None:
        monkeypatch.setenv("LIC_LEDGER_URL", address)
    assert Home(tmp_path).ledger_target == tmp_path / "ledger"


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("word", "neither a path nor a URL"),
        ("ledger.sqlite", "neither a path nor a URL"),
        (" ", "neither a path nor a URL"),
        ("mysql://user:secret@host/name", "mysql: is not"),
        ("postgres://user:secret@host/name", "postgres: is not"),
        ("postgresql+asyncpg://user:secret@host/name", "postgresql+asyncpg: is not"),
        ("postgresql:/user:secret@host/name", "postgresql: is not"),
        ("user:secret@host/name", "user: is not"),
        ("://secret", "is not how the URL of a ledger begins"),
    ],
)
def test_anything_else_is_refused_with_an_example_of_both_and_without_its_password(
    address: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LIC_LEDGER_URL", address)
    with pytest.raises(ConfigError) as caught:
        Ledger.open(Home(tmp_path).ledger_target)
    told = str(caught.value)
    assert said in told
    assert "LIC_LEDGER_URL" in told
    assert "./ledger" in told
    assert "postgresql://user@host/name" in told
    assert "secret" not in told
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("variable", "read"), [("LIC_HOME", Home.locate), ("LIC_DATA", raw_data_folder), ("LIC_LEDGER_URL", ledger_address)]
)
def test_the_home_folder_of_nobody_is_said(
    variable: str, read: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "~nobody-of-this-name/folder")
    with pytest.raises(ConfigError, match=f"^{variable} begins with the home folder of somebody unknown"):
        read()


def test_a_missing_driver_is_said_with_the_line_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "psycopg2" else found(name))
    monkeypatch.setenv("LIC_LEDGER_URL", "sqlite:////data/own.sqlite")
    assert ledger_address() == "sqlite:////data/own.sqlite"
    monkeypatch.setenv("LIC_LEDGER_URL", "postgresql://user:secret@host/name")
    with pytest.raises(ConfigError, match=r"pip install 'lic-pipeline\[postgres\]'$") as caught:
        ledger_address()
    assert "secret" not in str(caught.value)
