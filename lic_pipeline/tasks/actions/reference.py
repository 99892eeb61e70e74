"""The reference policy's reading of calls: what the published checker's parser accepted, without its eval().

Back-ticks and line breaks are stripped from both ends, missing brackets added; a language tag or any prose
makes it fail. Structured JSON calls, which the published scripts never saw, are read as calls.
"""

from __future__ import annotations

from lic_pipeline.tasks.actions.calls import Call, CallSyntaxError, parse_python
from lic_pipeline.tasks.actions.json_calls import parse_json


def parse_published(text: str) -> list[Call]:
    """Calls as the published parser read them; bare names count as text. Raises CallSyntaxError."""
    stripped = text.strip().strip("`\n ")
    if stripped.startswith('[{"name"'):
        return parse_json(stripped)
    opened = stripped if stripped.startswith("[") else "[" + stripped
    calls = parse_python(opened if opened.endswith("]") else opened + "]", names_are_text=True)
    if not calls:
        raise CallSyntaxError("no call")
    return calls
