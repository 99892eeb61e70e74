"""The assistant's voice in a run: a persona with its menus, or a real model behind its client.

Only a persona is ever handed a menu; a real client's request has no field for one. The roles that go with a voice are
opened with it, since they share its limits and its budget.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Executor
from typing import Protocol

from lic_pipeline.models.access import ModelAccess
from lic_pipeline.models.budget import Budget, require_countable
from lic_pipeline.models.calls import CallPath
from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.ledger.records import CallKey
from lic_pipeline.models.request import ModelRequest
from lic_pipeline.models.sim import Scene, SimClient
from lic_pipeline.records import Reply
from lic_pipeline.simulation.conversation import Stage
from lic_pipeline.simulation.fitting import misfits
from lic_pipeline.simulation.menus import Menu, load_menus
from lic_pipeline.simulation.parameters import role_models, simulator_mode
from lic_pipeline.simulation.plan import Plan
from lic_pipeline.simulation.roles.scripted import Roles, scripted_roles


class Voice(Protocol):
    """Speaks as the assistant. ``missing``: reason by instruction id for items it cannot be asked about.

    ``roles`` are those that go with it; what any of them spends is counted under ``budget_scope`` (None = nothing is).
    """

    missing: Mapping[str, str]
    roles: Roles
    budget_scope: str | None

    async def speak(self, request: ModelRequest, stage: Stage) -> Reply:
        """The reply to a request. Raises CallError."""

    async def close(self) -> None:
        """Close connections."""


class PersonaVoice:
    """A persona and the menus of the plan's items."""

    def __init__(self, plan: Plan, menus: Mapping[str, Menu], missing: Mapping[str, str]) -> None:
        self.missing = missing
        self.roles = scripted_roles()
        self.budget_scope: str | None = None
        self._plan = plan
        self._menus = menus
        self._client = SimClient(plan.model.id)

    async def speak(self, request: ModelRequest, stage: Stage) -> Reply:
        """The persona's pick from the item's menu."""
        spec = stage.spec
        menu = self._menus[spec.instruction_id].items
        scene = Scene(
            spec.task, self._plan.task.kind, spec.instruction_id, spec.setting, spec.run, spec.seed, stage.turn,
            stage.shards, stage.revealed, menu,
        )  # fmt: skip
        return await self._client.complete(request, scene)

    async def close(self) -> None:
        """Nothing to close."""


class ClientVoice:
    """A real model behind its call path. Its requests hold messages and parameters, nothing of the item's reference."""

    def __init__(self, plan: Plan, access: ModelAccess, path: CallPath, roles: Roles, budget_scope: str) -> None:
        self.missing: Mapping[str, str] = misfits(plan)
        self.roles = roles
        self.budget_scope: str | None = budget_scope
        self._access = access
        self._path = path

    async def speak(self, request: ModelRequest, stage: Stage) -> Reply:
        """The model's reply."""
        return await self._path.complete(request, stage.spec.conversation_id, CallKey("assistant", stage.turn))

    async def close(self) -> None:
        """Close the connections of all roles."""
        await self._access.close()


async def open_voice(
    plan: Plan, ledger: Ledger, executor: Executor, budget: Budget | None = None, connections: int | None = None
) -> Voice:
    """The voice of the plan's model, ready to speak; ``connections``: calls in flight over all roles.

    Raises ConfigError: no key, or a budget that cannot hold.
    """
    if plan.model.is_persona:
        instructions = [item.instruction for item in plan.items.values()]
        menus, missing = await asyncio.to_thread(load_menus, plan.task, instructions, ledger, executor)
        return PersonaVoice(plan, menus, missing)
    budget = budget or Budget(f"experiment:{plan.experiment.name}")
    require_countable(budget, [plan.model, *role_models(plan.experiment, plan.model)])
    access = ModelAccess(ledger, budget, connections)
    try:
        path = await access.path(plan.model)
        return ClientVoice(plan, access, path, await _roles(plan, access), budget.scope)
    except BaseException:
        await access.close()
        raise


async def _roles(plan: Plan, access: ModelAccess) -> Roles:
    if simulator_mode(plan.experiment, plan.model) == "scripted":
        return scripted_roles()
    from lic_pipeline.simulation.roles.llm import open_roles

    return await open_roles(plan, access)
