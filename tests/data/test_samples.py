"""The embedded samples are complete, and their hand-made shards keep the sharding rules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

import pytest
from sample_rows import (
    BATCHES,
    BFCL,
    BFCL_ANSWERS,
    CODE,
    DANGLING,
    EXAMPLE,
    GSM8K,
    HUMANEVAL,
    LIVECODEBENCH,
    PLAIN,
    SHARDS,
    SIDECAR,
    SPIDER,
    SUMMHAY,
    TEXTS,
    TOTTO,
    Rows,
    names,
    numbers,
    quoted,
    shard_texts,
    without_examples,
)


@pytest.mark.parametrize(
    "rows",
    [HUMANEVAL, GSM8K, BFCL, SPIDER, TOTTO, LIVECODEBENCH, [s for topic in SUMMHAY for s in topic["subtopics"]]],
    ids=["humaneval", "gsm8k", "bfcl", "spider", "totto", "livecodebench", "summhay"],
)
def test_every_benchmark_has_enough_items(rows: Rows) -> None:
    assert 6 <= len(rows) <= 8


def test_shards_and_instructions_match_by_id_and_task() -> None:
    assert set(SHARDS) == set(TEXTS)
    assert len(SIDECAR) == len(SHARDS) + len(BATCHES)
    assert {name: row["task"] for name, row in SHARDS.items()} == {name: task for name, (task, _) in TEXTS.items()}


def test_ids_are_unique_and_shaped_like_the_benchmarks() -> None:
    assert [row["task_id"] for row in HUMANEVAL] == [f"HumanEval/{n}" for n in range(len(HUMANEVAL))]
    assert [row["id"] for row in BFCL] == [f"parallel_{n}" for n in range(len(BFCL))]
    assert set(BFCL_ANSWERS) == {row["id"] for row in BFCL}
    assert [row["dev_index"] for row in SPIDER] == list(range(len(SPIDER)))
    assert len({row["example_id"] for row in TOTTO}) == len(TOTTO)
    assert len({row["question_id"] for row in LIVECODEBENCH}) == len(LIVECODEBENCH)


@pytest.mark.parametrize("name", TEXTS)
def test_shards_keep_the_form(name: str) -> None:
    shards = SHARDS[name]["shards"]
    texts = shard_texts(name)
    assert [shard["shard_id"] for shard in shards] == list(range(1, len(shards) + 1))
    assert 3 <= len(shards) <= 8
    assert all(text.strip() == text != "" for text in texts)
    assert len(set(texts)) == len(texts)
    assert len(texts[0].split()) <= 15, "shard 1 is the intent, at most 15 words"
    assert not numbers(texts[0]) | quoted(texts[0]), "shard 1 carries no literal"
    for text in texts[1:]:
        assert not DANGLING.match(text), f"{text!r} leans on another shard"
        assert not text.endswith("?"), f"{text!r} asks instead of telling"


@pytest.mark.parametrize("name", PLAIN)
def test_shards_hold_every_literal_and_add_none(name: str) -> None:
    text, joined = TEXTS[name][1], " | ".join(shard_texts(name))
    assert numbers(text) == numbers(joined)
    assert quoted(text) == quoted(joined)
    assert {word.lower() for word in names(text)} <= set(re.findall(r"\w+", joined.lower()))
    assert names(joined) <= set(re.findall(r"\w+", text)), "a shard brings a name that the instruction lacks"


@pytest.mark.parametrize("name", CODE)
def test_code_shards_hold_every_literal_of_the_specification(name: str) -> None:
    specification, joined = without_examples(TEXTS[name][1]), " | ".join(shard_texts(name))
    assert numbers(specification) <= numbers(joined)
    assert quoted(specification) <= quoted(joined)


@pytest.mark.parametrize("name", CODE)
def test_code_keeps_one_example_in_a_shard_of_its_own(name: str) -> None:
    text = TEXTS[name][1]
    kept = [shard for shard in shard_texts(name) if EXAMPLE.match(shard)]
    assert len(kept) == 1
    assert numbers(kept[0]) <= numbers(text)
    assert text.count(">>>") + len(re.findall(r"\nExample:|\nSample Input", text)) in (1, 2)


@pytest.mark.parametrize("name", CODE)
def test_no_code_shard_but_the_example_adds_a_number(name: str) -> None:
    rest = [shard for shard in shard_texts(name) if not EXAMPLE.match(shard)]
    assert numbers(" | ".join(rest)) <= numbers(without_examples(TEXTS[name][1]))


def _signatures() -> Iterable[tuple[str, str, list[str]]]:
    for row in HUMANEVAL:
        function = next(
            node
            for node in ast.parse(row["prompt"] + "    pass\n").body
            if isinstance(node, ast.FunctionDef) and node.name == row["entry_point"]
        )
        yield f"humaneval/{row['task_id'].split('/')[1]}", function.name, [a.arg for a in function.args.args]
    for row in LIVECODEBENCH:
        if row["starter_code"]:
            (method,) = re.findall(r"def (\w+)\(self, (.*)\) ->", row["starter_code"])
            yield f"livecodebench/{row['question_id']}", method[0], re.findall(r"(\w+): ", method[1])


@pytest.mark.parametrize(("name", "function", "parameters"), list(_signatures()))
def test_code_shards_name_the_function_and_its_parameters_together(
    name: str, function: str, parameters: list[str]
) -> None:
    assert any(f"{function}({', '.join(parameters)})" in shard for shard in shard_texts(name)[1:])


@pytest.mark.parametrize("line", range(len(GSM8K)))
def test_no_shard_gives_the_answer_away_in_math(line: int) -> None:
    answer = GSM8K[line]["answer"].rsplit("#### ", 1)[1].replace(",", "")
    given = numbers(" | ".join(shard_texts(f"gsm8k/{line}")))
    assert float(answer) not in {float(number) for number in given if re.fullmatch(r"[\d.]+", number)}


@pytest.mark.parametrize("name", [name for name in TEXTS if name.split("/")[0] in {"bfcl", "spider", "humaneval"}])
def test_no_shard_gives_the_answer_away_elsewhere(name: str) -> None:
    benchmark, number = name.split("/")
    joined = " ".join(shard_texts(name))
    if benchmark == "spider":
        assert not re.search(r"\bselect\b.*\bfrom\b", joined, re.IGNORECASE)
    elif benchmark == "bfcl":
        assert not any(f"{function}(" in joined for call in BFCL_ANSWERS[number] for function in call)
    else:
        solution = HUMANEVAL[int(number)]["canonical_solution"]
        assert not [line for line in solution.splitlines() if len(line.strip()) > 20 and line.strip() in joined]
