"""Versioned prompt templates: plain text files, filled without ever re-expanding a value, hashed for identity.

``template("math/system")`` reads ``math/system.txt`` beside this module. Placeholders are ``{{name}}``; values are
inserted in one pass, so a value that itself holds ``{{...}}`` stays as it is (faults: placeholders in model text).
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent
_PLACEHOLDER = re.compile(r"\{\{([a-z_]+)\}\}")


@cache
def template(name: str) -> str:
    """The text of template ``name`` without its final newline. Raises KeyError for an unknown name."""
    path = (_FOLDER / f"{name}.txt").resolve()
    if not path.is_relative_to(_FOLDER) or not path.is_file():
        raise KeyError(f"no prompt template {name!r}")
    return path.read_text(encoding="utf-8").removesuffix("\n")


@cache
def template_hash(name: str) -> str:
    """First 16 hex digits of the SHA-256 of a template's text."""
    return hashlib.sha256(template(name).encode()).hexdigest()[:16]


def render(name: str, **values: str) -> str:
    """Fill a template. Raises KeyError when a placeholder has no value, ValueError when a value has no place."""
    pieces = _pieces(name)
    wanted = pieces[1::2]
    unused = values.keys() - wanted
    if unused:
        raise ValueError(f"template {name!r} has no place for {sorted(unused)}")
    filled = list(pieces)
    filled[1::2] = [values[place] for place in wanted]
    return "".join(filled)


@cache
def _pieces(name: str) -> list[str]:
    """A template cut at its placeholders: text, name of a value, text, name, ... text."""
    return _PLACEHOLDER.split(template(name))
