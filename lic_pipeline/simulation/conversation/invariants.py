"""Invariants of stored conversations, each written once under the name its check carries (architecture: storage).

A broken invariant is a fault of lic_pipeline or of a hand that edited the lake, never of a model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from lic_pipeline.records import DERIVED, SINGLE_TURN, Conversation, Setting, StopReason

Predicate = Callable[[Conversation], bool]


def alternating_roles(conversation: Conversation) -> bool:
    """Turns are numbered one by one, and each has a user message."""
    numbers = [turn.turn for turn in conversation.turns]
    start = numbers[0] if numbers else 1
    in_order = numbers == list(range(start, start + len(numbers))) and (start == 1 or conversation.setting in DERIVED)
    return in_order and all(turn.user.strip() for turn in conversation.turns)


def reveals_unrevealed(conversation: Conversation) -> bool:
    """Every reveal names a shard of the instruction that was not out yet."""
    revealed = [turn.revealed for turn in conversation.turns if turn.revealed is not None]
    return len(set(revealed)) == len(revealed) and set(revealed) <= set(conversation.shard_ids)


def intent_first(conversation: Conversation) -> bool:
    """A conversation that reveals bit by bit opens with shard 1."""
    if conversation.setting not in (Setting.SHARDED, Setting.SNOWBALL) or not conversation.turns:
        return True
    return conversation.turns[0].revealed == 1


def stop_reason_consistent(conversation: Conversation) -> bool:
    """The stop reason agrees with the turns: a right last attempt, all shards out, or an error without a reason."""
    if conversation.state != "done":
        return conversation.stop_reason is None
    reason = conversation.stop_reason
    attempt = conversation.turns[-1].attempt if conversation.turns else None
    solved = attempt is not None and attempt.verdict is not None and attempt.verdict.correct
    if reason is StopReason.CORRECT:
        return solved
    if reason is StopReason.EXHAUSTED and conversation.setting in (Setting.SHARDED, Setting.SNOWBALL):
        return {turn.revealed for turn in conversation.turns} - {None} == set(conversation.shard_ids)
    return reason is not None


def snowball_repeats(conversation: Conversation) -> bool:
    """From turn 2 a SNOWBALL message contains all earlier utterances word for word."""
    if conversation.setting is not Setting.SNOWBALL:
        return True
    said: list[str] = []
    for turn in conversation.turns:
        if not all(earlier in turn.user for earlier in said):
            return False
        said.append(turn.said)
    return True


def closing_turn_present(conversation: Conversation) -> bool:
    """A finished RECAP or RETRY has exactly its own final turn and names its parent."""
    if conversation.setting not in DERIVED or conversation.state != "done":
        return True
    answered = len(conversation.turns) == 1 or conversation.stop_reason is StopReason.CONTEXT
    return answered and conversation.parent_id is not None


def single_user_turn(conversation: Conversation) -> bool:
    """FULL, CONCAT and SHUFFLE-CONCAT have one user turn and reveal nothing bit by bit."""
    if conversation.setting not in SINGLE_TURN:
        return True
    return len(conversation.turns) <= 1 and all(turn.revealed is None for turn in conversation.turns)


INVARIANTS: Final[Mapping[str, Predicate]] = {
    predicate.__name__: predicate
    for predicate in (
        alternating_roles,
        reveals_unrevealed,
        intent_first,
        stop_reason_consistent,
        snowball_repeats,
        closing_turn_present,
        single_user_turn,
    )
}


def broken_invariants(conversation: Conversation) -> list[str]:
    """Names of the invariants a conversation breaks."""
    return [name for name, holds in INVARIANTS.items() if not holds(conversation)]
