"""`lic ledger`: totals, export, verify, rebuild and vacuum, none of which calls a model."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from support.lic_command import Lic

CANARY = "sk-canary-0123456789abcdef0123456789abcdef"


def test_totals_are_sums_over_all_calls(finished: Lic) -> None:
    document = finished("ledger", "totals", "--json").document
    (row,) = document["calls"]
    with closing(finished.ledger()) as connection:
        calls, prompt = connection.execute("SELECT count(*), sum(prompt_tokens) FROM calls").fetchone()
    assert (row["model"], row["role"], row["calls"], row["prompt"]) == ("sim/lost", "assistant", calls, prompt)
    assert document["conversations"] == {"done": 12}
    assert "assistant" in finished("ledger", "totals").out


def test_export_writes_every_call_as_a_json_line(finished: Lic, tmp_path: Path) -> None:
    target = tmp_path / "calls.jsonl"
    finished("ledger", "export", "-o", str(target))
    lines = [json.loads(line) for line in target.read_text(encoding="utf-8").splitlines()]
    keys = [(row["conversation_id"], row["epoch"], row["role"], row["turn"], row["ask"]) for row in lines]
    assert keys == sorted(set(keys))
    assert len(keys) == finished("ledger", "totals", "--json").document["overall"]["calls"]
    assert all(row["reply"]["text"] and row["request_fields"]["model"] == "sim/lost" for row in lines)
    assert finished("ledger", "export").out == target.read_text(encoding="utf-8")


def test_verify_replays_everything_and_finds_it_as_stored(finished: Lic) -> None:
    document = finished("ledger", "verify", "--all", "--json").document
    assert (document["checked"], document["unchecked"], document["findings"]) == (12, {}, [])
    assert finished("ledger", "verify", "--sample", "5", "--json").document["checked"] == 5


def test_verify_names_drift_and_ends_with_5(finished: Lic) -> None:
    with closing(finished.ledger()) as connection, connection:
        row = connection.execute("SELECT rowid, conversation_id, request_fields FROM calls WHERE turn = 1").fetchone()
        fields = json.loads(row[2]) | {"system_prompt": "0" * 32}
        changed = (json.dumps(fields, separators=(",", ":")), row[0])
        connection.execute("UPDATE calls SET request_hash = 'other', request_fields = ? WHERE rowid = ?", changed)
    findings = finished("ledger", "verify", "--all", "--json", code=5).document["findings"]
    assert row[1] in {one["conversation_id"] for one in findings}
    assert all(one["kind"] == "drift" and "'system_prompt'" in one["reason"] for one in findings)
    assert "drift" in finished("ledger", "verify", "--all", code=5).out


@pytest.mark.parametrize(
    ("statement", "kind", "said"),
    [
        ("DELETE FROM calls WHERE conversation_id = ? AND turn = 1", "incomplete", "call assistant/1/0"),
        ("DELETE FROM decisions WHERE conversation_id = ? AND turn = 1", "incomplete", "decision turn of turn 1"),
        ("UPDATE calls SET reply = replace(reply, '\"text\":\"', '\"text\":\"Well. ') WHERE conversation_id = ?",
         "differs", "another transcript"),
    ],
    ids=["call gone", "decision gone", "reply changed"],
)  # fmt: skip
def test_verify_finds_what_the_ledger_lost(finished: Lic, statement: str, kind: str, said: str) -> None:
    with closing(finished.ledger()) as connection, connection:
        (name,) = connection.execute("SELECT conversation_id FROM calls GROUP BY 1 HAVING count(*) = 1").fetchone()
        assert connection.execute(statement, (name,)).rowcount == 1
    (found,) = finished("ledger", "verify", "--all", "--json", code=1).document["findings"]
    assert (found["conversation_id"], found["kind"]) == (name, kind)
    assert said in found["reason"]


def test_rebuild_gives_the_lake_what_the_ledger_holds(finished: Lic) -> None:
    shutil.rmtree(finished.home / "lake" / "conversations")
    assert finished("ledger", "rebuild", "--json").document == {
        "schema": 1, "to_lake": 12, "to_ledger": 0, "failed": {}
    }  # fmt: skip
    assert finished("ledger", "verify", "--all", "--json").document["findings"] == []


def test_rebuild_gives_a_new_ledger_what_the_lake_holds(finished: Lic) -> None:
    before = finished("ledger", "totals", "--json").document
    (finished.home / "ledger").rename(finished.home / "damaged")
    assert finished("ledger", "rebuild", "--json").document["to_ledger"] == 12
    assert finished("ledger", "totals", "--json").document == before
    assert finished("ledger", "verify", "--all", "--json").document["checked"] == 12


def test_vacuum_drops_superseded_texts_and_keeps_the_totals(finished: Lic) -> None:
    with closing(finished.ledger()) as connection, connection:
        (name,) = connection.execute("SELECT conversation_id FROM calls GROUP BY 1 HAVING count(*) = 1").fetchone()
        columns = [row[1] for row in connection.execute("PRAGMA table_info(calls)")]
        for table, listed in (("calls", columns), ("decisions", ["conversation_id", "epoch", "kind", "turn", "value",
                                                                 "version"])):  # fmt: skip
            again = ", ".join("1" if column == "epoch" else column for column in listed)
            connection.execute(f"INSERT INTO {table} SELECT {again} FROM {table} WHERE conversation_id = ?", (name,))
        connection.execute("UPDATE conversations SET epoch = 1 WHERE conversation_id = ?", (name,))
    before = finished("ledger", "totals", "--json").document
    gone = finished("ledger", "vacuum", "--json").document
    assert (gone["calls"], gone["decisions"]) == (1, 1)
    assert finished("ledger", "totals", "--json").document == before
    assert finished("ledger", "verify", "--all", "--json").document["findings"] == []
    assert finished("ledger", "vacuum", "--json").document["calls"] == 0


def test_doctor_looks_at_everything_and_shows_no_key(finished: Lic) -> None:
    keys = {"OPENAI_API_KEY": CANARY}
    document = finished("doctor", "--json", env=keys).document
    assert {row["area"] for row in document["lines"]} == {
        "python", "packages", "home", "data", "sandbox", "sqlite", "ledger", "keys", "models", "dagster"
    }  # fmt: skip
    assert document["counts"]["fail"] == 0
    told = finished("doctor", env=keys).out
    assert "OPENAI_API_KEY is set" in told
    assert "ANTHROPIC_API_KEY is not set" in told
    assert "for quicker endpoints say `lic run --processes N`" in told
    assert CANARY not in told + json.dumps(document)


def test_doctor_fails_with_1_and_says_what_to_do(lic: Lic) -> None:
    lic.home.write_text("a file where a folder should be", encoding="utf-8")
    document = lic("doctor", "--json", code=1, env={"LIC_DATA": str(lic.home / "none")}).document
    failing = {row["area"]: row for row in document["lines"] if row["status"] == "fail"}
    assert set(failing) == {"home", "data"}
    assert all(row["advice"] for row in failing.values())
