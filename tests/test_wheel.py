"""The wheel: it carries the three packages, prompts, SQL, data and settings, and runs without the checkout.

Built offline by the project's own build backend, which is no dependency of the product: where it is not installed, the
tests say so and are skipped.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("lic_pipeline", "assets", "resources")
# Only what a build needs is copied: a build in place would take whatever lies about in the checkout.
SOURCES = (*PACKAGES, "data", "pyproject.toml", "README.md", "LICENSE", "NOTICE", "dagster.yaml", "workspace.yaml")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling, the build backend, is not installed; `pip install hatchling` to test the wheel")
    folder = tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / "src" / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, folder / "src" / name)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "-q"]
    done = subprocess.run(
        [*command, "-w", folder, folder / "src"], capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    (found,) = folder.glob("*.whl")
    return found


def tracked(folder: str) -> list[str]:
    """Files of a folder that belong to the project, whatever lies beside them."""
    listed = subprocess.run(["git", "ls-files", "-z", folder], cwd=ROOT, capture_output=True, text=True, check=False)
    names = listed.stdout.split("\0") if listed.returncode == 0 else []
    found = [name for name in names if name and (ROOT / name).is_file()]
    return found or [str(path.relative_to(ROOT)) for path in (ROOT / folder).rglob("*.py")]


def test_the_wheel_holds_every_file_of_packages_and_data(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for package in PACKAGES:
        assert [name for name in tracked(package) if name not in names] == [], package
    data = [f"lic_pipeline/_data/{name.removeprefix('data/')}" for name in tracked("data")]
    assert [name for name in data if name not in names] == []
    for ending in (".sql", ".yaml", ".jsonl"):
        assert any(name.endswith(ending) for name in names), ending
    assert any(name.startswith("lic_pipeline/prompts/") and not name.endswith(".py") for name in names)
    assert "lic_pipeline/_data/dagster.yaml" in names
    (licences,) = {name.rpartition("/")[0] for name in names if name.endswith("/LICENSE")}
    assert f"{licences}/NOTICE" in names
    assert not [name for name in names if name.startswith(("tests/", "bench/", "docs/"))]


@pytest.mark.slow
def test_an_installed_wheel_runs_the_demo_of_one_task(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "venv"
    venv.create(place, with_pip=False, symlinks=True)
    python = place / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", "-q"]
    subprocess.run([*install, wheel], check=True, timeout=180)
    # Dependencies come from this environment as a plain folder, whose own .pth files (the checkout) are not read.
    (packages,) = (place / "lib").glob("python*/site-packages")
    (packages / "dependencies.pth").write_text(str(Path(pytest.__file__).parent.parent) + "\n", encoding="utf-8")
    empty = tmp_path / "empty"
    empty.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LIC_", "PYTHON", "DAGSTER_"))}
    environment = {**kept, "LIC_HOME": str(tmp_path / "home")}
    where = subprocess.run(
        [python, "-c", "import lic_pipeline; print(lic_pipeline.__file__)"],
        cwd=empty, env=environment, capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert where.stdout.startswith(str(place))
    done = subprocess.run(
        [place / "bin" / "lic", "demo", "-t", "math"],
        cwd=empty, env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert "sim/lost" in done.stdout
    assert (tmp_path / "home" / "lic.duckdb").is_file()
