"""The assistant's voice in a run: a persona with its menus, or a real model behind its client.

Only a persona is ever handed a menu; a real client's request has no field for one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import Executor
from typing import Protocol

from lic_pipeline.models.request import ModelRequest
from lic_pipeline.models.sim import Scene, SimClient
from lic_pipeline.records import Reply
from lic_pipeline.scoring.verdicts import VerdictStore
from lic_pipeline.simulation.conversation import Stage
from lic_pipeline.simulation.menus import Menu, load_menus
from lic_pipeline.simulation.plan import Plan


class Voice(Protocol):
    """Speaks as the assistant. ``missing``: reason by instruction id for items it cannot be asked about."""

    missing: Mapping[str, str]

    async def speak(self, request: ModelRequest, stage: Stage) -> Reply:
        """The reply to a request. Raises CallError."""

    async def close(self) -> None:
        """Close connections."""


class PersonaVoice:
    """A persona and the menus of the plan's items."""

    def __init__(self, plan: Plan, menus: Mapping[str, Menu], missing: Mapping[str, str]) -> None:
        self.missing = missing
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


async def open_voice(plan: Plan, store: VerdictStore, executor: Executor) -> Voice:
    """The voice of the plan's model, ready to speak."""
    instructions = [item.instruction for item in plan.items.values()]
    menus, missing = await asyncio.to_thread(load_menus, plan.task, instructions, store, executor)
    return PersonaVoice(plan, menus, missing)
