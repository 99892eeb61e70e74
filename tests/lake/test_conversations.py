"""Conversations in the lake: what is written is read, the newest counts, and readers survive a compaction."""

from __future__ import annotations

from pathlib import Path

import pytest

from lic_pipeline.errors import StorageError
from lic_pipeline.lake import conversations as lake
from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.records import Conversation, Reply, Setting, StopReason, Strategy, Turn


def one(name: str, text: str = "hello", **fields: object) -> Conversation:
    turn = Turn(
        turn=1, user="u", revealed=1, reply=Reply(text=text), strategy=Strategy.DISCUSSION,
        rule_strategy=Strategy.DISCUSSION,
    )  # fmt: skip
    values = {
        "conversation_id": name, "purpose": "eval", "task": "math", "model": "m/x", "setting": Setting.SHARDED,
        "instruction_id": "own/0", "run": 0, "seed": 1, "shard_ids": (1, 2), "system_prompt": "s", "turns": (turn,),
        "stop_reason": StopReason.EXHAUSTED, "flags": ("forced",), "judged_by": "1:ab",
    }  # fmt: skip
    return Conversation.model_validate({**values, **fields})


@pytest.fixture
def store(tmp_path: Path) -> ConversationStore:
    return ConversationStore(tmp_path, "math", "m/x")


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "",
        "a\x00b",
        "lone \ud800 and \udfff",
        "\\ud800 spelled",
        "\U0001f600 \\u0041",
        "x" * 1_000_000,
        "\r\n\u2028",
    ],
)
def test_a_conversation_comes_back_as_it_was(store: ConversationStore, text: str) -> None:
    written = one("a", text)
    store.append([written])
    assert list(store.read(["a"])) == [written]


def test_conversations_without_turns_or_reason(store: ConversationStore) -> None:
    written = one("a", turns=(), state="error:timeout", stop_reason=None, parent_id="p", condition={"t": 0.5})
    store.append([written])
    assert list(store.read(["a"])) == [written]
    assert store.endings({"a"})["a"].first_turn == 0


def test_the_newest_row_counts_and_each_comes_once(store: ConversationStore) -> None:
    store.append([one("a", "old", state="error:timeout", stop_reason=None), one("b")])
    store.append([one("a", "new", flags=("refusal",))])
    found = {conversation.conversation_id: conversation for conversation in store.read(["a", "b", "unknown"])}
    assert sorted(found) == ["a", "b"]
    assert found["a"].turns[0].reply.text == "new"
    assert store.ids() == {"a", "b"}
    assert store.flags(["a"]) == {"a": ("refusal",)}
    ending = store.endings({"a"})["a"]
    assert (ending.state, ending.stop_reason, ending.n_turns, ending.first_turn) == ("done", "exhausted", 1, 1)
    assert ending.judged_by == "1:ab"


def test_nothing_stored_is_nothing_found(store: ConversationStore) -> None:
    assert store.ids() == set()
    assert list(store.read(["a"])) == []
    assert store.endings({"a"}) == {}
    store.append([])
    store.compact()
    assert store.file_names() == []


def test_compaction_keeps_the_newest_of_each_and_leaves_few_files(store: ConversationStore) -> None:
    for number in range(12):
        store.append([one("same", str(number)), one(f"own {number}")])
    before = {c.conversation_id: c for c in store.read(["same", *(f"own {n}" for n in range(12))])}
    store.compact()
    after = {c.conversation_id: c for c in store.read(before)}
    assert after == before
    assert after["same"].turns[0].reply.text == "11"
    assert len(store.file_names()) == 1


def test_large_files_are_left_alone(store: ConversationStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lake, "_MERGED_ROWS", 20)
    for number in range(30):
        store.append([one(f"{number}-{row}") for row in range(7)])
    everything = store.ids()
    store.compact()
    assert store.ids() == everything
    assert 1 < len(store.file_names()) <= 11
    names = store.file_names()
    store.compact()
    assert len(store.file_names()) <= len(names)


def test_a_compaction_under_a_reader_loses_and_doubles_nothing(store: ConversationStore) -> None:
    wanted = [f"{number}" for number in range(40)]
    for name in wanted:
        store.append([one(name)])
    reader = store.read(wanted)
    seen = [next(reader).conversation_id for _ in range(5)]
    store.compact()
    seen += [conversation.conversation_id for conversation in reader]
    assert sorted(seen) == sorted(wanted)


def test_a_row_superseded_and_compacted_away_under_a_reader_still_comes_once(store: ConversationStore) -> None:
    wanted = [f"{number}" for number in range(20)]
    for name in wanted:
        store.append([one(name, "old")])
    reader = store.read(wanted)
    seen = [next(reader)]
    for name in wanted:
        store.append([one(name, "new")])
    store.compact()
    seen += list(reader)
    assert sorted(conversation.conversation_id for conversation in seen) == sorted(wanted)
    assert {conversation.turns[0].reply.text for conversation in seen[1:]} <= {"old", "new"}


def test_a_file_that_vanishes_between_listing_and_reading_is_no_error(
    store: ConversationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append([one("a")])
    real = store._files
    monkeypatch.setattr(store, "_files", lambda: [*real(), store.folder / "setting=SHARDED_u7f" / "gone.parquet"])
    assert store.ids() == {"a"}
    assert [conversation.conversation_id for conversation in store.read(["a"])] == ["a"]


@pytest.mark.parametrize("content", [b"", b"PAR1 not really", b"\x00" * 100])
def test_a_damaged_file_is_named_with_the_way_on(store: ConversationStore, content: bytes) -> None:
    store.append([one("a")])
    (file,) = store.folder.glob("setting=*/*.parquet")
    file.write_bytes(content)
    for ask in (store.ids, lambda: list(store.read(["a"])), lambda: store.endings({"a"})):
        with pytest.raises(StorageError, match="remove this file: the next run restores") as caught:
            ask()
        assert file.name in str(caught.value)


def test_models_that_differ_in_punctuation_do_not_share_a_folder(tmp_path: Path) -> None:
    ConversationStore(tmp_path, "math", "a/b").append([one("a")])
    assert ConversationStore(tmp_path, "math", "a_b").ids() == set()
    assert ConversationStore(tmp_path, "math", "a/b").ids() == {"a"}
