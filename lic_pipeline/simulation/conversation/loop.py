"""One conversation, from the first user turn to its end (measurement: settings, SHARDED loop, gate).

The loop knows no model, no store and no persona: it asks roles, a grader and a call store. Run again over a full
call store it makes the same conversation without a single call.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from lic_pipeline.models.errors import ContextOverflowError
from lic_pipeline.models.ledger.records import CallKey
from lic_pipeline.models.request import HistoryHash, ModelRequest, digest, request_fields
from lic_pipeline.prompts import render, template
from lic_pipeline.records import (
    DERIVED,
    SINGLE_TURN,
    Conversation,
    Instruction,
    Json,
    Message,
    Reply,
    Setting,
    Shard,
    StopReason,
    Turn,
)
from lic_pipeline.simulation.call_store import CallStore
from lic_pipeline.simulation.conversation.grading import Grader
from lic_pipeline.simulation.conversation.turn_decision import TurnDecider, conversation_flags
from lic_pipeline.simulation.plan.call_parameters import PER_CONVERSATION, provider_seed
from lic_pipeline.simulation.plan.conversation_plan import Approved, ConversationSpec, shards_in_order
from lic_pipeline.simulation.plan.experiment import Experiment
from lic_pipeline.simulation.reply_text import reply_text
from lic_pipeline.simulation.roles.scripted import Roles, Utterance
from lic_pipeline.tasks.protocol import Task
from lic_pipeline.tasks.user_messages import bullets

SILENT_TURNS_BEFORE_FORCING = 2
"""After this many turns in a row that revealed nothing, the next turn's shard is forced."""


@dataclass(frozen=True, slots=True)
class TurnContext:
    """Where a reply is asked for: turn of the assistant, shards out. What ``ask_assistant`` may tell a persona."""

    spec: ConversationSpec
    turn: int
    shards: int
    revealed: int


AskAssistant = Callable[[ModelRequest, TurnContext], Awaitable[Reply]]
"""Sends a request to the assistant."""


@dataclass(frozen=True, slots=True)
class ConversationSetup:
    """Everything a conversation is held with: task, experiment, model id and parameters, roles, grader, assistant."""

    task: Task
    experiment: Experiment
    model_id: str
    parameters: dict[str, Json]
    roles: Roles
    grader: Grader
    ask_assistant: AskAssistant


def turn_cap(shards: int) -> int:
    """Most turns of a SHARDED conversation (measurement: 2 x shards + 2)."""
    return 2 * shards + 2


class ConversationLoop:
    """One conversation under way. ``parent`` = the finished one that RECAP and RETRY continue."""

    def __init__(
        self,
        setup: ConversationSetup,
        spec: ConversationSpec,
        item: Approved,
        call_store: CallStore,
        parent: Conversation | None = None,
    ) -> None:
        self.setup = setup
        self.spec = spec
        self.instruction: Instruction = item.instruction
        self.shards: tuple[Shard, ...] = shards_in_order(item, spec.shard_order)
        self.call_store = call_store
        self.parent = parent
        self.turns: list[Turn] = []
        self.messages: list[Message] = []
        self._history = HistoryHash()
        self._system = ""
        self.stop_reason: StopReason | None = None
        self._decider = TurnDecider(setup.task, setup.roles, setup.grader, self.instruction, call_store)
        self._fixed_fields: dict[str, str] = {}
        self._parameters = self._seeded(setup.parameters)

    async def run(self) -> Conversation:
        """Hold the conversation to its end. Errors of calls other than context overflow are raised as they are."""
        self._open()
        try:
            if self.spec.setting in SINGLE_TURN:
                await self._take_turn(Utterance(self._single_message(), None))
            elif self.parent is not None and not self.parent.turns:
                self.stop_reason = StopReason.CONTEXT  # Not even the first message fitted: there is nothing to recap.
            elif self.spec.setting in DERIVED:
                await self._take_turn(Utterance(self._closing_message(), None))
            else:
                await self._reveal_bit_by_bit()
        except ContextOverflowError:
            self.stop_reason = StopReason.CONTEXT
        if self.stop_reason is None:
            self.stop_reason = StopReason.CORRECT if self._solved() else StopReason.EXHAUSTED
        return self._conversation()

    def failed(self, kind: str) -> Conversation:
        """The conversation as far as it came, in state ``error:<kind>``: missing, never a score of 0."""
        return self._conversation().model_copy(update={"state": f"error:{kind}", "stop_reason": None})

    def _open(self) -> None:
        prompt = self.setup.task.system_prompt(self.instruction)
        extra = self.setup.experiment.system_prompt
        self._system = f"{prompt}\n\n{extra}" if extra else prompt
        self.messages.append(Message(role="system", content=self._system))
        if self.parent is not None:
            for turn in self.parent.turns:
                self._remember(Message(role="user", content=turn.user))
                self._remember(Message(role="assistant", content=reply_text(turn.reply)))

    def _single_message(self) -> str:
        if self.spec.setting is Setting.FULL:
            return self.setup.task.full_message(self.instruction)
        return self.setup.task.concat_message(self.instruction, self.shards)

    def _closing_message(self) -> str:
        if self.spec.setting is Setting.RETRY:
            return template("common/retry")
        assert self.parent is not None
        said = [turn.said for turn in self.parent.turns]
        if self.setup.experiment.recap_of == "shards":
            said = [self.setup.task.shard_message(self.instruction, shard) for shard in self.shards]
        name = "common/recap" if self.setup.experiment.recap_notice == "off" else "common/recap_notice"
        return render(name, items=bullets(said))

    async def _reveal_bit_by_bit(self) -> None:
        unrevealed = list(self.shards)
        silent = 0
        while True:
            first = not self.turns
            if first:
                opening = self.shards[0]
                utterance = Utterance(self.setup.task.shard_message(self.instruction, opening), opening.shard_id)
            elif not unrevealed:
                return
            elif len(self.turns) >= turn_cap(len(self.shards)):
                self.stop_reason = StopReason.TURN_CAP
                return
            else:
                utterance = await self._next_utterance(unrevealed, silent)
            silent = silent + 1 if utterance.revealed is None else 0
            unrevealed = [shard for shard in unrevealed if shard.shard_id != utterance.revealed]
            await self._take_turn(utterance)
            if self._solved() and self.setup.experiment.stop == "correct":
                return

    async def _next_utterance(self, unrevealed: Sequence[Shard], silent: int) -> Utterance:
        if silent >= SILENT_TURNS_BEFORE_FORCING:
            shard = min(unrevealed, key=lambda candidate: candidate.shard_id)
            return Utterance(self.setup.task.shard_message(self.instruction, shard), shard.shard_id, True, ("forced",))
        said = await self.setup.roles.user.next_utterance(
            self.setup.task, self.instruction, self.turns, unrevealed, self.call_store
        )
        if said.revealed is None or said.revealed in {shard.shard_id for shard in unrevealed}:
            return said
        # A role that names a shard which is out or does not exist has revealed nothing.
        return Utterance(said.text, None, said.forced, (*said.flags, "bad_id"))

    async def _take_turn(self, utterance: Utterance) -> None:
        number = len(self.turns) + 1 + (len(self.parent.turns) if self.parent else 0)
        text = utterance.text
        if self.spec.setting is Setting.SNOWBALL and self.turns:
            text = render("common/snowball", earlier=bullets([turn.said for turn in self.turns]), latest=text)
        message = Message(role="user", content=text)
        reply = await self._ask(number, message, utterance)
        self._remember(message)
        self._remember(Message(role="assistant", content=reply_text(reply)))
        decision = await self._decider.decide(number, reply)
        self.turns.append(
            Turn(
                turn=number,
                user=text,
                utterance=utterance.text if text != utterance.text else "",
                revealed=utterance.revealed,
                forced=utterance.forced,
                user_flags=utterance.flags,
                reply=reply,
                strategy=decision.strategy,
                rule_strategy=decision.rule_strategy,
                attempt=decision.attempt,
                system_flags=decision.flags,
            )
        )

    async def _ask(self, number: int, message: Message, utterance: Utterance) -> Reply:
        request = ModelRequest(self.setup.model_id, (*self.messages, message), self._parameters)
        if not self._fixed_fields:
            self._fixed_fields = request_fields(request, self._history.value)
        # Model, parameters and system prompt stay what they are in a conversation; they need no second hashing.
        fields = {**self._fixed_fields, "history": self._history.value, "message": digest(message.content)}
        out = len(self.shards)
        if self.spec.setting not in SINGLE_TURN and self.spec.setting not in DERIVED:
            out = len(({turn.revealed for turn in self.turns} | {utterance.revealed}) - {None})
        turn_context = TurnContext(self.spec, number, len(self.shards), out)
        return await self.call_store.call(
            CallKey("assistant", number), fields, lambda: self.setup.ask_assistant(request, turn_context)
        )

    def _seeded(self, parameters: dict[str, Json]) -> dict[str, Json]:
        if parameters.get("seed") != PER_CONVERSATION:
            return parameters
        return {**parameters, "seed": provider_seed("assistant", self.spec, self.instruction)}

    def _remember(self, message: Message) -> None:
        self.messages.append(message)
        self._history.add(message)

    def _solved(self) -> bool:
        if not self.turns or self.setup.task.kind == "refinement":
            return False
        attempt = self.turns[-1].attempt
        return attempt is not None and attempt.verdict is not None and attempt.verdict.correct

    def _conversation(self) -> Conversation:
        spec = self.spec
        return Conversation(
            conversation_id=spec.conversation_id,
            purpose=spec.purpose,
            task=spec.task,
            model=spec.model,
            setting=spec.setting,
            condition=dict(spec.condition),
            instruction_id=spec.instruction_id,
            run=spec.run,
            seed=spec.seed,
            parent_id=spec.parent_id,
            shard_ids=spec.shard_order,
            system_prompt=self._system,
            turns=tuple(self.turns),
            stop_reason=self.stop_reason,
            flags=conversation_flags(self.turns),
            judged_by=self._decider.judged_by,
        )
