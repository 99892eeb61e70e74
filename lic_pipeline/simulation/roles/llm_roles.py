"""The roles of a run with an LLM simulator: which model plays which, over which call path, with which parameters."""

from __future__ import annotations

from collections.abc import Mapping

from lic_pipeline.errors import ConfigError
from lic_pipeline.models.calling.call_path import CallPath
from lic_pipeline.models.calling.model_access import ModelAccess
from lic_pipeline.records import Json, Shard
from lic_pipeline.simulation.plan.call_parameters import (
    PER_CONVERSATION,
    provider_seed,
    role_models,
    system_parameters,
    user_parameters,
)
from lic_pipeline.simulation.plan.conversation_plan import Plan
from lic_pipeline.simulation.roles.llm_classifier_extractor import LLMClassifier, LLMExtractor
from lic_pipeline.simulation.roles.llm_user import LLMUser
from lic_pipeline.simulation.roles.role_model import RoleModel
from lic_pipeline.simulation.roles.scripted import Roles, ScriptedUser, UserRole


async def open_roles(plan: Plan, access: ModelAccess) -> Roles:
    """User, classifier and extractor. Refinement tasks have no user model: their shards come in order.

    Raises ConfigError: a role without a model or a model without a key.
    """
    models = role_models(plan.experiment, plan.model)
    if len(models) != 2:
        raise ConfigError("an LLM simulator needs a user and a system model")
    user_entry, system_entry = models
    # Who labels a reply is told what was asked: of an item nobody cut, the whole of it.
    shards = {
        name: item.shards or (Shard(shard_id=1, text=item.instruction.text),) for name, item in plan.items.items()
    }
    system = await access.path(system_entry)
    user: UserRole = ScriptedUser()
    if plan.task.kind == "binary":
        speaker = _role(plan, "user", await access.path(user_entry), user_parameters(user_entry))
        user = LLMUser(speaker, shards, plan.experiment.fidelity)
    parameters = system_parameters(system_entry)
    return Roles(
        user,
        LLMClassifier(_role(plan, "classifier", system, parameters), shards),
        LLMExtractor(_role(plan, "extractor", system, parameters)),
    )


def _role(plan: Plan, role: str, path: CallPath, parameters: Mapping[str, Json]) -> RoleModel:
    if parameters.get("seed") != PER_CONVERSATION:
        return RoleModel(role, path, parameters)
    specs = {spec.conversation_id: spec for spec in plan.specs}

    def seed_of(conversation_id: str) -> int:
        spec = specs[conversation_id]
        return provider_seed(role, spec, plan.items[spec.instruction_id].instruction)

    return RoleModel(role, path, parameters, seed_of)
