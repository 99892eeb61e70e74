"""The client behind ``sim/<persona>``: picks a ready reply from the item's menu, by hash, in this process.

It alone is given a Scene (menu, shards out); the request type of real clients has no field for either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lic_pipeline.models.personas import Persona, get_persona
from lic_pipeline.models.request import ModelRequest
from lic_pipeline.records import DERIVED, SINGLE_TURN, PersonaReply, Reply, Setting, Usage
from lic_pipeline.seeding import uniform

Pick = tuple[str, int]
"""Menu kind and index within the kind."""

_TALK = (
    "Let me go through this carefully.",
    "I will take the points one after another.",
    "Here is how I see it.",
    "I have looked at what you told me.",
    "This follows from what was said.",
    "The reasoning behind it is short.",
)

TALK_SHARES = {"question": 0.7, "hedge": 0.2, "refusal": 0.1}
"""How replies without an attempt are shared out among the kinds of the menu."""


@dataclass(frozen=True, slots=True)
class PersonaScene:
    """What a persona may know beyond the request: its menu, and where in which conversation it stands.

    ``turn`` counts the replies of this conversation from 1; ``revealed`` of ``shards`` are out.
    """

    task: str
    kind: Literal["binary", "refinement"]
    instruction_id: str
    setting: Setting
    run: int
    seed: int
    turn: int
    shards: int
    revealed: int
    replies: Sequence[PersonaReply]


def can_do(persona: Persona, task: str, instruction_id: str) -> bool:
    """Whether a persona can do an instruction at all: fixed by hash, the same in every setting and run."""
    return uniform("can", persona.name, task, instruction_id) < persona.traits_for(task, Setting.FULL).can_i


class PersonaClient:
    """One persona, speaking. Stateless: a reply depends on the persona, the scene and nothing else."""

    def __init__(self, alias: str) -> None:
        self.persona: Persona = get_persona(alias)

    async def complete(self, request: ModelRequest, scene: PersonaScene) -> Reply:
        """The persona's reply to a scene; token counts are words of the texts."""
        kind, index = self.pick(scene)
        choices = [item.text for item in scene.replies if item.kind == kind]
        text = self._with_talk(choices[index % len(choices)], scene)
        usage = Usage(prompt=sum(len(m.content.split()) for m in request.messages), completion=len(text.split()))
        return Reply(text=text, model_returned=request.model, usage=usage, cost_usd=0.0)

    def pick(self, scene: PersonaScene) -> Pick:
        """Which menu entry the persona gives in this scene."""
        traits = self.persona.traits_for(scene.task, scene.setting)
        wrongs = sum(item.kind == "wrong" for item in scene.replies)
        wrong = int(self._draw(scene, "which-wrong", scene.turn) * wrongs)
        if scene.setting not in SINGLE_TURN and scene.revealed < scene.shards:
            attempts = scene.kind == "refinement" or self._early(scene, scene.turn)
            return ("wrong", wrong) if attempts else self._talk_pick(scene)
        if self._draw(scene, "no-answer", scene.turn) < traits.no_answer:
            return self._talk_pick(scene)
        can = can_do(self.persona, scene.task, scene.instruction_id)
        slips = self._draw(scene, "slip", scene.turn) < traits.slip
        return ("right", 0) if can and not slips and not self._is_lost(scene) else ("wrong", wrong)

    def _is_lost(self, scene: PersonaScene) -> bool:
        if scene.setting in SINGLE_TURN or scene.shards < 2:
            return False
        origin = _origin(scene.setting)
        before = self.persona.traits_for(scene.task, origin)
        tried = scene.kind == "refinement" or any(self._early(scene, turn) for turn in range(1, scene.shards))
        if not tried or self._draw(scene, "lost", 0) >= before.lost:
            return False
        traits = self.persona.traits_for(scene.task, scene.setting)
        cure = {Setting.RECAP: traits.recap_cure, Setting.SNOWBALL: traits.snowball_cure}.get(scene.setting, 0.0)
        return self._draw(scene, f"cure-{scene.setting}", 0) >= cure

    def _early(self, scene: PersonaScene, turn: int) -> bool:
        traits = self.persona.traits_for(scene.task, _origin(scene.setting))
        return self._draw(scene, "early", turn) < traits.early_t

    def _talk_pick(self, scene: PersonaScene) -> Pick:
        draw = self._draw(scene, "talk", scene.turn)
        for kind, share in TALK_SHARES.items():
            draw -= share
            if draw < 0:
                return (kind, 0)
        return ("question", 0)

    def _with_talk(self, text: str, scene: PersonaScene) -> str:
        most = self.persona.traits_for(scene.task, scene.setting).filler
        if scene.kind == "refinement" or most == 0:
            return text
        count = int(self._draw(scene, "filler", scene.turn) * (most + 1))
        start = int(self._draw(scene, "filler-start", scene.turn) * len(_TALK))
        talk = " ".join(_TALK[(start + step) % len(_TALK)] for step in range(count))
        return f"{talk}\n\n{text}" if talk else text

    def _draw(self, scene: PersonaScene, what: str, turn: int) -> float:
        # A continued conversation shares its past with the one it continues, so its draws do too.
        origin = _origin(scene.setting)
        return uniform(
            self.persona.name, scene.task, scene.instruction_id, str(origin), scene.run, scene.seed, what, turn
        )


def _origin(setting: Setting) -> Setting:
    return Setting.SHARDED if setting in DERIVED else setting
