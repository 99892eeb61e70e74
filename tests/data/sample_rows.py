"""The embedded samples as raw rows, and how literals are read from text. Tests are in the files beside this one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).resolve().parents[2] / "data" / "samples"
Rows = list[dict[str, Any]]


def read_lines(name: str) -> Rows:
    """All records of a JSON Lines file below the samples folder."""
    return [json.loads(line) for line in (SAMPLES / name).read_text("utf-8").splitlines() if line.strip()]


def read_json(name: str) -> Any:
    """One JSON document below the samples folder."""
    return json.loads((SAMPLES / name).read_text("utf-8"))


HUMANEVAL = read_lines("humaneval/HumanEval.jsonl")
GSM8K = read_lines("gsm8k/test.jsonl")
BFCL = read_lines("bfcl/BFCL_v4_parallel.json")
BFCL_ANSWERS = {row["id"]: row["ground_truth"] for row in read_lines("bfcl/possible_answer/BFCL_v4_parallel.json")}
SPIDER: Rows = read_json("spider/dev.json")
TOTTO = read_lines("totto/dev_sample.jsonl")
SUMMHAY: Rows = read_json("summhay/topics.json")
LIVECODEBENCH = read_lines("livecodebench/sample.jsonl")
SIDECAR = read_lines("shards.jsonl")
SHARDS = {row["instruction_id"]: row for row in SIDECAR if row["task"] != "summary"}
BATCHES = {row["instruction_id"]: row for row in SIDECAR if row["task"] == "summary"}

TEXTS: dict[str, tuple[str, str]] = {
    **{f"humaneval/{row['task_id'].split('/')[1]}": ("code", row["prompt"]) for row in HUMANEVAL},
    **{f"livecodebench/{row['question_id']}": ("code", row["question_content"]) for row in LIVECODEBENCH},
    **{f"spider/{row['dev_index']}": ("database", row["question"]) for row in SPIDER},
    **{f"bfcl/{row['id']}": ("actions", row["question"][0][0]["content"]) for row in BFCL},
    **{f"gsm8k/{line}": ("math", row["question"]) for line, row in enumerate(GSM8K)},
}
PLAIN = [name for name, (task, _) in TEXTS.items() if task != "code"]
CODE = [name for name, (task, _) in TEXTS.items() if task == "code"]

NUMBER = re.compile(r"\d(?:[\d.,:/-]*\d)?")
COUNTS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
WORDS = {"half": "1/2", **{word: str(value) for value, word in enumerate(COUNTS, 2)}}
QUOTED = re.compile(r"(?<!\w)'([^'\n]+)'(?!\w)|\"([^\"\n]+)\"")
EXAMPLE = re.compile(r"(?:example|e\.g\.|sample|for example)[ :]", re.IGNORECASE)
DANGLING = re.compile(
    r"(?:it|its|it's|they|their|them|he|she|this|that|these|those|then|also|and|but|so|another|the other)\b", re.I
)


def numbers(text: str) -> set[str]:
    """Numbers of a text in digits, thousands commas dropped, number words (from two on) included."""
    found = {match.replace(",", "") if "/" not in match else match for match in NUMBER.findall(text)}
    return found | {WORDS[word] for word in re.findall(r"[a-z]+", text.lower()) if word in WORDS}


def quoted(text: str) -> set[str]:
    """Contents of quoted strings."""
    return {single or double for single, double in QUOTED.findall(text)}


def names(text: str) -> set[str]:
    """Capitalised words that do not open a sentence."""
    return set(re.findall(r"(?<![.?!:] )(?<!^)\b[A-Z]\w*", text))


def shard_texts(name: str) -> list[str]:
    """The shards of an instruction in order."""
    return [shard["shard"] for shard in SHARDS[name]["shards"]]


def without_examples(text: str) -> str:
    """A code instruction up to its first example; docstring quotes dropped."""
    cut = re.split(r">>>|\nExample:|\nSample Input", text)[0]
    return cut.replace('"""', "")
