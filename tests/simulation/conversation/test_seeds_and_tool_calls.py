"""Seeds asked of providers, and replies by structured calls in conversations that go on after them."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fault_server import FaultServer
from math_plans import entry_at, math_plan
from role_answers import played_answer, role_of

from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.models.ledger import Ledger
from lic_pipeline.models.registry import ModelEntry, user_registry
from lic_pipeline.records import Conversation, Instruction, Reply, Shard, ShardedInstruction, Strategy, ToolCall
from lic_pipeline.simulation.conversation.replay import Replayer, same_conversation
from lic_pipeline.simulation.engine.engine import run
from lic_pipeline.simulation.plan.conversation_plan import Approved, Plan, make_plan
from lic_pipeline.simulation.plan.experiment import Experiment
from lic_pipeline.simulation.reply_text import reply_text

SETTINGS = ["FULL", "SHARDED", "RECAP"]


def hold(folder: Path, plan: Plan) -> dict[str, Conversation]:
    with Ledger.open(folder / "ledger") as ledger:
        assert run(plan, ledger, folder / "lake").complete
        assert run(plan, ledger, folder / "lake").calls == 0
    store = ConversationStore(folder / "lake", plan.task.name, plan.model.alias)
    return {found.conversation_id: found for found in store.read([spec.conversation_id for spec in plan.specs])}


def seeded_plan(url: str, model: str = "fake", **fields: Any) -> Plan:
    for role in ("user", "system"):
        listed = f"{{alias: {role}, id: local/{role}, base_url: '{url}', seed: per_conversation}}"
        user_registry().parent.mkdir(exist_ok=True)
        with user_registry().open("a") as file:
            file.write(f"{'' if file.tell() else 'models:'}\n  - {listed}\n")
    roles = {"simulator": "llm", "user_model": "user", "system_model": "system"}
    entry = entry_at(url, id=f"local/{model}", **{"seed": "per_conversation", **fields})
    return math_plan(entry, 2, runs=2, settings=SETTINGS, **roles)


def seeds_by_role(server: FaultServer) -> dict[str, set[int]]:
    found = defaultdict(set)
    for body in server.bodies:
        found[role_of(body)].add(body["seed"])
    return found


def test_every_conversation_asks_for_its_own_seed_in_every_role(tmp_path: Path, serve: Any, lic_home: Path) -> None:
    server: FaultServer = serve(answer=played_answer)
    held = hold(tmp_path, seeded_plan(server.url))
    found = seeds_by_role(server)
    # 2 items x 2 runs x 3 settings; the user speaks in SHARDED only.
    assert len(found["assistant"]) == len(held) == 12
    assert len(found["user"]) == 4
    everything = [seed for seeds in found.values() for seed in seeds]
    assert len(set(everything)) == len(everything)
    assert all(0 <= seed < 2**31 for seed in everything)


def test_models_meet_the_same_seeds_and_other_runs_do_not(tmp_path: Path, serve: Any, lic_home: Path) -> None:
    seen = []
    for place, (model, seed) in enumerate((("one", 1), ("two", 1), ("one", 2))):
        server: FaultServer = serve()
        entry = entry_at(server.url, id=f"local/{model}", seed="per_conversation")
        hold(tmp_path / str(place), math_plan(entry, 2, runs=1, settings=SETTINGS, seed=seed))
        seen.append(seeds_by_role(server)["assistant"])
    assert seen[0] == seen[1]
    assert not seen[0] & seen[2]


def test_seeds_are_part_of_the_request_and_of_the_identity(tmp_path: Path, serve: Any, lic_home: Path) -> None:
    server: FaultServer = serve(answer=played_answer)
    plan = seeded_plan(server.url)
    held = hold(tmp_path, plan)
    plain = math_plan(entry_at(server.url), 2, runs=2, settings=SETTINGS, simulator="llm", user_model="user",
                      system_model="system")  # fmt: skip
    assert not {spec.conversation_id for spec in plan.specs} & {spec.conversation_id for spec in plain.specs}

    async def replayed() -> list[bool]:
        with Ledger.open(tmp_path / "ledger") as ledger:
            replayer = await Replayer.open(plan, ledger)
            stored = ledger.load(list(held))
            asked = {call.request_fields["parameters"] for one in stored.values() for call in one.calls.values()}
            assert len(asked) == len({body["seed"] for body in server.bodies})
            same = []
            for spec in plan.specs:
                parent = held.get(spec.parent_id or "")
                again = await replayer.from_ledger(spec, stored[spec.conversation_id], parent)
                same.append(same_conversation(again, held[spec.conversation_id]))
            return same

    assert asyncio.run(replayed()) == [True] * 12


def test_nothing_is_seeded_unasked(tmp_path: Path, serve: Any) -> None:
    server: FaultServer = serve()
    hold(tmp_path, math_plan(entry_at(server.url), 1))
    assert server.bodies
    assert not any("seed" in body for body in server.bodies)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"parameters": {"seed": 7}}, "exclude each other"),
        ({"id": "anthropic/claude", "base_url": None}, "anthropic takes no seed"),
        ({"id": "anthropic/claude", "base_url": None, "seed": "none", "parameters": {"seed": 7}}, "takes no seed"),
        ({"seed": "always"}, "per_conversation"),
        ({"seed": "none", "parameters": {"seed": "per_conversation"}}, "is an integer"),
        ({"seed": "none", "parameters": {"seed": True}}, "is an integer"),
    ],
)
def test_a_seed_that_cannot_be_sent_is_refused(fields: Mapping[str, Any], message: str) -> None:
    usual = {"alias": "a", "id": "local/a", "base_url": "http://127.0.0.1:1/v1", "seed": "per_conversation"}
    with pytest.raises(ValueError, match=message):
        ModelEntry.model_validate({**usual, **fields})


def actions_plan(entry: ModelEntry, **experiment: Any) -> Plan:
    functions = [{"name": "add", "description": "Adds.", "parameters": {"type": "dict", "properties": {
        "a": {"type": "integer"}}, "required": ["a"]}}]  # fmt: skip
    calls = [{"add": {"a": [1]}}, {"add": {"a": [2]}}]
    instruction = Instruction(instruction_id="own/1", task="actions", benchmark="own", text="Add 1, and add 2.",
                              context={"functions": functions}, reference={"calls": calls})  # fmt: skip
    pieces = ("add two numbers", "the first is 1", "the other one is 2")
    shards = tuple(Shard(shard_id=i, text=text) for i, text in enumerate(pieces, start=1))
    sharded = ShardedInstruction(instruction_id="own/1", task="actions", shards=shards, provenance="authored")
    fields = {"name": "calls", "runs": 1, "simulator": "scripted", **experiment}
    return make_plan(Experiment.model_validate(fields), "actions", entry, [Approved(instruction, sharded, "authored")])


def require_protocol(body: Mapping[str, Any]) -> None:
    """What the OpenAI protocol asks of a history: calls are followed by their results, texts are not empty."""
    for message in body["messages"]:
        assert message["role"] in ("system", "user", "assistant")
        assert set(message) == {"role", "content"}
        assert isinstance(message["content"], str)
        assert message["content"].strip()


CALLS = '{"name": "add", "arguments": {"a": 1}}\n{"name": "sub", "arguments": {"b": 2}}'


def test_structured_calls_go_back_as_text_that_every_endpoint_takes(tmp_path: Path, serve: Any) -> None:
    server: FaultServer = serve(["tool_calls"] * 4)
    plan = actions_plan(entry_at(server.url, limits={"concurrency": 1}), settings=["SHARDED", "RECAP"])
    sharded, recap = hold(tmp_path, plan).values()
    assert server.requests == 4
    for body in server.bodies:
        require_protocol(body)
    said = [[m["content"] for m in body["messages"] if m["role"] == "assistant"] for body in server.bodies]
    assert said == [[], [CALLS], [CALLS] * 2, [CALLS] * 3]
    for turn in (*sharded.turns, *recap.turns):
        assert turn.strategy is Strategy.ANSWER_ATTEMPT
        assert turn.attempt is not None
        assert [call.name for call in turn.reply.tool_calls] == ["add", "sub"]


def test_roles_read_structured_calls_as_text(tmp_path: Path, serve: Any, lic_home: Path) -> None:
    server: FaultServer = serve(answer=played_answer)

    def calls_from_the_assistant() -> str:
        return "tool_calls" if role_of(server.bodies[-1]) == "assistant" else "ok"

    server.next_fault = calls_from_the_assistant  # type: ignore[method-assign]
    lic_home.mkdir(exist_ok=True)
    listed = "".join(f"  - {{alias: {name}, id: local/{name}, base_url: '{server.url}'}}\n" for name in ("u", "s"))
    user_registry().write_text(f"models:\n{listed}")
    roles = {"simulator": "llm", "user_model": "u", "system_model": "s", "settings": ["SHARDED"]}
    (held,) = hold(tmp_path, actions_plan(entry_at(server.url, limits={"concurrency": 1}), **roles)).values()
    asked = defaultdict(list)
    for body in server.bodies:
        require_protocol(body)
        asked[role_of(body)].append(body["messages"][0]["content"])
    assert len(asked["classifier"]) == len(held.turns) == 3
    assert all(json.dumps(CALLS) in prompt for prompt in asked["classifier"])
    assert json.dumps({"assistant": CALLS}) in asked["user"][0]


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        (Reply(text="No call."), "No call."),
        (Reply(text=""), ""),
        (Reply(text=" First: \n", tool_calls=(ToolCall(name="f", arguments="{}"),)),
         'First:\n{"name": "f", "arguments": {}}'),
        (Reply(text="", tool_calls=(ToolCall(name="f", arguments='{"a": '),)),
         '{"name": "f", "arguments": "{\\"a\\": "}'),
        (Reply(text="", tool_calls=(ToolCall(name="f", arguments='{"a": NaN}'),)),
         '{"name": "f", "arguments": "{\\"a\\": NaN}"}'),
        (Reply(text="", tool_calls=(ToolCall(name="", arguments=""),)), '{"name": "", "arguments": ""}'),
        (Reply(text="", tool_calls=(ToolCall(name="ü", arguments='{"a": "日"}'),)),
         '{"name": "ü", "arguments": {"a": "日"}}'),
    ],
)  # fmt: skip
def test_what_a_reply_says(reply: Reply, text: str) -> None:
    assert reply_text(reply) == text
