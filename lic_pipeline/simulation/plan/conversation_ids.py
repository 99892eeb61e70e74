"""Conversation ids: the hash of what can change a transcript, no more and no less (architecture: identity).

What a task renders stands for its templates and the instruction's prompt-visible fields. Never in it: judge,
references, tests, scorer code, policy, limits, timeouts, budget, base_url, key, price, display name, versions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from lic_pipeline.models.personas import get_persona
from lic_pipeline.models.registry import ModelEntry, get_model
from lic_pipeline.models.request import canonical_json, digest
from lic_pipeline.prompts import template_hash
from lic_pipeline.records import SINGLE_TURN, Instruction, Json, Setting, ShardedInstruction
from lic_pipeline.simulation.plan.call_parameters import (
    assistant_parameters,
    simulator_mode,
    system_parameters,
    user_parameters,
)
from lic_pipeline.simulation.plan.experiment import Experiment
from lic_pipeline.tasks.protocol import Task

ENGINE_SEMANTICS = 1
"""Raised by hand whenever the conversation loop itself would lead to another transcript."""


class ConversationIdBuilder:
    """Ids for the conversations of one experiment, task and model; what repeats is hashed once."""

    def __init__(self, experiment: Experiment, task: Task, model: ModelEntry, purpose: str) -> None:
        self.experiment = experiment
        self.task = task
        self.model = model
        self.purpose = purpose
        self._visible: dict[tuple[str, Setting, tuple[int, ...]], str] = {}
        self._reply_hashes: dict[str, str] = {}

    def conversation_id(
        self,
        instruction: Instruction,
        sharded: ShardedInstruction | None,
        setting: Setting,
        run: int,
        order: tuple[int, ...],
    ) -> str:
        """Id of a conversation that starts from scratch."""
        return digest(canonical_json(self.fields(instruction, sharded, setting, run, order)))

    def fields(
        self,
        instruction: Instruction,
        sharded: ShardedInstruction | None,
        setting: Setting,
        run: int,
        order: tuple[int, ...],
    ) -> dict[str, Json]:
        """The named fields that are hashed, for ``lic plan --explain``."""
        fields: dict[str, Json] = {
            "engine": ENGINE_SEMANTICS,
            "purpose": self.purpose,
            "task": self.task.name,
            "instruction_id": instruction.instruction_id,
            "setting": str(setting),
            "run": run,
            "seed": self.experiment.seed,
            "assistant": self._assistant,
            "visible": self._visible_hash(instruction, sharded, setting, order),
        }
        if self.model.is_persona:
            fields["menu"] = self._persona_replies_hash(instruction)
        if setting not in SINGLE_TURN:
            fields.update(self._multi_turn_fields)
            if setting is Setting.SNOWBALL:
                fields["template"] = template_hash("common/snowball")
        return fields

    def derived_id(self, parent_id: str, setting: Setting) -> str:
        """Id of a conversation that continues a finished one."""
        return digest(canonical_json(self.derived_fields(parent_id, setting)))

    def derived_fields(self, parent_id: str, setting: Setting) -> dict[str, Json]:
        """What is hashed for a continued conversation: its parent, its own parameters and templates."""
        own: dict[str, Json] = {"parent": parent_id, "setting": str(setting)}
        if setting is Setting.RECAP:
            name = "common/recap" if self.experiment.recap_notice == "off" else "common/recap_notice"
            own |= {"recap_of": self.experiment.recap_of, "notice": self.experiment.recap_notice}
            own["template"] = template_hash(name)
        else:
            own["template"] = template_hash("common/retry")
        return own

    @cached_property
    def _assistant(self) -> Mapping[str, Json]:
        return {
            "id": self.model.id,
            "parameters": assistant_parameters(self.experiment, self.model),
            "chat": self.model.chat.model_dump(),
            "system_prompt": self.experiment.system_prompt,
            "persona": self._persona_hash(),
        }

    def _persona_hash(self) -> str | None:
        if not self.model.is_persona:
            return None
        return digest(get_persona(self.model.id).model_dump_json(exclude={"description"}))

    @cached_property
    def _multi_turn_fields(self) -> Mapping[str, Json]:
        experiment = self.experiment
        # Refinement tasks have no user model: their shards come in order, every reply is an attempt.
        mode = simulator_mode(experiment, self.model) if self.task.kind == "binary" else "scripted"
        user: dict[str, Json] = {"mode": mode}
        if mode == "llm":
            user |= {"fidelity": experiment.fidelity, **role_fields(experiment.user_model, "user")}
        fields: dict[str, Json] = {"user": user}
        if self.task.kind == "binary":
            system: dict[str, Json] = {"mode": "rules"}
            if mode == "llm":
                system = {"mode": "llm", **role_fields(experiment.system_model, "classifier", "extractor")}
            fields |= {"stop": experiment.stop, "system": system}
        return fields

    def _visible_hash(
        self, instruction: Instruction, sharded: ShardedInstruction | None, setting: Setting, order: tuple[int, ...]
    ) -> str:
        key = (instruction.instruction_id, setting, order)
        if key not in self._visible:
            messages = [self.task.system_prompt(instruction), *self._user_texts(instruction, sharded, setting, order)]
            self._visible[key] = digest(canonical_json(messages))
        return self._visible[key]

    def _user_texts(
        self, instruction: Instruction, sharded: ShardedInstruction | None, setting: Setting, order: Sequence[int]
    ) -> list[str]:
        if setting is Setting.FULL:
            return [self.task.full_message(instruction)]
        by_id = {shard.shard_id: shard for shard in sharded.shards} if sharded is not None else {}
        shards = [by_id[shard_id] for shard_id in order]
        if setting in SINGLE_TURN:
            return [self.task.concat_message(instruction, shards)]
        return [self.task.shard_message(instruction, shard) for shard in shards]

    def _persona_replies_hash(self, instruction: Instruction) -> str:
        if instruction.instruction_id not in self._reply_hashes:
            menu = [[item.kind, item.text, item.score] for item in self.task.persona_replies(instruction)]
            self._reply_hashes[instruction.instruction_id] = digest(canonical_json(menu))
        return self._reply_hashes[instruction.instruction_id]


def role_fields(alias: str | None, *roles: str) -> dict[str, Json]:
    """Model, parameters as really sent and templates of a role; a role nobody plays yet has no model."""
    fields: dict[str, Json] = {"templates": [template_hash(f"roles/{name}") for name in (*roles, "problem")]}
    if alias is None:
        return {**fields, "model": None}
    entry = get_model(alias)
    parameters = user_parameters(entry) if roles == ("user",) else system_parameters(entry)
    return {**fields, "model": entry.id, "parameters": parameters, "chat": entry.chat.model_dump()}
