"""The reference policy of the math task: what the published scripts gave, quirks included.

The last token of digits, dots, commas and dollar signs counts; ".00" is removed by stripping characters (so "$20.00"
becomes "$2"), then strings are compared. Kept so that old numbers can be compared and the artefact shown.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(r"-?[$0-9.,]{2,}|-?[0-9]+")


def last_token(text: str) -> str | None:
    """The last token the published pattern finds, None when there is none."""
    tokens = _TOKEN.findall(text)
    return tokens[-1] if tokens else None


def comparable(token: str) -> str:
    """A token as the published scripts compare it."""
    if "$" in token and token.endswith(".00"):
        token = token.rstrip(".0")
    token = token.replace(",", "").replace("$", "")
    return token.removesuffix(".")
