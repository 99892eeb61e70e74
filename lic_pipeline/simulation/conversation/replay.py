"""Replay: the conversation loop over what is stored, with assistants that can never be called.

``from_ledger`` makes a finished conversation again from its calls and decisions: the same code that held it, not a
copy of it, so a request that would be sent differently today shows up as drift. ``from_lake`` is the way back: a
conversation of the lake gives a new ledger its calls and decisions. Nothing here opens a connection to a model.
"""

from __future__ import annotations

from typing import cast

from lic_pipeline.errors import LicError
from lic_pipeline.models.calling.call_path import CallPath
from lic_pipeline.models.calling.model_access import ModelAccess
from lic_pipeline.models.errors import ContextOverflowError
from lic_pipeline.models.ledger.ledger import Ledger
from lic_pipeline.models.ledger.records import CallKey, StoredConversation
from lic_pipeline.models.registry import ModelEntry
from lic_pipeline.models.request import ModelRequest
from lic_pipeline.records import Conversation, Json, Reply, StopReason
from lic_pipeline.simulation.call_store import CallStore, Send
from lic_pipeline.simulation.conversation.grading import Grader
from lic_pipeline.simulation.conversation.loop import ConversationLoop, ConversationSetup, TurnContext
from lic_pipeline.simulation.conversation.turn_decision import TurnDecision, decision_document
from lic_pipeline.simulation.plan.call_parameters import assistant_parameters, simulator_mode
from lic_pipeline.simulation.plan.conversation_plan import ConversationSpec, Plan
from lic_pipeline.simulation.roles.scripted import Roles, scripted_roles


class ReplayError(LicError):
    """A stored conversation cannot be made again: something it needs is not stored. The message says what."""


class Replayer:
    """Replays conversations of one plan. ``await Replayer.open(plan, ledger)``; it needs no key and no network."""

    def __init__(self, plan: Plan, ledger: Ledger, roles: Roles) -> None:
        self.plan = plan
        self._ledger = ledger
        parameters = assistant_parameters(plan.experiment, plan.model)
        grader = Grader(plan.task, roles, ledger)
        self._setup = ConversationSetup(
            plan.task, plan.experiment, plan.model.id, parameters, roles, grader, _never_asked
        )

    @classmethod
    async def open(cls, plan: Plan, ledger: Ledger) -> Replayer:
        """With the roles the plan was carried out with. Raises ConfigError when their models are not known."""
        if simulator_mode(plan.experiment, plan.model) == "scripted":
            return cls(plan, ledger, scripted_roles())
        from lic_pipeline.simulation.roles.llm_roles import open_roles

        return cls(plan, ledger, await open_roles(plan, _SilentAccess(ledger)))

    @property
    def scripted(self) -> bool:
        """True when no role but the assistant was played by a model."""
        return simulator_mode(self.plan.experiment, self.plan.model) == "scripted"

    async def from_ledger(
        self, spec: ConversationSpec, stored: StoredConversation, parent: Conversation | None
    ) -> Conversation:
        """The finished conversation of these calls and decisions. Raises DriftError, ReplayError."""
        return await self._held(spec, _Replayed(self._ledger, stored), parent)

    async def from_lake(self, spec: ConversationSpec, held: Conversation, parent: Conversation | None) -> None:
        """Record the calls and decisions of a conversation of the lake. Raises ReplayError when they do not fit it.

        What an LLM user or classifier was asked is not in the lake, so only scripted conversations can go back.
        """
        if not self.scripted:
            raise ReplayError("its user and system model's calls are in no lake")
        again = await self._held(spec, _Restored(self._ledger, held), parent)
        if not same_conversation(again, held):
            raise ReplayError("held again it comes out differently")

    async def _held(self, spec: ConversationSpec, call_store: CallStore, parent: Conversation | None) -> Conversation:
        if spec.parent_id is not None and parent is None:
            raise ReplayError("the conversation it continues is not there")
        item = self.plan.items[spec.instruction_id]
        return await ConversationLoop(self._setup, spec, item, call_store, parent).run()


def same_conversation(first: Conversation, second: Conversation) -> bool:
    """True when two conversations hold the same turns and ended the same way."""
    return (first.turns, first.stop_reason, first.flags, first.system_prompt) == (
        second.turns,
        second.stop_reason,
        second.flags,
        second.system_prompt,
    )


class _Replayed(CallStore):
    """A call store that only reads: what is not stored is an error."""

    def __init__(self, ledger: Ledger, stored: StoredConversation) -> None:
        super().__init__(ledger, stored.conversation_id, stored)
        self._stored = stored

    async def call(self, key: CallKey, fields: dict[str, str], send: Send) -> Reply:
        """The stored reply. Raises DriftError, ReplayError; ContextOverflowError where that ended the conversation."""

        async def missing() -> Reply:
            # A refused prompt leaves no call behind: the stop reason is all that is stored of it.
            if self._stored.stop_reason == StopReason.CONTEXT and key.role == "assistant":
                raise ContextOverflowError("the prompt did not fit when the conversation was held")
            raise ReplayError(f"call {key} is not in the ledger")

        return await super().call(key, fields, missing)

    def decide(self, kind: str, turn: int, value: Json, version: str) -> None:
        """Nothing is decided anew."""
        raise ReplayError(f"decision {kind} of turn {turn} is not in the ledger")


class _Restored(CallStore):
    """A call store that answers from a conversation of the lake and records what it answers."""

    def __init__(self, ledger: Ledger, held: Conversation) -> None:
        super().__init__(ledger, held.conversation_id)
        self._turns = {turn.turn: turn for turn in held.turns}
        self._overflowed = held.stop_reason is StopReason.CONTEXT
        self._judged_by = held.judged_by

    async def call(self, key: CallKey, fields: dict[str, str], send: Send) -> Reply:
        """The assistant's reply of that turn, recorded. Raises ReplayError when the lake has none."""

        async def found() -> Reply:
            turn = self._turns.get(key.turn) if key.role == "assistant" else None
            if turn is None and self._overflowed:
                raise ContextOverflowError("the prompt did not fit when the conversation was held")
            if turn is None:
                raise ReplayError(f"call {key} is not in the lake")
            return turn.reply

        return await super().call(key, fields, found)

    def decision(self, kind: str, turn: int) -> Json | None:
        """What was decided in the loop; recorded as it is read."""
        known = self._turns.get(turn)
        if kind != "turn" or known is None:
            return None
        attempt = known.attempt
        value = decision_document(
            TurnDecision(known.strategy, known.rule_strategy, attempt, known.system_flags), self._judged_by
        )
        self.decide("turn", turn, value, "0" if attempt is None else str(attempt.scorer_version))
        return value


async def _never_asked(request: ModelRequest, turn_context: TurnContext) -> Reply:
    raise ReplayError(f"a replay asked {request.model} for turn {turn_context.turn}; nothing was sent")


class _SilentPath:
    """Stands where a call path would: knows its entry, sends nothing."""

    def __init__(self, entry: ModelEntry) -> None:
        self.entry = entry

    async def complete(self, request: ModelRequest, conversation_id: str, key: CallKey) -> Reply:
        raise ReplayError(f"a replay of {conversation_id} asked {request.model} for call {key}; nothing was sent")


class _SilentAccess(ModelAccess):
    """Opens silent paths: no client, no key, no heartbeat."""

    async def path(self, entry: ModelEntry) -> CallPath:
        """A path that sends nothing."""
        return cast(CallPath, _SilentPath(entry))
