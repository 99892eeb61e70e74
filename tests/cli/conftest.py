"""Homes for the tests of the command: an empty one, and copies of one in which a small run was carried out."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.lic_command import SMALL, Lic, Output


@pytest.fixture
def lic(tmp_path: Path) -> Lic:
    """``lic`` with an empty home."""
    return Lic(tmp_path / "home")


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Output]:
    """A home in which the run ``SMALL`` has been carried out, and what it printed. Never changed: copy it.

    Its path holds spaces and letters outside ASCII, so every test that starts from it covers those too.
    """
    place = tmp_path_factory.mktemp("small run") / "häuser und 家"
    return place, Lic(place)("run", *SMALL)


@pytest.fixture
def finished(finished_run: tuple[Path, Output], tmp_path: Path) -> Lic:
    """``lic`` with a copy of the home in which ``SMALL`` was run."""
    home = tmp_path / "ein häuschen"
    shutil.copytree(finished_run[0], home)
    return Lic(home)
