"""A scripted assistant for tests of the engine: replies by rule, calls counted, everything else real.

Test doubles of the voice and the user role only; ledger, lake, tasks and scorers are the real ones. Not a test module.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from lic_pipeline.lake.conversations import ConversationStore
from lic_pipeline.models.ledger import Ledger
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.models.request import ModelRequest
from lic_pipeline.records import Conversation, Instruction, Reply, Setting, Shard, ShardedInstruction, Turn, Usage
from lic_pipeline.scoring.score_manifest import score_manifest
from lic_pipeline.simulation.call_store import CallStore
from lic_pipeline.simulation.conversation.loop import TurnContext
from lic_pipeline.simulation.engine import engine
from lic_pipeline.simulation.engine.outcome import Outcome
from lic_pipeline.simulation.plan.conversation_plan import Approved, Plan, make_plan
from lic_pipeline.simulation.plan.experiment import Experiment
from lic_pipeline.simulation.roles.scripted import (
    Roles,
    RuleClassifier,
    RuleExtractor,
    ScriptedUser,
    UserRole,
    Utterance,
)
from lic_pipeline.tables.scores import SCORES
from lic_pipeline.tasks.protocol import Task

Say = Callable[[ModelRequest, TurnContext], Reply | str | Exception]
"""What the assistant says to a request; an exception is raised instead."""

FAKE = ModelEntry.model_validate({"alias": "scripted", "id": "local/scripted", "base_url": "http://127.0.0.1:9/v1"})
RIGHT, WRONG, TALK = "The answer is 41.", "The answer is 7.", "Which shop do you mean?"


def pens(number: int = 0, shards: int = 4) -> Approved:
    """A math item with the answer 41 that no single shard holds; items differ in their first shard."""
    pieces = [f"How many pens does shop {number} have left?", "It started with 50 pens", "it sold 6", "it gave away 3"]
    pieces += [f"the shelf is {length} metres long" for length in range(2, 2 + max(0, shards - len(pieces)))]
    name = f"own/{number}"
    instruction = Instruction(
        instruction_id=name,
        task="math",
        benchmark="own",
        text=f"Shop {number} has 50 pens, sells 6 and gives 3 away. How many are left?",
        reference={"answer": "41", "solution": ""},
    )
    parts = tuple(Shard(shard_id=i, text=text) for i, text in enumerate(pieces[:shards], start=1))
    sharded = ShardedInstruction(instruction_id=name, task="math", shards=parts, provenance="authored")
    return Approved(instruction, sharded, "authored")


def plan_of(
    *settings: Setting, items: Sequence[Approved] = (), model: ModelEntry = FAKE, task: str = "math", **fields: Any
) -> Plan:
    """A plan with a scripted user; one item and one run unless told otherwise."""
    options = {"name": "test", "runs": 1, "simulator": "scripted", "settings": settings, **fields}
    return make_plan(Experiment.model_validate(options), task, model, list(items) or [pens()])


class ScriptedAssistant:
    """Speaks by ``say``; ``requests`` holds what was asked, ``delay`` is the seconds each reply takes."""

    def __init__(self, say: Say, user: UserRole | None = None, delay: float = 0.0) -> None:
        self.missing: Mapping[str, str] = {}
        self.roles = Roles(user or ScriptedUser(), RuleClassifier(), RuleExtractor())
        self.budget_scope: str | None = None
        self.requests: list[ModelRequest] = []
        self.stages: list[TurnContext] = []
        self._say = say
        self._delay = delay

    async def reply(self, request: ModelRequest, turn_context: TurnContext) -> Reply:
        self.requests.append(request)
        self.stages.append(turn_context)
        await asyncio.sleep(self._delay)
        said = self._say(request, turn_context)
        if isinstance(said, Exception):
            raise said
        if isinstance(said, Reply):
            return said
        return Reply(text=said, model_returned=request.model, usage=Usage(prompt=5, completion=3), cost_usd=0.0)

    async def close(self) -> None:
        """Nothing to close."""


class SilentUser:
    """Reveals nothing, ever; says a sentence each time."""

    async def next_utterance(
        self,
        task: Task,
        instruction: Instruction,
        turns: Sequence[Turn],
        unrevealed: Sequence[Shard],
        call_store: CallStore,
    ) -> Utterance:
        return Utterance(f"No idea, go on ({len(turns)}).", None)


class ConfusedUser:
    """Names a shard that is out already."""

    async def next_utterance(
        self,
        task: Task,
        instruction: Instruction,
        turns: Sequence[Turn],
        unrevealed: Sequence[Shard],
        call_store: CallStore,
    ) -> Utterance:
        return Utterance("As I said.", 1)


@contextmanager
def speaking(assistant: ScriptedAssistant):  # type: ignore[no-untyped-def]
    """Have every run in the block spoken to by ``assistant``."""

    async def opened(*_: object, **__: object) -> ScriptedAssistant:
        return assistant

    with mock.patch.object(engine, "open_assistant", opened):
        yield assistant


def hold(
    plan: Plan, home: Path, say: Say, *, user: UserRole | None = None, connections: int = 4
) -> tuple[ScriptedAssistant, Outcome]:
    """Carry a plan out under ``home``."""
    with speaking(ScriptedAssistant(say, user)) as assistant, Ledger.open(home / "ledger") as ledger:
        return assistant, engine.run(plan, ledger, home / "lake", max_connections=connections)


def held(plan: Plan, home: Path) -> list[Conversation]:
    """What the lake holds of a plan, in plan order."""
    store = ConversationStore(home / "lake", plan.task.name, plan.model.alias)
    found = {one.conversation_id: one for one in store.read(spec.conversation_id for spec in plan.specs)}
    return [found[spec.conversation_id] for spec in plan.specs if spec.conversation_id in found]


def scores_csv(plan: Plan, home: Path) -> str:
    """The plan's rows of both score tables as CSV text."""
    instructions = {name: item.instruction for name, item in plan.items.items()}
    with Ledger.open(home / "ledger") as ledger:
        rows = plan.manifest_rows()
        answers, scores = score_manifest(plan.task, rows, instructions, held(plan, home), ledger)
    lines = [",".join(str(row[column.name]) for column in SCORES.columns) for row in scores]
    return "\n".join([*lines, *(",".join(map(str, row.values())) for row in answers)])


def by_turn(*replies: Reply | str | Exception) -> Say:
    """Replies by the assistant's turn; the last one for every later turn."""
    return lambda request, turn_context: replies[min(turn_context.turn, len(replies)) - 1]
