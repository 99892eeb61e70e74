"""The embedded samples: complete, right by their own tests, and shards that keep the sharding rules.

Programs and queries of the samples are our own, so they run here by plain ``exec`` and ``sqlite3``. Readers and tasks
have their own tests; here the raw files are read as a user would read them, and at the end every item passes once
through its reader and its task.
"""

from __future__ import annotations

import ast
import base64
import io
import json
import pickle
import re
import sqlite3
import zlib
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from lic_pipeline.benchmarks.registry import READERS
from lic_pipeline.records import Instruction, Reply, Verdict
from lic_pipeline.tasks.database import discrimination
from lic_pipeline.tasks.registry import get_task

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


# ---------------------------------------------------------------- files


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


# ---------------------------------------------------------------- shard rules


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


# ---------------------------------------------------------------- gold answers


@pytest.mark.parametrize("row", HUMANEVAL, ids=lambda row: row["entry_point"])
def test_canonical_solutions_pass_and_the_tests_tell_wrong_ones(row: dict[str, Any]) -> None:
    scope: dict[str, Any] = {}
    exec(row["prompt"] + row["canonical_solution"] + "\n" + row["test"], scope)
    scope["check"](scope[row["entry_point"]])
    constants: tuple[Any, ...] = (None, 0, "", [])
    for constant in constants:
        with pytest.raises(AssertionError):
            scope["check"](lambda *_, value=constant: value)


@pytest.mark.parametrize("row", HUMANEVAL, ids=lambda row: row["entry_point"])
def test_examples_in_prompts_are_true(row: dict[str, Any]) -> None:
    scope: dict[str, Any] = {}
    exec(row["prompt"] + row["canonical_solution"], scope)
    examples = re.findall(r">>> (.+)\n\s*(.+)", row["prompt"])
    assert examples
    for call, expected in examples:
        exec(f"result = {call}", scope)
        assert scope["result"] == ast.literal_eval(expected)


@pytest.mark.parametrize("row", GSM8K, ids=range(len(GSM8K)))
def test_solution_steps_are_true_and_end_in_the_answer(row: dict[str, Any]) -> None:
    steps = re.findall(r"<<([\d.+*/-]+)=([\d.]+)>>", row["answer"])
    assert steps
    for expression, result in steps:
        scope: dict[str, Any] = {}
        exec(f"value = {expression}", scope)
        assert scope["value"] == pytest.approx(float(result))
    assert float(row["answer"].rsplit("#### ", 1)[1].replace(",", "")) == float(steps[-1][1])


def _spider(db_id: str) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.executescript((SAMPLES / "spider" / "database" / db_id / "schema.sql").read_text("utf-8"))
    return connection


@pytest.mark.parametrize("row", SPIDER, ids=lambda row: row["dev_index"])
def test_gold_queries_discriminate(row: dict[str, Any]) -> None:
    connection, query = _spider(row["db_id"]), row["query"]

    def bag(sql: str) -> list[str]:
        return sorted(map(repr, connection.execute(sql).fetchall()))

    gold = bag(query)
    assert gold
    for pattern in (r"\bWHERE\b(?:(?!GROUP BY|ORDER BY|INTERSECT|HAVING).)*", r"\bHAVING\b(?:(?!ORDER BY).)*"):
        if (weaker := re.sub(pattern, "", query)) != query:
            assert bag(weaker) != gold
    for table in re.findall(
        r"CREATE TABLE (\w+)", (SAMPLES / f"spider/database/{row['db_id']}/schema.sql").read_text()
    ):
        assert bag(f"SELECT * FROM {table}") != gold


@pytest.mark.parametrize("row", [row for row in SPIDER if "LIMIT" in row["query"]], ids=lambda row: row["dev_index"])
def test_no_ties_at_the_limit(row: dict[str, Any]) -> None:
    body, limit = re.fullmatch(r"(.*) LIMIT (\d+)", row["query"]).groups()  # type: ignore[union-attr]
    keys = [line[1] for line in _spider(row["db_id"]).execute(body).fetchall()]
    assert len(keys) > int(limit)
    assert keys[int(limit) - 1] != keys[int(limit)]


def test_tables_json_describes_the_databases() -> None:
    described = {entry["db_id"]: entry for entry in read_json("spider/tables.json")}
    assert set(described) == {row["db_id"] for row in SPIDER}
    for db_id, entry in described.items():
        connection = _spider(db_id)
        for number, table in enumerate(entry["table_names_original"]):
            columns = [line[1] for line in connection.execute(f"PRAGMA table_info({table})")]
            assert columns == [name for owner, name in entry["column_names_original"] if owner == number]
            assert 8 <= connection.execute(f"SELECT COUNT(*) FROM {table}").fetchone()[0] <= 15
        assert len(entry["column_types"]) == len(entry["column_names"]) == len(entry["column_names_original"])
        assert not connection.execute("PRAGMA foreign_key_check").fetchall()


# ---------------------------------------------------------------- actions

TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "float": (float,), "boolean": (bool,), "array": (list,), "dict": (dict,)
}  # fmt: skip


@pytest.mark.parametrize("row", BFCL, ids=lambda row: row["id"])
def test_accepted_values_fit_the_function(row: dict[str, Any]) -> None:
    functions = {function["name"]: function["parameters"] for function in row["function"]}
    calls = BFCL_ANSWERS[row["id"]]
    assert 2 <= len(calls) <= 4
    assert len({json.dumps(call) for call in calls}) == len(calls)
    for call in calls:
        ((name, arguments),) = call.items()
        properties, required = functions[name]["properties"], functions[name]["required"]
        assert set(arguments) == set(properties)
        for parameter, accepted in arguments.items():
            assert not ("" in accepted and parameter in required)
            for value in accepted:
                if value != "":
                    assert type(value) in TYPES[properties[parameter]["type"]]
                if "default" in properties[parameter] and value == properties[parameter]["default"]:
                    assert "" in accepted, f"{parameter} equals its default, so it may be left out"


def test_actions_cover_the_types_of_the_benchmark() -> None:
    used = {
        parameter["type"]
        for row in BFCL
        for f in row["function"]
        for parameter in f["parameters"]["properties"].values()
    }
    assert used == set(TYPES)


# ---------------------------------------------------------------- tables and documents


@pytest.mark.parametrize("row", TOTTO, ids=lambda row: row["table_page_title"])
def test_tables_are_whole_and_references_use_the_marked_cells(row: dict[str, Any]) -> None:
    for cells in row["table"]:
        assert all(set(cell) == {"value", "is_header", "column_span", "row_span"} for cell in cells)
    marked = [row["table"][line][column]["value"] for line, column in row["highlighted_cells"]]
    references = [annotation["final_sentence"] for annotation in row["sentence_annotations"]]
    assert 1 <= len(references) <= 3
    assert all(references)
    for value in marked:
        assert any(value.split(" ")[0].lower() in reference.lower() for reference in references), value
    in_table = {number for cells in row["table"] for cell in cells for number in re.findall(r"\d+", cell["value"])}
    allowed = in_table | set(re.findall(r"\d+", row["table_page_title"]))
    assert all(set(re.findall(r"\d+", reference)) <= allowed for reference in references)


@pytest.mark.parametrize("topic", SUMMHAY, ids=lambda topic: topic["topic_id"])
def test_insights_stand_in_two_or_three_documents(topic: dict[str, Any]) -> None:
    documents = {document["document_index"]: document for document in topic["documents"]}
    assert 6 <= len(documents) == len(topic["documents"]) <= 9
    assert all(60 <= len(document["document_text"].split()) <= 120 for document in documents.values())
    known = set()
    for subtopic in topic["subtopics"]:
        assert 3 <= len(subtopic["insights"]) <= 5
        for insight in subtopic["insights"]:
            known.add(insight["insight_id"])
            places = [i for i, document in documents.items() if insight["insight_id"] in document["insights_included"]]
            assert 2 <= len(places) <= 3
            assert subtopic["insightid2ref_citations"][insight["insight_id"]] == places
            for place in places:
                assert numbers(insight["insight"]) <= numbers(documents[place]["document_text"]), (insight, place)
    assert {insight for document in documents.values() for insight in document["insights_included"]} == known


def test_batches_hand_over_every_document_once_and_in_order() -> None:
    topics = {f"summhay/{t['topic_id']}/{s['subtopic_id']}": t for t in SUMMHAY for s in t["subtopics"]}
    assert set(BATCHES) == set(topics)
    for name, row in BATCHES.items():
        assert 3 <= len(row["shards"]) <= 8
        assert [shard["shard_id"] for shard in row["shards"]] == list(range(1, len(row["shards"]) + 1))
        handed = [index for shard in row["shards"] for index in shard["doc_idxs"]]
        assert handed == [document["document_index"] for document in topics[name]["documents"]]


# ---------------------------------------------------------------- LiveCodeBench: reference solutions live here only


def count_quiet_stretches(noise: list[int], limit: int, span: int) -> int:
    starts = range(len(noise) - span + 1)
    return sum(1 for start in starts if max(noise[start : start + span]) < limit)


def rearrange(shelves: list[list[int]], k: int) -> list[list[int]]:
    changed = []
    for number, shelf in enumerate(shelves):
        cut = -k % len(shelf)
        changed.append(shelf[::-1] if number % 2 else shelf[cut:] + shelf[:cut])
    return changed


def average_wait(arrivals: list[int], service: int) -> float:
    free_at, waited = arrivals[0], 0
    for arrival in arrivals:
        waited += max(0, free_at - arrival)
        free_at = max(free_at, arrival) + service
    return waited / len(arrivals)


def ticket_queue() -> None:
    queue: list[str] = []
    for _ in range(int(input())):
        sign, _, name = input().partition(" ")
        if sign == "+":
            queue.append(name)
        elif sign == "!":
            queue.remove(name)
        else:
            print(queue.pop(0) if queue else ".")


def shady_grass() -> None:
    height, _ = map(int, input().split())
    plan = {(line, place): cell for line in range(height) for place, cell in enumerate(input())}
    steps = ((0, 1), (1, 0), (0, -1), (-1, 0))
    grass = [place for place, cell in plan.items() if cell == "g"]
    print(sum(1 for y, x in grass if sum(plan.get((y + dy, x + dx)) == "T" for dy, dx in steps) >= 2))


def coin_jar() -> None:
    coins, daily, every, out, goal = map(int, input().split())
    for evening in range(1, 1001):
        coins += daily
        coins -= min(coins, out) if evening % every == 0 else 0
        if coins >= goal:
            print(evening)
            return
    print(-1)


SOLUTIONS: dict[str, Callable[..., Any]] = {
    "lic_s1": count_quiet_stretches,
    "lic_s2": rearrange,
    "lic_s3": average_wait,
    "lic_s4": ticket_queue,
    "lic_s5": shady_grass,
    "lic_s6": coin_jar,
}


def private_tests(row: dict[str, Any]) -> list[dict[str, str]]:
    """Private tests, plain or packed; the pickle is our own."""
    text = row["private_test_cases"]
    if not text.startswith("["):
        text = pickle.loads(zlib.decompress(base64.b64decode(text)))
    return list(json.loads(text))


def run(solution: Callable[..., Any], test: dict[str, str]) -> Any:
    """What a solution makes of one test, in the form its output is given in."""
    if test["testtype"] == "functional":
        return solution(*map(json.loads, test["input"].split("\n")))
    printed, lines = io.StringIO(), iter(test["input"].splitlines())
    with redirect_stdout(printed), mock.patch("builtins.input", side_effect=lines):
        solution()
    return printed.getvalue()


@pytest.mark.parametrize("row", LIVECODEBENCH, ids=lambda row: row["question_id"])
def test_reference_solutions_pass_all_tests(row: dict[str, Any]) -> None:
    public, private = json.loads(row["public_test_cases"]), private_tests(row)
    kind = "functional" if json.loads(row["metadata"]).get("func_name") else "stdin"
    assert public
    assert len(private) >= 5
    for test in [*public, *private]:
        assert test["testtype"] == kind
        expected = json.loads(test["output"]) if kind == "functional" else test["output"]
        assert run(SOLUTIONS[row["question_id"]], test) == expected
    assert len({test["output"] for test in private}) >= 3, "a constant must not pass"


def test_livecodebench_covers_both_kinds_and_both_packings() -> None:
    kinds = [(bool(row["starter_code"]), row["private_test_cases"].startswith("[")) for row in LIVECODEBENCH]
    assert set(kinds) == {(True, True), (True, False), (False, True), (False, False)}
    for row in LIVECODEBENCH:
        assert bool(row["starter_code"]) == ("func_name" in json.loads(row["metadata"]))


@pytest.mark.parametrize(
    "row", [row for row in LIVECODEBENCH if not row["starter_code"]], ids=lambda r: r["question_id"]
)
def test_stdin_samples_in_the_text_are_the_public_tests(row: dict[str, Any]) -> None:
    shown = re.search(r"Sample Input\n\n(.*)\nSample Output\n\n(.*)", row["question_content"], re.DOTALL)
    assert shown
    (public,) = json.loads(row["public_test_cases"])
    assert (shown[1].strip(), shown[2].strip()) == (public["input"].strip(), public["output"].strip())


@pytest.mark.parametrize(
    "row", [row for row in LIVECODEBENCH if row["starter_code"]], ids=lambda row: row["question_id"]
)
def test_functional_examples_in_the_text_are_the_public_tests(row: dict[str, Any]) -> None:
    shown = re.search(r"Input: (.*)\nOutput: (.*)", row["question_content"])
    assert shown
    (public,) = json.loads(row["public_test_cases"])
    values = [json.loads(value) for value in re.split(r"(?:, )?\w+ = ", shown[1])[1:]]
    assert values == [json.loads(line) for line in public["input"].split("\n")]
    assert json.loads(shown[2]) == json.loads(public["output"])


# ---------------------------------------------------------------- through the readers and the tasks

READINGS = {name: reader.read(SAMPLES / reader.folder) for name, reader in READERS.items()}
INSTRUCTIONS = [instruction for reading in READINGS.values() for instruction in reading.instructions]


def graded(text: str, instruction: Instruction) -> Verdict | None:
    """The verdict on a whole reply, None when no answer is found in it."""
    task = get_task(instruction.task)
    answer = task.extract(Reply(text=text), instruction).answer
    return None if answer is None else task.score(answer, instruction)


def test_the_readers_take_every_item() -> None:
    assert {name: [str(problem) for problem in reading.problems] for name, reading in READINGS.items()} == {
        name: [] for name in READERS
    }
    hand_made = {instruction.instruction_id for instruction in INSTRUCTIONS if instruction.task != "data2text"}
    assert hand_made == {row["instruction_id"] for row in SIDECAR}


@pytest.mark.parametrize("instruction", INSTRUCTIONS, ids=lambda instruction: instruction.instruction_id)
def test_gold_scores_100_and_the_menu_keeps_its_word(instruction: Instruction) -> None:
    task = get_task(instruction.task)
    task.check(instruction)
    gold = task.gold(instruction)
    assert gold is not None
    verdict = graded(gold, instruction)
    assert verdict is not None
    assert verdict.score == 100
    menu = task.menu(instruction)
    kinds = [item.kind for item in menu]
    assert {"right", "wrong", "question", "hedge", "refusal"} <= set(kinds)
    assert kinds.count("wrong") >= 2
    for item in menu:
        verdict = graded(item.text, instruction) if item.kind in ("right", "wrong") else None
        if item.kind == "right":
            assert verdict is not None
            assert verdict.score == 100, item.text
        elif verdict is not None:
            assert verdict.score is not None
            assert verdict.score < 100, item.text


@pytest.mark.parametrize(
    "instruction",
    [instruction for instruction in INSTRUCTIONS if instruction.task == "database"],
    ids=lambda instruction: instruction.instruction_id,
)
def test_database_items_pass_the_discrimination_check(instruction: Instruction) -> None:
    assert discrimination(instruction) is None
