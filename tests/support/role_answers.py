"""Answers for the roles of an LLM simulator, told apart by how their prompts begin. Not a test module."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fault_replies import hashed_answer

OPENINGS = {
    "You play a person": "user",
    "You sort replies": "classifier",
    "You lift the final": "extractor",
    "You compare a summary": "judge",
}
_DECODER = json.JSONDecoder()


def role_of(body: Mapping[str, Any]) -> str:
    """Who is asked by this request."""
    first = body["messages"][0]["content"]
    return next((role for opening, role in OPENINGS.items() if first.startswith(opening)), "assistant")


def untold(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The pieces a user may still tell, from its prompt."""
    _, _, listed = body["messages"][0]["content"].partition("by id:\n")
    return list(_DECODER.raw_decode(listed)[0])


def faithful_user(body: Mapping[str, Any]) -> str:
    """Tells the first untold piece, nearly word for word."""
    piece = untold(body)[0]
    return json.dumps({"response": f"oh and {piece['piece'].lower()}", "shard_id": piece["id"]})


def plain_classifier(body: Mapping[str, Any]) -> str:
    """An attempt where the reply says "the answer is"."""
    attempt = "The answer is" in body["messages"][0]["content"]
    return '{"strategy": "answer_attempt"}' if attempt else '{"strategy": "discussion"}'


def unmoved_judge(body: Mapping[str, Any]) -> str:
    """Finds nothing in any summary."""
    _, _, listed = body["messages"][0]["content"].partition("by number:\n")
    findings = _DECODER.raw_decode(listed)[0]
    return json.dumps({"verdicts": [{"finding": int(n), "coverage": "none", "bullet": None} for n in findings]})


def played_answer(body: Mapping[str, Any]) -> str:
    """All roles: a faithful user, a plain classifier, extractor and judge that find nothing, a hashed assistant."""
    role = role_of(body)
    if role == "user":
        return faithful_user(body)
    if role == "classifier":
        return plain_classifier(body)
    if role == "judge":
        return unmoved_judge(body)
    return '{"answer": null}' if role == "extractor" else hashed_answer(body)
