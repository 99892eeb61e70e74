"""A reply without the wrapping that is no SQL: entities of HTML, bracketed tags, bold, quote marks used as a fence."""

from __future__ import annotations

import html
import re

_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|#39|apos);")
_TAG = re.compile(r"\[/?SQL\]", re.IGNORECASE)
_QUOTE_FENCE = re.compile(r"^[ \t]*(?:'''|\"\"\")[ \t]*(?:sql(?:ite)?)?[ \t]*$", re.MULTILINE | re.IGNORECASE)
_BOLD = re.compile(r"\*\*((?:SELECT|WITH)\s[^*]{1,4000}(?:\*(?!\*)[^*]{0,4000}){0,20})\*\*")
_DOUBLE_TICKS = re.compile(r"(?<!`)``(?!`)([^`\n]{6,4000})``(?!`)")


def plain(text: str) -> str:
    """The reply with such wrapping resolved; SQL itself is left as it stands, but for no-break spaces."""
    text = text.replace("\u00a0", " ").replace("\uff1b", ";")
    if "&" in text:
        text = _ENTITY.sub(lambda match: html.unescape(match.group()), text)
    if "[" in text:
        text = _TAG.sub("\n", text)
    if "'''" in text or '"""' in text:
        fences = _QUOTE_FENCE.findall(text)
        text = _QUOTE_FENCE.sub("```", text) if fences and len(fences) % 2 == 0 and "```" not in text else text
    text = _BOLD.sub(r"\1", text) if "**" in text else text
    return _DOUBLE_TICKS.sub(r"`\1`", text) if "``" in text else text
