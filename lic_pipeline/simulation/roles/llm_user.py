"""The user simulator played by a model: validated, asked again once, else the shard word for word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, Field

from lic_pipeline.prompts import render
from lic_pipeline.records import Instruction, Json, Reply, Shard, Turn
from lic_pipeline.simulation.call_store import CallStore
from lic_pipeline.simulation.reply_text import reply_text
from lic_pipeline.simulation.roles.role_model import Asked, RoleModel, quoted
from lic_pipeline.simulation.roles.scripted import Utterance
from lic_pipeline.simulation.roles.user_fidelity import FidelityContext, defects
from lic_pipeline.tasks.protocol import Task

NONE = -1
USER_VERSION = "1"
_UNUSABLE = frozenset({"bad_json", "bad_id", "empty"})
"""Asked about again in every fidelity mode: there is nothing to send."""


class Said(BaseModel):
    """What the model must answer. An id may come as text ("3"); null and absent mean none."""

    response: str
    shard_id: int | None = Field(default=NONE)

    @property
    def told(self) -> int | None:
        """The shard told, None = none."""
        return None if self.shard_id is None or self.shard_id == NONE else self.shard_id


class LLMUser:
    """``shards``: all shards by instruction id. ``fidelity``: ``enforce`` asks again on a defect, ``flag`` keeps it."""

    def __init__(
        self, model: RoleModel, shards: Mapping[str, Sequence[Shard]], fidelity: Literal["enforce", "flag"]
    ) -> None:
        self._model = model
        self._shards = shards
        self._fidelity = fidelity
        self._answers: dict[str, str | None] = {}

    async def next_utterance(
        self,
        task: Task,
        instruction: Instruction,
        turns: Sequence[Turn],
        unrevealed: Sequence[Shard],
        call_store: CallStore,
    ) -> Utterance:
        """The next utterance, as decided before or asked for now. Raises CallError."""
        number = len(turns) + 1
        stored = call_store.decision("user", number)
        if stored is not None:
            return Utterance(stored["text"], stored["revealed"], flags=tuple(stored["flags"]))
        name = instruction.instruction_id
        if name not in self._answers:
            self._answers[name] = _gold_answer(task, instruction)
        scene = _Scene(task, instruction, self._shards[name], turns, unrevealed, self._answers[name])
        asked = await self._model.ask(
            Said, scene.prompt, scene.problems, number, call_store,
            insist=lambda problem: self._fidelity == "enforce" or problem in _UNUSABLE,
        )  # fmt: skip
        utterance = self._utterance(asked, scene)
        value: Json = {
            "text": utterance.text,
            "revealed": utterance.revealed,
            "flags": list(utterance.flags),
            "rejected": list(asked.rejected),
            "problems": list(asked.problems),
        }
        call_store.decide("user", number, value, USER_VERSION)
        return utterance

    def _utterance(self, asked: Asked[Said], scene: _Scene) -> Utterance:
        again = ("reasked",) if asked.asks > 1 else ()
        kept = asked.usable
        if kept is None and self._fidelity == "flag" and not _UNUSABLE & set(asked.problems):
            kept = asked.answer
        if kept is not None:
            return Utterance(kept.response.strip(), kept.told, flags=(*again, *asked.problems))
        chosen = scene.shard(asked.answer.told if asked.answer else None)
        return Utterance(
            scene.task.shard_message(scene.instruction, chosen), chosen.shard_id, flags=(*again, "fallback")
        )


class _Scene:
    """One moment of a conversation as the user sees it."""

    def __init__(
        self,
        task: Task,
        instruction: Instruction,
        shards: Sequence[Shard],
        turns: Sequence[Turn],
        unrevealed: Sequence[Shard],
        answer: str | None,
    ) -> None:
        self.task = task
        self.instruction = instruction
        self._shards = shards
        self._turns = turns
        self._unrevealed = {shard.shard_id: shard for shard in unrevealed}
        self._answer = answer

    def shard(self, shard_id: int | None) -> Shard:
        """The unrevealed shard of this id, the lowest one when it is none."""
        return self._unrevealed.get(shard_id or NONE, self._unrevealed[min(self._unrevealed)])

    def prompt(self, problem: str) -> str:
        """The prompt; texts of others travel as JSON, so none can pass for an instruction."""
        said: list[dict[str, str]] = []
        for turn in self._turns:
            said += [{"you": turn.said}, {"assistant": reply_text(turn.reply)}]
        told = [s.text for s in self._shards if s.shard_id > 1 and s.shard_id not in self._unrevealed]
        untold = [{"id": shard_id, "piece": shard.text} for shard_id, shard in sorted(self._unrevealed.items())]
        return render("roles/user", conversation=_json(said), told=_json(told), untold=_json(untold), problem=problem)

    def problems(self, said: Said) -> dict[str, str]:
        """Everything wrong with an answer, by name."""
        found: dict[str, str] = {}
        if not said.response.strip():
            found["empty"] = "the message was empty"
        if said.told is not None and said.told not in self._unrevealed:
            found["bad_id"] = f"{said.told} is the id of no untold piece (-1 = none)"
            return found
        told = None if said.told is None else self._unrevealed[said.told].text
        others = [shard.text for shard_id, shard in self._unrevealed.items() if shard_id != said.told]
        known = [shard.text for shard in self._shards] + [turn.said for turn in self._turns]
        last = reply_text(self._turns[-1].reply) if self._turns else ""
        return found | defects(said.response, FidelityContext(told, others, known, last, self._answer))


def _gold_answer(task: Task, instruction: Instruction) -> str | None:
    """What the user must not give away."""
    gold = task.gold(instruction)
    return None if gold is None else task.extract(Reply(text=gold), instruction).answer


def _json(values: Sequence[Json]) -> str:
    """A list as JSON, an element a line: people read these prompts too."""
    return "[" + ",".join(f"\n {quoted(value)}" for value in values) + "\n]"
