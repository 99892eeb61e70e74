"""Importing, exporting and joining: exact round trips, repeated imports, and whose shards an instruction carries."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from lic_pipeline.benchmarks.registry import locate, read_source
from lic_pipeline.cli.commands.shards import export_shards, import_shards
from lic_pipeline.config import Home
from lic_pipeline.errors import InputError, RecordError, StorageError, UnknownNameError
from lic_pipeline.sharding.plain import TASKS, parse_plain, to_plain
from lic_pipeline.sharding.release_store import merge, read_records_file, stored_records
from lic_pipeline.sharding.sources import all_instructions, sharded_for

OWN = {
    "id": "mine-1",
    "task": "math",
    "instruction": "I have 2 hats and find 3. How many hats?",
    "shards": ["how many hats", "I have 2", "I find 3"],
    "reference": {"answer": "5"},
}
RELEASED = {
    "zebra": 1,
    "task_id": "sharded-GSM8K/900",
    "task": "math",
    "question": "Ann has 5 keys and loses 2. How many are left?",
    "answer": "5 - 2 = 3\n#### 3",
    "shards": [{"shard_id": 1, "shard": "how many keys are left"}, {"shard_id": 2, "shard": "5, then 2 lost"}],
    "note": {"float": 0.1, "text": "é\u2028"},
}
APP = typer.Typer()
APP.command()(import_shards)
APP.command()(export_shards)


@pytest.fixture(autouse=True)
def _own_home(lic_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LIC_DATA", raising=False)


def _file(tmp_path: Path, records: list[Any], *, lines: bool = False) -> Path:
    path = tmp_path / "records.json"
    text = "\n".join(map(json.dumps, records)) if lines else json.dumps(records)
    path.write_text(text)
    return path


def _run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(APP, arguments, catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr


def _ordered(text: str) -> Any:
    return json.loads(text, object_pairs_hook=lambda pairs: pairs)


def test_the_real_sample_survives_a_round_trip_exactly(
    shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIC_DATA", str(shared_data / "raw"))
    source = shared_data / "lic" / "sharded_instructions_sample.json"
    code, shown, _ = _run("import-shards", str(source), "--json")
    document = json.loads(shown)
    assert (code, document["schema"], document["added"], len(document["records"])) == (1, 1, 65, 65)
    assert _run("export-shards", "-o", str(tmp_path / "out.json"))[0] == 0
    assert _ordered((tmp_path / "out.json").read_text()) == _ordered(source.read_text())
    again = json.loads(_run("import-shards", str(source), "--json")[1])
    assert (again["added"], again["unchanged"], again["replaced"]) == (0, 65, [])
    math = json.loads(_run("export-shards", "--task", "math")[1])
    assert [record["task"] for record in math] == ["math"] * 10


def test_real_released_shards_reach_the_raw_rows(shared_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIC_DATA", str(shared_data / "raw"))
    merge(read_records_file(shared_data / "lic" / "sharded_instructions_sample.json")[0])
    sharded, counts = {}, {}
    for task in TASKS:
        instructions, _ = all_instructions(task)
        counts[task] = len(instructions)
        sharded[task] = sharded_for(instructions)
    assert counts == {"code": 167, "database": 853, "actions": 200, "math": 1319, "data2text": 11, "summary": 4}
    found = {task: len(shards.sharded) for task, shards in sharded.items()}
    assert found == {"code": 8, "database": 8, "actions": 10, "math": 10, "data2text": 3, "summary": 3}
    assert {problem.reason for problem in sharded["math"].problems} == {"no_shards"}
    assert len(sharded["math"].problems) == 1309


def test_importing_twice_changes_nothing_and_other_content_replaces_in_place(tmp_path: Path) -> None:
    other = {**RELEASED, "task_id": "sharded-GSM8K/901"}
    path = _file(tmp_path, [RELEASED, other])
    assert _run("import-shards", str(path))[0] == 0
    store = Home.locate().lake / "released" / "records.jsonl"
    before = store.stat().st_mtime_ns
    code, shown, _ = _run("import-shards", str(path))
    assert (code, store.stat().st_mtime_ns) == (0, before)
    assert "0 new, 2 already there" in shown
    changed = {**RELEASED, "note": "new"}
    _, _, said = _run("import-shards", str(_file(tmp_path, [changed])))
    assert "sharded-GSM8K/900 was imported before with other content" in said
    assert [record.record for record in stored_records()] == [changed, other]


def test_key_order_alone_is_other_content(tmp_path: Path) -> None:
    merge(read_records_file(_file(tmp_path, [RELEASED]))[0])
    turned = dict(reversed(RELEASED.items()))
    assert merge(read_records_file(_file(tmp_path, [turned]))[0]).replaced == ("sharded-GSM8K/900",)
    assert list(stored_records()[0].record) == list(turned)


def test_bad_elements_and_repeated_ids_are_named_and_the_rest_is_imported(tmp_path: Path) -> None:
    path = _file(tmp_path, [RELEASED, 7, {**RELEASED, "note": "again"}, {"no": "id"}])
    code, shown, said = _run("import-shards", str(path), "--json")
    document = json.loads(shown)
    assert code == 1
    assert document["added"] == 2
    assert [problem["field"] for problem in document["problems"]] == ["[1]", "[2]"]
    assert "stands twice" in said
    assert "unusable (no task_id)" in said
    assert len(json.loads(_run("export-shards")[1])) == 2


def test_other_tasks_are_left_out_when_one_is_named(tmp_path: Path) -> None:
    translation = {"task_id": "wmt-1", "task": "translation", "shards": []}
    path = _file(tmp_path, [RELEASED, translation])
    assert json.loads(_run("import-shards", str(path), "--task", "math", "--json")[1])["added"] == 1
    with pytest.raises(UnknownNameError, match="poetry"):
        _run("import-shards", str(path), "--task", "poetry")


@pytest.mark.parametrize("content", [None, b"", b"[]"])
def test_a_file_without_records_is_an_error(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "x.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"x\.json"):
        _run("import-shards", str(path))


def test_plain_records_come_in_and_go_out(tmp_path: Path) -> None:
    code, shown, _ = _run("import-shards", str(_file(tmp_path, [OWN, {**OWN, "id": 2, "shards": None}], lines=True)))
    assert code == 0
    assert "2 new" in shown
    instructions, problems = all_instructions("math")
    assert problems == []
    own = {item.instruction_id: item for item in instructions if item.source == "imported"}
    assert set(own) == {"mine-1", "2"}
    sharded = sharded_for(list(own.values()))
    assert [shard.text for shard in sharded.sharded["mine-1"].shards] == OWN["shards"]
    assert [(problem.record_id, problem.reason) for problem in sharded.problems] == [("2", "no_shards")]
    lines = _run("export-shards", "--format", "plain", "--task", "math")[1].splitlines()
    exported = {record["id"]: record for record in map(json.loads, lines)}
    assert exported["mine-1"]["provenance"] == "authored"
    assert "shards" not in exported["2"]
    assert parse_plain(exported["mine-1"], tmp_path)[0] == own["mine-1"]
    assert "2 plain records are not in this form" in _run("export-shards")[2]


@pytest.mark.parametrize("task", TASKS)
def test_every_embedded_sample_survives_plain_form(tmp_path: Path, task: str) -> None:
    instructions, problems = all_instructions(task)
    assert problems == []
    shards = sharded_for(instructions)
    assert shards.problems == ()
    assert {item.provenance for item in shards.sharded.values()} == {"authored"}
    for item in instructions:
        record = json.loads(json.dumps(to_plain(item, shards.sharded[item.instruction_id])))
        back, sharded = parse_plain(record, tmp_path)
        assert back == item.model_copy(update={"source": "imported"})
        assert sharded == shards.sharded[item.instruction_id]


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"id": ...}, "id", "is missing"),
        ({"task": ...}, "task", "is missing"),
        ({"task": "poetry"}, "task", "none of math"),
        ({"instruction": " "}, "instruction", "is empty"),
        ({"reference": ...}, "reference", "is missing"),
        ({"reference": {}}, "reference.answer", "is missing"),
        ({"reference": [5]}, "reference", "must be an object"),
        ({"shards": [""]}, "shards[0].shard", "is empty"),
        ({"provenance": "me"}, "provenance", "none of authored"),
        ({"context": 4}, "context", "must be an object"),
        ({"task": "code", "reference": {"format": "java"}}, "reference.format", "none of humaneval"),
        ({"task": "code", "reference": {"format": "humaneval"}}, "reference.entry_point", "is missing"),
        ({"task": "actions"}, "context.functions", "is missing"),
        ({"task": "data2text"}, "reference.references", "is missing"),
        ({"task": "summary"}, "context.topic", "is missing"),
        ({"task": "database", "context": {"schema_sql": "x"}}, "reference.reference_sql", "is missing"),
        (
            {"task": "database", "context": {"schema_sql": "x"}, "reference": {"reference_sql": "y"}},
            "reference.schema",
            "is missing",
        ),
        (
            {
                "task": "database",
                "context": {"schema_sql": "x"},
                "reference": {"reference_sql": "y", "databases": ["gone.sqlite"]},
            },
            "reference.databases",
            "is no file",
        ),
    ],
)
def test_a_broken_plain_record_names_its_field(tmp_path: Path, change: dict[str, Any], field: str, said: str) -> None:
    broken = {key: value for key, value in {**OWN, **change}.items() if value is not ...}
    with pytest.raises(RecordError, match=said) as caught:
        parse_plain(broken, tmp_path)
    assert caught.value.field == field


def test_a_plain_record_may_leave_task_and_object_out(tmp_path: Path) -> None:
    short = {"id": 1, "instruction": "2 + 3?", "reference": 5}
    assert parse_plain(short, tmp_path, "math")[0].reference == {"answer": "5"}


def test_database_paths_are_relative_to_the_imported_file(tmp_path: Path) -> None:
    (tmp_path / "zoo.sqlite").write_bytes(b"")
    record = {
        "id": "d",
        "task": "database",
        "instruction": "How many?",
        "context": {"schema_sql": "CREATE TABLE a (b);"},
        "reference": {"reference_sql": "SELECT 1", "databases": ["zoo.sqlite"]},
    }
    merge(read_records_file(_file(tmp_path, [record], lines=True))[0])
    (found,) = [item for item in all_instructions("database")[0] if item.instruction_id == "d"]
    assert found.reference["databases"] == [str((tmp_path / "zoo.sqlite").resolve())]


def test_imported_shards_win_over_the_sidecar_and_other_content_stands_beside(tmp_path: Path) -> None:
    sample = read_source(locate("gsm8k")).instructions[0]
    same = {**OWN, "id": sample.instruction_id, "instruction": sample.text}
    other = {**RELEASED, "task_id": "sharded-GSM8K/1"}
    merge(read_records_file(_file(tmp_path, [same, other], lines=True))[0])
    instructions, _ = all_instructions("math")
    ids = [item.instruction_id for item in instructions]
    assert ids.count(sample.instruction_id) == 1
    assert {"gsm8k/1", "released/gsm8k/1"} <= set(ids)
    shards = sharded_for(instructions).sharded
    assert [shard.text for shard in shards[sample.instruction_id].shards] == OWN["shards"]
    assert shards["gsm8k/1"].provenance == "authored"
    assert shards["released/gsm8k/1"].provenance == "released"
    only = [item for item in instructions if item.instruction_id == "released/gsm8k/1"]
    assert list(sharded_for(only).sharded) == ["released/gsm8k/1"]


def test_unusable_imports_are_problems_of_their_task(tmp_path: Path) -> None:
    broken = {"task_id": "sharded-GSM8K/7000", "task": "math", "shards": []}
    merge(read_records_file(_file(tmp_path, [broken]))[0])
    _, problems = all_instructions("math")
    assert [(problem.record_id, problem.field) for problem in problems] == [("sharded-GSM8K/7000", "question")]
    assert all_instructions("actions")[1] == []


def test_a_damaged_store_names_file_and_line() -> None:
    store = Home.locate().lake / "released" / "records.jsonl"
    store.parent.mkdir(parents=True)
    store.write_text('{"form": "released", "base": "", "task": null, "record": {}}\n{"form": ')
    with pytest.raises(StorageError, match=r"records\.jsonl:2 is damaged"):
        stored_records()


def test_a_home_that_cannot_be_written_is_a_storage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    records, _ = read_records_file(_file(tmp_path, [RELEASED]))
    with pytest.raises(StorageError, match="cannot be written"):
        merge(records, Home(tmp_path / "file"))


def test_a_packed_list_is_imported_and_a_pointer_is_named(tmp_path: Path) -> None:
    path = _file(tmp_path, [RELEASED, OWN])
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert [record.key[2] for record in read_records_file(path)[0]] == ['"sharded-GSM8K/900"', '"mine-1"']
    path.write_text("version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(InputError, match=r"records\.json is a Git LFS pointer; .*git lfs pull"):
        read_records_file(path)
