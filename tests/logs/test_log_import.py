"""Importing files: joined, stored once, rescored; every line accounted for."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.log_lines import CALLS, REQUEST, SHARDS, Line, concat, evaluation, full, log_line, reply, sharded, user

from lic_pipeline.config import Home
from lic_pipeline.errors import InputError
from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.lake.tables import read_all, read_partition
from lic_pipeline.logs.import_files import Imported, import_files
from lic_pipeline.logs.publish_import import publish_import
from lic_pipeline.logs.reading.reference_names import alias_table
from lic_pipeline.logs.tables import IMPORTED_LOGS, partition_of
from lic_pipeline.models.ledger import Ledger
from lic_pipeline.records import Conversation, Json
from lic_pipeline.tables.runs import EXTRACTED_ANSWERS, MANIFESTS
from lic_pipeline.tables.scores import SCORES

Write = Callable[..., Path]
MODEL = "logs/model-x"


class NoCache:
    """Remembers nothing."""

    def verdict(self, key: str) -> dict[str, Json] | None:
        return None

    def store_verdict(self, key: str, value: dict[str, Json]) -> None:
        return None


@pytest.fixture
def home(lic_home: Path, raw_files: Path) -> Home:
    return Home(lic_home).prepare()


def publish(home: Home, imported: Imported, name: str | None = None) -> list[dict[str, Any]]:
    parts = publish_import(home.lake, imported, imported.experiment(name), NoCache())
    return [row for part in parts for row in part]


def stored(home: Home, task: str = "math", model: str = MODEL) -> list[Conversation]:
    store = ConversationStore(home.lake, task, model)
    return list(store.read(store.ids()))


def everything_below(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {str(p): (p.stat().st_mtime_ns, p.read_bytes()) for p in folder.rglob("*") if p.is_file()}


def old_sharded(**fields: Any) -> Line:
    """SHARDED as older scripts logged it: hints, none on turn 1, on after the success, outcome in is_correct."""
    trace: list[Line] = [user(SHARDS[0]), reply("Tell me more."), _labelled("refuse")]
    for hint, shard in ((2, SHARDS[2]), (1, SHARDS[1]), (3, SHARDS[3])):
        right = hint != 3
        entry = {"role": "log", "content": {"type": "hint_revealed", "hint_id": hint}}
        trace += [user(shard), entry, reply(f"Final answer: {32 if right else 9}"), _labelled("answer_attempt")]
        trace.append(evaluation("32" if right else "9", right, "is_correct"))
    return log_line("sharded", trace, is_correct=False, task_id="sharded-GSM8K-0", **fields)


def _labelled(name: str) -> Line:
    return {"role": "log", "content": {"type": "system-verification", "response": {"response_type": name}}}


def test_both_generations_become_conversations(home: Home, write_log: Write) -> None:
    imported = import_files(home, [write_log(full(), concat(), sharded(), old_sharded(conv_id="old"))])
    rows = {row["conv_id"]: row for row in publish(home, imported)}
    assert (imported.lines, imported.added, imported.kinds) == (4, 4, {})
    turns = {c.instruction_id: None for c in stored(home)}
    assert list(turns) == ["gsm8k/0"]
    revealed = {tuple(t.revealed for t in c.turns) for c in stored(home) if c.setting == "SHARDED"}
    assert revealed == {(1, 2, 3, 4), (1, 3, 2, 4)}
    assert all(c.shard_ids == (1, 2, 3, 4) for c in stored(home))  # from the bullets of CONCAT
    assert rows["old"]["stop"] == "exhausted"
    assert (rows["old"]["recorded"], rows["old"]["recorded_max"], rows["old"]["robust"]) == (0.0, 100.0, 100.0)
    assert json.loads(rows["old"]["reasons"]) == ["last_to_max+"]
    assert rows["sharded-1"]["stop"] == "unknown"


def test_signature_says_what_the_log_says(home: Home, write_log: Write) -> None:
    rows = publish(home, import_files(home, [write_log(sharded(), old_sharded(conv_id="old", user_model="t-a|b"))]))
    fields = dict(part.split(":", 1) for part in rows[0]["signature"].split("|"))
    assert (fields["stop"], fields["user"]) == ("exhausted", "logged(t-a%7Cb,t-sim)")
    assert fields["assistant"] == MODEL


def test_importing_twice_changes_nothing(home: Home, write_log: Write) -> None:
    path = write_log(full(), sharded(), concat())
    publish(home, import_files(home, [path]))
    before = everything_below(home.lake)
    again = import_files(home, [path])
    publish(home, again)
    assert (again.added, again.known) == (0, 3)
    assert everything_below(home.lake) == before


def test_parts_and_the_whole_share_conversations_not_manifests(home: Home, write_log: Write) -> None:
    first, second = write_log(full(), name="a.jsonl"), write_log(full(conv_id="two"), name="b.jsonl")
    one, other = import_files(home, [first]), import_files(home, [second])
    publish(home, one)
    publish(home, other)
    both = import_files(home, [second, first])
    rows = publish(home, both)
    assert len({one.experiment(), other.experiment(), both.experiment()}) == 3
    assert both.added == 0
    assert sorted(row["run"] for row in rows) == [0, 1]
    found = read_partition(home.lake, EXTRACTED_ANSWERS, partition_of(both.experiment(), "math", MODEL))
    assert sorted(row["run"] for row in found or []) == [0, 1]
    assert {len(c.turns) for c in stored(home)} == {1}


def test_name_replaces_what_it_named_before(home: Home, write_log: Write) -> None:
    publish(home, import_files(home, [write_log(full(), full(conv_id="b", assistant_model="other"))]), "mine")
    publish(home, import_files(home, [write_log(full())]), "mine")
    for spec in (MANIFESTS, SCORES, EXTRACTED_ANSWERS, IMPORTED_LOGS):
        rows = read_all(home.lake, spec).to_pylist()
        assert {(row["experiment"], row["model"]) for row in rows} == {("logs-mine", MODEL)}, spec.name
    assert len(stored(home, model="logs/other")) == 1  # conversations stay


def test_one_model_under_two_names(home: Home, write_log: Write) -> None:
    lines = [full(assistant_model="llama3.1-8b-inst"), full(conv_id="b", assistant_model="llama3.1-8b-instruct")]
    rows = publish(
        home,
        import_files(home, [write_log(*lines, full(conv_id="c", assistant_model="t-old"))], alias_table(["old=new"])),
    )
    assert [(row["model"], row["run"]) for row in rows] == [
        ("logs/llama3.1-8b-inst", 0),
        ("logs/llama3.1-8b-inst", 1),
        ("logs/new", 0),
    ]
    assert rows[1]["named_model"] == "llama3.1-8b-instruct"


def test_temperatures_are_conditions(home: Home, write_log: Write) -> None:
    cold = sharded(conv_type="sharded-at0.0-ut1.0", conv_id="cold")
    rows = publish(home, import_files(home, [write_log(sharded(), cold, concat())]))
    conditions = {row["conv_id"]: json.loads(row["condition"]) for row in rows}
    assert conditions["cold"] == {"assistant_temperature": 0.0, "user_temperature": 1.0}
    assert conditions["sharded-1"] == {}
    assert {row["run"] for row in rows} == {0}


def test_actions_of_older_name_are_joined_and_rescored(home: Home, write_log: Write) -> None:
    calls = "[lamp.dim(room='hall', percent=20), lamp.dim(room='den', percent=45)]"
    item = {"task": "apis", "task_id": "sharded-BFCL-parallel_0"}
    whole = log_line(
        "full", [user(REQUEST), reply(calls), evaluation(calls, True, "is_correct")], is_correct=True, **item
    )
    fenced = f"Here you are:\n```python\n{calls}\n```"
    wordy = log_line(
        "full",
        [user(REQUEST), reply(fenced), evaluation(fenced, False, "is_correct")],
        is_correct=False,
        **item,
        conv_id="w",
    )
    rows = publish(home, import_files(home, [write_log(whole, wordy)]))
    assert [(row["recorded"], row["reference_last"], row["robust"]) for row in rows] == [(100, 100, 100), (0, 0, 100)]
    assert len(CALLS) == 2


def test_bad_lines_are_named_and_good_ones_survive(home: Home, write_log: Write) -> None:
    path = write_log(
        "{broken",
        full(),
        "",
        "[1]",
        full(conv_id="no-task", task=None),
        full(conv_id="odd", conv_type="half"),
        full(conv_id="late", trace=[]),
        full(conv_id="big", score=7),
        full(conv_id="who", assistant_model=""),
        full(conv_id="song", task="singing"),
        '{"conv_id": "nan", "score": NaN}',
    )
    imported = import_files(home, [path])
    assert imported.n_conversations == 1
    assert imported.kinds == {"bad_line": 9}
    assert [problem.line for problem in imported.problems] == [1, 4, 5, 6, 7, 8, 9, 10, 11]
    assert [problem.field for problem in imported.problems][2:8] == [
        *("task", "conv_type", "trace", "score", "assistant_model", "task"),
    ]
    assert all(str(problem).startswith(f"{path}:{problem.line}") for problem in imported.problems)


def test_text_no_file_can_hold_is_replaced_and_names_no_folder_can_have_are_bad_lines(
    home: Home, write_log: Write
) -> None:
    lone = json.dumps(full(text="half \ud83d of a pair. Final answer: 32"))
    imported = import_files(home, [write_log(lone, full(conv_id="long", assistant_model="m" * 300))])
    assert [(p.line, p.field) for p in imported.problems] == [(2, "assistant_model")]
    assert [c.turns[0].reply.text for c in stored(home)] == ["half \ufffd of a pair. Final answer: 32"]
    assert [row["robust"] for row in publish(home, imported)] == [100.0]


def test_repeated_line_counts_once_and_a_reused_id_is_a_bad_line(home: Home, write_log: Write) -> None:
    imported = import_files(home, [write_log(full(), full(), full(text="It is 32."))])
    assert (imported.n_conversations, imported.repeated, imported.kinds) == (1, 1, {"bad_line": 1})
    assert "log.jsonl:1 already" in imported.problems[0].reason


def test_what_cannot_be_joined_is_reported_by_reason(home: Home, write_log: Write) -> None:
    lines = [
        full(conv_id="a", task_id="sharded-GSM8K/77"),
        full(conv_id="b", task="translation"),
        full(conv_id="c"),
    ]
    imported = import_files(home, [write_log(*lines)])
    assert imported.kinds == {"unknown_item": 1}
    assert "LIC_DATA" in imported.problems[0].reason
    assert list(imported.set_aside.values()) == [1]
    assert imported.n_conversations == 1


def test_item_that_asks_something_else_is_left_out_in_every_setting(home: Home, write_log: Write) -> None:
    other = full(conv_id="x", trace=[user("Q: How old is Mara?\nA:"), reply("32"), evaluation("32", True)])
    imported = import_files(home, [write_log(concat(), sharded(), other)])
    assert imported.kinds == {"other_content": 3}
    assert imported.n_conversations == 0


def test_our_own_samples_are_no_reference_for_other_logs(
    lic_home: Path, write_log: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LIC_DATA", raising=False)
    imported = import_files(Home(lic_home).prepare(), [write_log(sharded(), concat())])
    assert imported.n_conversations == 0
    assert set(imported.kinds) <= {"other_content", "unknown_item"}


def test_shards_nobody_lists_are_flagged(home: Home, write_log: Write) -> None:
    import_files(home, [write_log(sharded())])
    assert [c.flags for c in stored(home)] == [("shards_unknown",)]


def test_simulated_conversations_and_their_manifests_stay_apart(home: Home, write_log: Write) -> None:
    imported = import_files(home, [write_log(full(assistant_model="phi-4"))])
    publish(home, imported)
    assert ConversationStore(home.lake, "math", "phi-4").ids() == set()
    manifest = read_all(home.lake, MANIFESTS).to_pylist()
    assert [(row["experiment"], row["model"]) for row in manifest] == [(imported.experiment(), "logs/phi-4")]
    assert imported.experiment().startswith("logs-")


def test_verdicts_of_programs_are_cached_in_the_ledger(home: Home, write_log: Write) -> None:
    imported = import_files(home, [write_log(full())])
    with Ledger.open(home.ledger) as ledger:
        rows = [row for part in publish_import(home.lake, imported, imported.experiment(), ledger) for row in part]
    assert [row["robust"] for row in rows] == [100.0]


def test_gzipped_logs_and_unreadable_ones(home: Home, write_log: Write, tmp_path: Path) -> None:
    packed = tmp_path / "log.jsonl.gz"
    packed.write_bytes(gzip.compress(write_log(full()).read_bytes()))
    assert import_files(home, [packed]).n_conversations == 1
    packed.write_bytes(packed.read_bytes()[:-12])
    with pytest.raises(InputError, match="cannot be read"):
        import_files(home, [packed])
    with pytest.raises(InputError, match="cannot be read"):
        import_files(home, [tmp_path / "absent.jsonl"])


def test_memory_does_not_grow_with_transcripts(home: Home, tmp_path: Path) -> None:
    """30 MB of lines whose transcripts are long pass through far less memory."""
    import tracemalloc

    path = tmp_path / "long.jsonl"
    padding = "word " * 20_000
    with path.open("w") as handle:
        for number in range(300):
            line = full(conv_id=str(number))
            line["trace"][0]["content"] = f"{number} {padding}"
            handle.write(json.dumps(line) + "\n")
    tracemalloc.start()
    imported = import_files(home, [path])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert imported.n_conversations == 300
    assert peak < 14_000_000
