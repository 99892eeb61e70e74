"""Fixtures every test may use; those of one package stand in its own conftest."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.model_server import entry_for as entry_for
from support.model_server import serve as serve

SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of real benchmark files and published logs, which are never part of the project."""
    if not SHARED.is_dir():
        pytest.skip("real benchmark files (../shared/data) are not on this machine")
    return SHARED


@pytest.fixture
def lic_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty LIC_HOME of this test's own."""
    home = tmp_path / "home"
    monkeypatch.setenv("LIC_HOME", str(home))
    return home
