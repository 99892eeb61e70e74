"""Logs of forks: settings and events they invented, reveals before their message, odd lines told once by reason."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from support.log_lines import SHARDS, Line, concat, evaluation, full, label, log_line, reply, reveal, sharded, user
from typer.testing import CliRunner

from lic_pipeline.cli.app import build
from lic_pipeline.config import Home
from lic_pipeline.errors import ConfigError, InputError, RecordError, UnknownNameError
from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.logs.import_files import import_files
from lic_pipeline.logs.outcome import MOST_NAMES, OTHERS
from lic_pipeline.logs.reading.parse_trace import read_trace
from lic_pipeline.logs.reading.reference_names import UnknownSettingError, kind_of, setting_table
from lic_pipeline.records import Conversation, Setting

Write = Callable[..., Path]
FORK = "snowball-stateful"


@pytest.fixture
def home(lic_home: Path, raw_files: Path) -> Home:
    return Home(lic_home).prepare()


def event(kind: Any, **fields: Any) -> Line:
    return {"role": "log", "content": {"type": kind, **fields}}


def forked(**fields: Any) -> Line:
    """A snowballed conversation that logs each reveal before its message, and events of its own."""
    trace: list[Line] = []
    for number, shard in enumerate(SHARDS, start=1):
        trace += [event("hint_revealed", shard_id=number), user(shard)]
        if number < len(SHARDS):
            trace += [reply("What else?"), label("clarification"), event("duplicate-ignored", shard_id=number)]
    trace += [reply("Final answer: 32"), label("answer_attempt"), evaluation("32", True), event("turns_exceeded")]
    return log_line(FORK, trace, **{"score": 1.0, **fields})


def lake_files(home: Home) -> list[Path]:
    return [path for path in home.lake.rglob("*") if path.is_file()]


def stored(home: Home) -> list[Conversation]:
    store = ConversationStore(home.lake, "math", "logs/model-x")
    return list(store.read(store.ids()))


def run(*arguments: str) -> tuple[int, str, list[str]]:
    result = CliRunner().invoke(build(["import-logs"]), ["import-logs", *arguments], catch_exceptions=False)
    return result.exit_code, result.stdout, result.stderr.splitlines()


def test_unknown_setting_is_named_once_with_its_count_and_the_option(home: Home, write_log: Write) -> None:
    lines = [forked(conv_id=str(number), conv_type=f"{FORK}-t0.{number % 2}") for number in range(30)]
    code, _, said = run(str(write_log(*lines)))
    assert (code, lake_files(home)) == (1, [])
    assert [line for line in said if FORK in line] == [said[0]]
    assert "30 lines" in said[0]
    assert f"--setting {FORK}=SNOWBALL" in said[0]
    assert "RETRY" in said[0]


def test_setting_option_imports_a_fork_and_keeps_the_known_settings(home: Home, write_log: Write) -> None:
    path = write_log(forked(), sharded(), concat())
    imported = import_files(home, [path], settings=setting_table([f"{FORK}=SNOWBALL"]))
    assert (imported.n_conversations, imported.kinds) == (3, {})
    assert imported.skipped_events == {"duplicate_ignored": 3, "turns_exceeded": 1}
    found = {str(one.setting): tuple(turn.revealed for turn in one.turns) for one in stored(home)}
    assert found["SNOWBALL"] == found["SHARDED"] == (1, 2, 3, 4)
    code, out, said = run(str(path), "--setting", f"{FORK}=snowball", "--json")
    document = json.loads(out)
    assert (code, document["skipped_events"]) == (0, {"duplicate_ignored": 3, "turns_exceeded": 1})
    assert said == ["skipped log events of unknown type: duplicate_ignored 3, turns_exceeded 1"]
    signature = {row["setting"]: row["signature"] for row in document["comparison"]}
    assert f"logged_as:{FORK}" in signature["SNOWBALL"]
    assert "logged_as" not in signature["SHARDED"]


def test_told_otherwise_the_line_is_another_conversation(home: Home, write_log: Write) -> None:
    path = write_log(forked())
    ids = set()
    for setting in ("SNOWBALL", "SHARDED", "RETRY"):
        imported = import_files(home, [path], settings=setting_table([f"{FORK}={setting}"]))
        assert imported.added == 1
        ids |= {entry.conversation_id for entries in imported.partitions.values() for entry in entries}
    assert len(ids) == 3
    assert {str(one.setting): len(one.turns) for one in stored(home)} == {"SNOWBALL": 4, "SHARDED": 4, "RETRY": 1}


def test_shards_are_read_from_a_concat_of_another_name(home: Home, write_log: Write) -> None:
    path = write_log(forked(), {**concat(), "conv_type": "All_At_Once"})
    imported = import_files(home, [path], settings=setting_table([f"{FORK}=SNOWBALL", "all-at-once=CONCAT"]))
    assert imported.n_shards == {"gsm8k/0": 4}
    assert all("shards_unknown" not in one.flags for one in stored(home))


@pytest.mark.parametrize(
    ("option", "conv_type", "setting", "condition"),
    [
        ("Snow_V2=SNOWBALL", "snow-v2-t0.5", Setting.SNOWBALL, {"assistant_temperature": 0.5}),
        ("snow-t1=SNOWBALL", "snow-t1", Setting.SNOWBALL, {}),
        ("a=b=shuffle_concat", "a=b", Setting.SHUFFLE_CONCAT, {}),
        ("sharded=SNOWBALL", "sharded", Setting.SNOWBALL, {}),
    ],
)
def test_setting_options(option: str, conv_type: str, setting: Setting, condition: dict[str, float]) -> None:
    kind = kind_of(conv_type, setting_table([option]))
    assert (kind.setting, kind.condition, kind.told) == (setting, condition, True)


def test_setting_options_of_another_form_are_refused() -> None:
    for option in ("x", "x=", "=FULL"):
        with pytest.raises(ConfigError, match="NAME=SETTING"):
            setting_table([option])
    with pytest.raises(UnknownNameError, match="'HALF'; known: CONCAT, FULL"):
        setting_table(["x=half"])
    with pytest.raises(UnknownSettingError):
        kind_of("y", setting_table(["x=FULL"]))


@pytest.mark.parametrize(
    ("items", "revealed"),
    [
        ([reveal(1), user("a"), reply("b"), reveal(2), user("c"), reply("d")], [[1], [2]]),
        ([reveal(1), user("a"), reply("b"), label("hedge"), reveal(2), evaluation("1", True), user("c"), reply("d")],
         [[1], [2]]),
        ([user("a"), reveal(1), reply("b"), reveal(2), user("c"), reply("d")], [[1], [2]]),
        ([reveal(1), user("a"), reveal(1), reply("b")], [[1]]),
        ([user("a"), reveal(1), reply("b"), reveal(2)], [[1]]),
        ([user("a"), event("hint_revealed"), reply("b")], [[None]]),
    ],
)  # fmt: skip
def test_a_reveal_belongs_to_the_message_it_stands_beside(items: list[Line], revealed: list[list[Any]]) -> None:
    assert [turn.revealed for turn in read_trace(items).turns] == revealed


def test_events_of_any_form_are_skipped_and_counted() -> None:
    odd = [event(kind) for kind in (None, 7, {"a": 1}, "", "x-y")]
    trace = read_trace([*odd, {"role": "log", "content": {}}, user("a"), reply("b"), reveal(2)])
    assert trace.skipped == {"(no type)": 5, "x_y": 1, "reveal without a message": 1}
    with pytest.raises(RecordError, match="item 1: a log entry"):
        read_trace([{"role": "log", "content": ["x"]}])


def test_one_reason_is_told_once_with_its_count_and_first_places(write_log: Write, home: Home) -> None:
    broken = [full(conv_id=f"c{n}", trace=[*[user("a"), reply("b")] * (n % 7), "x"]) for n in range(937)]
    unknown = [full(conv_id=f"u{n}", task_id=f"sharded-GSM8K/{n + 5}") for n in range(40)]
    path = write_log(full(), *broken, *unknown, "{", "[1] [1]")
    code, out, said = run(str(path), "--json")
    assert code == 1
    assert len(said) == 6
    assert said[0].startswith(f"{path}:2 field 'trace': item 1 is no object [937 lines alike; next {path}:3, ")
    reasons = json.loads(out)["reasons"]
    assert [(one["kind"], one["count"]) for one in reasons] == [
        ("bad_line", 937),
        ("unknown_item", 40),
        *[("bad_line", 1)] * 2,
    ]
    assert reasons[0]["first"] == [f"{path}:{line}" for line in (2, 3, 4)]


def test_what_is_told_is_bounded_whatever_the_lines_hold(write_log: Write, home: Home) -> None:
    lines = [full(conv_id=str(n), conv_type=f"kind{'x' * n}") for n in range(MOST_NAMES + 60)]
    imported = import_files(home, [write_log(*lines)])
    assert len(imported.unknown_settings) == MOST_NAMES + 1
    assert imported.unknown_settings[OTHERS] == 60
    assert max(map(len, imported.complaints())) < 500


def test_a_packed_log_cut_off_is_one_error_and_nothing_is_stored(write_log: Write, home: Home, tmp_path: Path) -> None:
    good, cut = write_log(full()), tmp_path / "cut.jsonl.gz"
    lines = "".join(json.dumps(full(text=os.urandom(500).hex(), conv_id=str(n))) + "\n" for n in range(2000))
    cut.write_bytes(gzip.compress(lines.encode())[:-400])
    with pytest.raises(InputError, match=r"cut\.jsonl\.gz cannot be read"):
        import_files(home, [good, cut])
    assert lake_files(home) == []


def test_what_a_file_holds_says_whether_it_is_packed(write_log: Write, home: Home, tmp_path: Path) -> None:
    packed, plain = tmp_path / "packed.jsonl", write_log(full(conv_id="b"), name="plain.jsonl.gz")
    packed.write_bytes(gzip.compress(write_log(full()).read_bytes()))
    assert import_files(home, [packed, plain]).n_conversations == 2


def test_forks_that_number_conversations_alike_are_told_apart(write_log: Write, home: Home) -> None:
    one = write_log(full(conv_id=1), full(conv_id=1, assistant_model="model-y"), forked(conv_id=1), name="one.jsonl")
    other = write_log(full(conv_id=1, text="It is 32."), concat(conv_id=1), name="other.jsonl")
    imported = import_files(home, [one, other], settings=setting_table([f"{FORK}=SNOWBALL"]))
    assert (imported.n_conversations, imported.kinds) == (4, {"bad_line": 1})
    assert "one.jsonl:1 already" in imported.problems[0].reason


@pytest.mark.parametrize(("every", "attempts"), [(12, 0), pytest.param(1, 1562, marks=pytest.mark.slow)])
def test_a_published_fork_reproduces_every_recorded_score(
    every: int, attempts: int, shared_data: Path, tmp_path: Path, lic_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIC_DATA", str(shared_data / "raw"))
    path = tmp_path / "fork.jsonl"
    with gzip.open(shared_data / "lic_logs" / "fork_math_snowball.jsonl.gz") as lines:
        path.write_bytes(b"".join(islice(lines, 0, None, every)))
    code, out, said = run(str(path), "--setting", f"{FORK}=SNOWBALL", "--json")
    rows = json.loads(out)["comparison"]
    assert (code, len(said), len(rows)) == (0, 1, 4)
    assert sum(row["n_conversations"] for row in rows) == 192 // every
    assert sum(row["attempts"] for row in rows) == sum(row["reproduced"] for row in rows) >= attempts
    assert all(row["reference"] == row["recorded"] for row in rows)
    assert not any("not_reproduced" in reason for row in rows for reason in row["reasons"])
