"""The assistant in a run: a persona with its replies, or a real model behind its client.

Only a persona is ever handed replies; a real client's request has no field for one. The roles that go with it are
opened with it, since they share its limits and its budget.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Executor
from typing import Protocol

from lic_pipeline.models.budget import Budget, require_countable
from lic_pipeline.models.calling.call_path import CallPath
from lic_pipeline.models.calling.model_access import ModelAccess
from lic_pipeline.models.clients.persona_client import PersonaClient, PersonaScene
from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.ledger.records import CallKey
from lic_pipeline.models.request import ModelRequest
from lic_pipeline.records import Reply
from lic_pipeline.simulation.conversation.loop import TurnContext
from lic_pipeline.simulation.conversation.persona_replies import PersonaReplies, load_persona_replies
from lic_pipeline.simulation.plan.call_parameters import role_models, simulator_mode
from lic_pipeline.simulation.plan.context_limits import too_long_items
from lic_pipeline.simulation.plan.conversation_plan import Plan
from lic_pipeline.simulation.roles.scripted import Roles, scripted_roles


class Assistant(Protocol):
    """Speaks as the assistant. ``missing``: reason by instruction id for items it cannot be asked about.

    ``roles`` are those that go with it; what any of them spends is counted under ``budget_scope`` (None = nothing is).
    """

    missing: Mapping[str, str]
    roles: Roles
    budget_scope: str | None

    async def reply(self, request: ModelRequest, turn_context: TurnContext) -> Reply:
        """The reply to a request. Raises CallError."""

    async def close(self) -> None:
        """Close connections."""


class PersonaAssistant:
    """A persona and the menus of the plan's items."""

    def __init__(self, plan: Plan, replies: Mapping[str, PersonaReplies], missing: Mapping[str, str]) -> None:
        self.missing = missing
        self.roles = scripted_roles()
        self.budget_scope: str | None = None
        self._plan = plan
        self._menus = replies
        self._client = PersonaClient(plan.model.id)

    async def reply(self, request: ModelRequest, turn_context: TurnContext) -> Reply:
        """The persona's pick from the item's menu."""
        spec = turn_context.spec
        menu = self._menus[spec.instruction_id].items
        scene = PersonaScene(
            spec.task, self._plan.task.kind, spec.instruction_id, spec.setting, spec.run, spec.seed, turn_context.turn,
            turn_context.shards, turn_context.revealed, menu,
        )  # fmt: skip
        return await self._client.complete(request, scene)

    async def close(self) -> None:
        """Nothing to close."""


class ModelAssistant:
    """A real model behind its call path. Its requests hold messages and parameters, nothing of the item's reference."""

    def __init__(self, plan: Plan, access: ModelAccess, path: CallPath, roles: Roles, budget_scope: str) -> None:
        self.missing: Mapping[str, str] = too_long_items(plan)
        self.roles = roles
        self.budget_scope: str | None = budget_scope
        self._access = access
        self._path = path

    async def reply(self, request: ModelRequest, turn_context: TurnContext) -> Reply:
        """The model's reply."""
        return await self._path.complete(
            request, turn_context.spec.conversation_id, CallKey("assistant", turn_context.turn)
        )

    async def close(self) -> None:
        """Close the connections of all roles."""
        await self._access.close()


async def open_assistant(
    plan: Plan, ledger: Ledger, executor: Executor, budget: Budget | None = None, connections: int | None = None
) -> Assistant:
    """The plan's model, ready to be called; ``connections``: calls in flight over all roles.

    Raises ConfigError: no key, or a budget that cannot hold.
    """
    if plan.model.is_persona:
        instructions = [item.instruction for item in plan.items.values()]
        replies, missing = await asyncio.to_thread(load_persona_replies, plan.task, instructions, ledger, executor)
        return PersonaAssistant(plan, replies, missing)
    budget = budget or Budget(f"experiment:{plan.experiment.name}")
    require_countable(budget, [plan.model, *role_models(plan.experiment, plan.model)])
    access = ModelAccess(ledger, budget, connections)
    try:
        path = await access.path(plan.model)
        return ModelAssistant(plan, access, path, await _roles(plan, access), budget.scope)
    except BaseException:
        await access.close()
        raise


async def _roles(plan: Plan, access: ModelAccess) -> Roles:
    if simulator_mode(plan.experiment, plan.model) == "scripted":
        return scripted_roles()
    from lic_pipeline.simulation.roles.llm_roles import open_roles

    return await open_roles(plan, access)
