"""Typographic characters as a terminal without them can show: the codec error handler ``lic-plain``.

Only characters that say the same in ASCII are rewritten. Letters a model or a person wrote are not: those are shown by
their code, so that two names never look alike.
"""

from __future__ import annotations

import codecs
import unicodedata

NAME = "lic-plain"

_SHOWN = {
    **dict.fromkeys("‐‑‒–—―−⁃", "-"),
    **dict.fromkeys("‘’‚‛′ʼ", "'"),
    **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("•‣◦▪●·∙○", "*"),
    **dict.fromkeys("✓✔✅", "ok"),
    **dict.fromkeys("✗✘❌", "x"),
    "…": "...", "±": "+/-", "×": "x", "÷": "/", "≈": "~", "≠": "!=", "≤": "<=", "≥": ">=", "∞": "inf",
    "→": "->", "←": "<-", "↔": "<->", "⇒": "=>", "†": "+", "§": "section ", "¶": "paragraph ", "€": "EUR ", "£": "GBP ",
    "¥": "JPY ", "°": " deg", "µ": "u",
}  # fmt: skip


def plain(character: str) -> str:
    """The character in ASCII; one with nothing like it there by its code, as ``\\u4e2d``."""
    if character in _SHOWN:
        return _SHOWN[character]
    if "\u2500" <= character <= "\u257f":
        return _line_of(unicodedata.name(character))
    if "\u2580" <= character <= "\u259f":
        return "#"
    if unicodedata.category(character) in ("Zs", "No"):
        folded = unicodedata.normalize("NFKC", character).replace("\u2044", "/")
        if folded.isascii():
            return folded
    return character.encode("unicode_escape").decode("ascii")


def _line_of(name: str) -> str:
    """A box-drawing character: a line, a rule, or a corner where both meet."""
    across = any(word in name for word in ("HORIZONTAL", "LEFT", "RIGHT"))
    down = any(word in name for word in ("VERTICAL", "UP", "DOWN"))
    return "+" if across and down else "|" if down else "-"


def _handle(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(plain, error.object[error.start : error.end])), error.end


codecs.register_error(NAME, _handle)
