"""Menus of persona replies, each reply scored once by the real scorer before any conversation is held.

A right reply below its declared score, or a wrong one at 100, is an error that names the item: a persona's truth would
be a lie. Verdicts of costly tasks land in the cache that the loop reads, so no program runs twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import dataclass

from lic_pipeline.errors import ConfigError
from lic_pipeline.records import Instruction, PersonaReply, Reply
from lic_pipeline.scoring.verdicts import VerdictStore, verdict_of
from lic_pipeline.tasks.protocol import Task


@dataclass(frozen=True, slots=True)
class PersonaReplies:
    """Ready replies of one instruction with the score each really has (robust policy), in menu order."""

    items: tuple[PersonaReply, ...]
    scores: tuple[float, ...]


def load_persona_replies(
    task: Task, instructions: Iterable[Instruction], store: VerdictStore, executor: Executor
) -> tuple[dict[str, PersonaReplies], dict[str, str]]:
    """Menus by instruction id, and the reason for each instruction that has none (``no_reference``)."""
    listed = list(instructions)
    replies: dict[str, PersonaReplies] = {}
    missing: dict[str, str] = {}
    for instruction, menu in zip(listed, executor.map(lambda one: _load(task, one, store), listed), strict=True):
        if menu is None:
            missing[instruction.instruction_id] = "no_reference"
        else:
            replies[instruction.instruction_id] = menu
    return replies, missing


def _load(task: Task, instruction: Instruction, store: VerdictStore) -> PersonaReplies | None:
    if task.gold(instruction) is None:
        return None
    items = task.persona_replies(instruction)
    scores = tuple(_score(task, instruction, item, store) for item in items)
    _verify(task, instruction, items, scores)
    return PersonaReplies(items, scores)


def _score(task: Task, instruction: Instruction, item: PersonaReply, store: VerdictStore) -> float:
    attempts = item.kind in ("right", "wrong")
    if task.kind == "binary" and not attempts:
        return 0.0
    verdict = verdict_of(task, instruction, task.extract(Reply(text=item.text), instruction), "robust", store)
    if verdict.score is None:
        raise ConfigError(f"{instruction.instruction_id}: menu reply cannot be scored ({verdict.error})")
    return verdict.score


def _verify(task: Task, instruction: Instruction, items: tuple[PersonaReply, ...], scores: tuple[float, ...]) -> None:
    kinds = [item.kind for item in items]
    name = instruction.instruction_id
    if kinds.count("right") < 1 or kinds.count("wrong") < 2 or {"question", "hedge", "refusal"} - set(kinds):
        raise ConfigError(f"{name}: the menu lacks a right reply, two wrong ones, a question, a hedge or a refusal")
    for item, score in zip(items, scores, strict=True):
        declared = item.score if item.score is not None else 100.0
        if item.kind == "right" and score < declared - 1e-6:
            raise ConfigError(f"{name}: a right menu reply scores {score:g}, below its declared {declared:g}")
        if item.kind == "wrong" and score >= 100.0:
            raise ConfigError(f"{name}: a wrong menu reply scores 100")
