"""The pages for readers of the code: their links and paths exist, and the drawn layers are those that are enforced."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = [
    *sorted((ROOT / "docs").glob("*.md")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
]
LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")
CODE_PATH = re.compile(r"(?<![\w./])(?:lic_pipeline|assets|resources|tests|bench|data|docs)/[\w/.-]*[\w/]")
LABEL = re.compile(r'(\w+)\["([^"]+)"\]')
EDGE = re.compile(r'^\s*(\w+)(?:\["[^"]+"\])? --> (\w+)', re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [link for link in LINK.findall(text) if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_paths_named_exist(page: Path) -> None:
    named = set(CODE_PATH.findall(page.read_text(encoding="utf-8")))
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert {page for page in pages if f"({page})" not in index} == set()


def test_the_drawn_layers_are_the_enforced_ones() -> None:
    drawing = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("```mermaid")[2].split("```")[0]
    labels = dict(LABEL.findall(drawing))
    edges = EDGE.findall(drawing)
    drawn = [labels[edges[0][0]], *(labels[below] for _, below in edges)]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    enforced = next(contract["layers"] for contract in contracts if contract["name"] == "The order of the house")
    assert all(above == edges[place][1] for place, (above, _) in enumerate(edges[1:]))
    assert drawn == enforced
