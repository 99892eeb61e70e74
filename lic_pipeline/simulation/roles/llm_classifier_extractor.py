"""The system role played by a model: strategy labels and answer extraction, each with its fallback."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, field_validator

from lic_pipeline.prompts import render
from lic_pipeline.records import Extraction, Instruction, Json, Reply, Rung, Shard, Strategy
from lic_pipeline.simulation.call_store import CallStore
from lic_pipeline.simulation.reply_text import reply_text
from lic_pipeline.simulation.roles.role_model import RoleModel, quoted
from lic_pipeline.tasks.protocol import Task

SYSTEM_VERSION = "1"
_FORMATTING = re.compile(r"[\s,$€£%*_`\\{}\"']+")


class Label(BaseModel):
    """What the classifier must answer; spaces, hyphens and case of the label do not matter."""

    strategy: Strategy

    @field_validator("strategy", mode="before")
    @classmethod
    def _named(cls, value: Json) -> Json:
        if not isinstance(value, str):
            return value
        named = re.sub(r"[\s-]+", "_", value.strip().lower())
        return {"hedge": "hedging", "refuse": "refusal"}.get(named, named)


class Lifted(BaseModel):
    """What the extractor must answer; a bare number stands for its text."""

    answer: str | None

    @field_validator("answer", mode="before")
    @classmethod
    def _as_text(cls, value: Json) -> Json:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        return json.dumps(value) if isinstance(value, list | dict) else value


class LLMClassifier:
    """Labels replies of binary tasks; in refinement tasks each reply is an attempt and no call is paid."""

    def __init__(self, model: RoleModel, shards: Mapping[str, Sequence[Shard]]) -> None:
        self._model = model
        self._shards = shards

    async def label(
        self, task: Task, instruction: Instruction, reply: Reply, turn: int, call_store: CallStore
    ) -> Strategy:
        """The label; by the task's rules when the model gives none twice, which is recorded."""
        said = reply_text(reply)
        if task.kind == "refinement" or not said.strip():
            return task.label(reply, instruction)
        pieces = [shard.text for shard in self._shards[instruction.instruction_id]]
        asked = await self._model.ask(
            Label,
            lambda problem: render(
                "roles/classifier",
                pieces=quoted(pieces),
                answer=task.answer_description,
                reply=quoted(said),
                problem=problem,
            ),
            _label_problems,
            turn,
            call_store,
        )
        if asked.usable is not None:
            return asked.usable.strategy
        call_store.decide("classifier_fallback", turn, {"problems": list(asked.problems)}, SYSTEM_VERSION)
        return task.label(reply, instruction)


class LLMExtractor:
    """Lifts answers where the strict rungs found none; what is not in the reply is not accepted."""

    def __init__(self, model: RoleModel) -> None:
        self._model = model

    async def extract(
        self, task: Task, instruction: Instruction, reply: Reply, found: Extraction, turn: int, call_store: CallStore
    ) -> Extraction:
        """The lifted answer, or ``found`` (loose rungs) flagged ``llm_none`` or ``llm_failed``."""
        said = reply_text(reply)
        if not said.strip():
            return found
        asked = await self._model.ask(
            Lifted,
            lambda problem: render(
                "roles/extractor",
                answer=task.answer_description,
                reply=quoted(said),
                problem=problem,
            ),
            lambda lifted: _lifting_problems(lifted, said),
            turn,
            call_store,
        )
        if asked.usable is None:
            return found.model_copy(update={"flags": (*found.flags, "llm_failed")})
        if asked.usable.answer is None:
            return found.model_copy(update={"flags": (*found.flags, "llm_none")})
        return Extraction(answer=asked.usable.answer.strip(), rung=Rung.LLM, flags=found.flags)


def _label_problems(label: Label) -> dict[str, str]:
    if label.strategy is Strategy.MISSING:
        return {"bad_label": "'missing' is for empty replies; choose one of the six labels"}
    return {}


def _lifting_problems(lifted: Lifted, reply: str) -> dict[str, str]:
    if lifted.answer is None:
        return {}
    wanted = _bare(lifted.answer)
    if wanted and wanted in _bare(reply):
        return {}
    return {"not_in_reply": "it is not in the reply; copy it exactly as it stands there"}


def _bare(text: str) -> str:
    """Text without spaces, thousands separators, currency, markup and quotes, in lower case."""
    return _FORMATTING.sub("", text).lower().rstrip(".")
