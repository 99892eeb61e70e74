"""Log lines of our own making in every shape the reference scripts wrote, and the items they ask about."""

from __future__ import annotations

from typing import Any

Line = dict[str, Any]

QUESTION = "Mara packs 3 crates with 12 jars each and breaks 4 jars. How many whole jars does she have?"
SHARDS = ("How many whole jars does Mara have?", "she packs 3 crates", "each crate holds 12 jars", "4 jars break")
GOLD = "32"
REQUEST = "Dim the lamp in the hall to 20 percent and the lamp in the den to 45 percent."
FUNCTION = {
    "name": "lamp.dim",
    "description": "Dims a lamp.",
    "parameters": {
        "type": "dict",
        "properties": {
            "room": {"type": "string", "description": "Room."},
            "percent": {"type": "integer", "description": "Level."},
        },
        "required": ["room", "percent"],
    },
}
CALLS = [
    {"lamp.dim": {"room": ["hall"], "percent": [20]}},
    {"lamp.dim": {"room": ["den"], "percent": [45]}},
]


def evaluation(answer: str | None, right: bool, style: str = "score") -> Line:
    """An evaluation entry; ``style`` = which of the two fields holds the outcome."""
    outcome: Line = {"score": float(right), "is_correct": None}
    if style == "is_correct":
        outcome = {"score": None, "is_correct": right}
    content = {"type": "answer-evaluation", "exact_answer": answer, "evaluation_return": {}, **outcome}
    return {"role": "log", "content": content}


def label(name: str) -> Line:
    """A label entry."""
    return {"role": "log", "content": {"type": "system-verification", "response": {"response_type": name}}}


def reveal(number: Any, *, old: bool = False) -> Line:
    """A reveal entry with its older or newer name."""
    kind, field = ("hint_revealed", "hint_id") if old else ("shard_revealed", "shard_id")
    return {"role": "log", "content": {"type": kind, field: number}}


def user(text: str) -> Line:
    """A user message."""
    return {"role": "user", "content": text}


def reply(text: str | None) -> Line:
    """A reply."""
    return {"role": "assistant", "content": text, "cost_usd": 0.001}


def log_line(conv_type: str, trace: list[Line], /, **fields: Any) -> Line:
    """One line; ``fields`` replace or add to the usual ones."""
    return {
        "conv_id": f"{conv_type}-1",
        "conv_type": conv_type,
        "task": "math",
        "task_id": "sharded-GSM8K/0",
        "dataset_fn": "own.json",
        "assistant_model": "model-x",
        "system_model": "NA",
        "user_model": "NA",
        "git_version": "abc",
        "trace": [{"role": "system", "content": "Solve it."}, *trace],
        "is_correct": None,
        "score": None,
        **fields,
    }


def full(answer: str = "32", right: bool = True, text: str = "Final answer: 32", **fields: Any) -> Line:
    """A FULL conversation about the math problem."""
    trace = [user(f"Q: {QUESTION}\nA:"), reply(text), evaluation(answer, right)]
    return log_line("full", trace, **{"score": float(right), **fields})


def concat(**fields: Any) -> Line:
    """A CONCAT conversation whose message lists the four shards."""
    message = "Q: " + "".join(f"- {shard}\n" for shard in SHARDS) + "\nA:"
    return log_line("concat", [user(message), reply("Final answer: 32"), evaluation("32", True)], score=1.0, **fields)


def sharded(**fields: Any) -> Line:
    """A SHARDED conversation of the newer kind: every shard out in order, right at the end."""
    trace: list[Line] = []
    for number, shard in enumerate(SHARDS, start=1):
        trace += [user(shard), reveal(number)]
        if number < len(SHARDS):
            trace += [reply("What else do you know?"), label("clarification")]
    trace += [reply("So there are 36 - 4.\nFinal answer: 32"), label("answer_attempt"), evaluation("32", True)]
    return log_line("sharded", trace, score=1.0, user_model="t-sim", system_model="t-sim", **fields)
