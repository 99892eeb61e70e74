"""Asking a role's model for one JSON object: parsed by a repair library, validated, asked again once, recorded.

What the object must be is each role's business; what happens when it cannot be had is too (they are told None).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from lic_pipeline.errors import first_problem
from lic_pipeline.models.calling.call_path import CallPath
from lic_pipeline.models.errors import ContextOverflowError
from lic_pipeline.models.ledger.records import CallKey
from lic_pipeline.models.request import ModelRequest, canonical_json, digest, request_fields
from lic_pipeline.prompts import render
from lic_pipeline.records import Json, Message
from lic_pipeline.simulation.call_store import CallStore

ASKS = 2
"""Times a model is asked for one usable object: once, and once again with what was wrong."""

quoted = json.JSONEncoder(ensure_ascii=False).encode
"""Texts of others as they stand in a prompt: as JSON none of them can pass for an instruction."""

Answer = TypeVar("Answer", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Asked(Generic[Answer]):
    """What came of asking: the last readable object, what is wrong with it (() = usable), problems of earlier ones."""

    answer: Answer | None
    problems: tuple[str, ...]
    asks: int
    rejected: tuple[str, ...] = ()

    @property
    def usable(self) -> Answer | None:
        """The object when nothing is wrong with it."""
        return None if self.problems else self.answer


@dataclass(frozen=True)
class RoleModel:
    """A role, the call path it speaks through and its parameters.

    ``seed_of``: the seed sent beside them by conversation id, where the entry asks for seeds.
    """

    role: str
    path: CallPath
    parameters: Mapping[str, Json]
    seed_of: Callable[[str], int] | None = None

    async def ask(
        self,
        shape: type[Answer],
        prompt: Callable[[str], str],
        check: Callable[[Answer], Mapping[str, str]],
        turn: int,
        call_store: CallStore,
        *,
        insist: Callable[[str], bool] = lambda problem: True,
    ) -> Asked[Answer]:
        """Ask until usable, at most twice. ``prompt`` takes the paragraph on what was wrong ("" at first).

        ``check`` names problems and says what each is about; those ``insist`` is False for are kept, not asked about.
        A prompt that does not fit the role's model is no answer, not the end of the assistant's conversation.
        """
        rejected: tuple[str, ...] = ()
        problem = ""
        for ask in range(ASKS):
            try:
                text = await self._send(prompt(problem), CallKey(self.role, turn, ask), call_store)
            except ContextOverflowError:
                return Asked(None, ("context",), ask + 1, rejected)
            answer, problems = _read(shape, text, check)
            if not any(insist(name) for name in problems) or ask == ASKS - 1:
                return Asked(answer, tuple(problems), ask + 1, rejected)
            rejected = tuple(problems)
            problem = render("roles/problem", reason="; ".join(problems.values()))
        raise AssertionError("unreachable")

    async def _send(self, prompt: str, key: CallKey, call_store: CallStore) -> str:
        # Only the prompt differs from call to call of a role, and the seed where one is sent.
        parameters, fields = self.parameters, self._fixed_fields | {"message": digest(prompt)}
        if self.seed_of is not None:
            parameters = {**parameters, "seed": self.seed_of(call_store.conversation_id)}
            fields["parameters"] = digest(canonical_json(parameters))
        request = ModelRequest(self.path.entry.id, (Message(role="user", content=prompt),), parameters)
        reply = await call_store.call(key, fields, lambda: self.path.complete(request, call_store.conversation_id, key))
        return reply.text

    @cached_property
    def _fixed_fields(self) -> dict[str, str]:
        return request_fields(ModelRequest(self.path.entry.id, (Message(role="user", content=""),), self.parameters))


def _read(
    shape: type[Answer], text: str, check: Callable[[Answer], Mapping[str, str]]
) -> tuple[Answer | None, Mapping[str, str]]:
    fields = first_object(text, shape)
    if fields is None:
        return None, {"bad_json": "it was not one JSON object of the form asked for"}
    try:
        answer = shape.model_validate(fields)
    except ValidationError as error:
        return None, {"bad_json": first_problem(error, "the object")}
    return answer, check(answer)


def first_object(text: str, shape: type[BaseModel]) -> Mapping[str, Json] | None:
    """The last JSON object in a text that has a field of ``shape``, however damaged; None when there is none."""
    if "{" not in text:
        return None
    try:
        found = json.loads(text)
    except ValueError:
        found = _repaired(text)
    except RecursionError:
        return None
    listed = found if isinstance(found, list) else [found]
    names = set(shape.model_fields)
    usable = [item for item in listed if isinstance(item, dict) and names & set(item)]
    return usable[-1] if usable else None


def _repaired(text: str) -> Json:
    import json_repair

    try:
        return json_repair.loads(text)
    except (ValueError, RecursionError):
        return None
