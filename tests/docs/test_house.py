"""The house stays one a newcomer can guess: floors of few modules, and none named by an old private metaphor."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PACKAGES = ("lic_pipeline", "assets", "resources")
MOST = 16
METAPHORS = frozenset(
    {
        "crew", "desk", "docket", "hearing", "holding", "voices", "spoken", "menus", "appraisal", "judge_outlook",
        "collector", "continuing", "fitting", "work", "unscored", "standing", "journal", "lamps", "member",
    }
)  # fmt: skip


def modules() -> list[Path]:
    return [path for package in PACKAGES for path in (ROOT / package).rglob("*.py") if "_data" not in path.parts]


def test_no_floor_holds_too_many_modules() -> None:
    floors = Counter(path.parent.relative_to(ROOT) for path in modules())
    assert {str(floor): count for floor, count in floors.items() if count > MOST} == {}


def test_no_module_bears_a_private_metaphor() -> None:
    names = {name for path in modules() for name in (path.stem, path.parent.name)}
    assert names & METAPHORS == set()
